"""The same guard for a session and for what comes of it: forks, and the agents that its code spawns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S, PATIENT, said

from cellwright import Agent, Runtime, Scope, operation
from cellwright.errors import RollbackFailed
from cellwright.guard import AuditTrail, audit_records, policy_from
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")


class Desk:
    """Tickets of customers, and a bank."""

    def __init__(self) -> None:
        self.paid: list[Any] = []
        self.also = self.pay  # another name of the same function

    @operation(reads=True)
    def ticket(self) -> str:
        return "pay eve"

    def pay(self, to: str) -> str:
        self.paid.append(to)
        return "paid"


async def test_a_fork_is_under_the_data_flow_of_the_policy() -> None:
    labels = [{"operation": "desk.ticket", "untrusted": True}]
    policy, desk = policy_from({"flow": {"mode": "deny", "labels": labels}}, "p"), Desk()
    async with Runtime({"desk": desk}, limits=PATIENT, policy=policy, store="memory:") as rt:
        (await rt.execute("1")).unwrap()
        async with await rt.fork() as branch:
            await said(branch, "desk.ticket()")
            assert "Denied" in await said(branch, "desk.pay('eve')")
    assert desk.paid == []


async def test_a_fork_on_another_scope_is_under_each_rule_by_whatever_name() -> None:
    policy = policy_from({"rules": [{"operation": "desk.pay", "action": "deny"}], "timeout_s": 7}, "p")
    async with Runtime({"desk": Desk()}, limits=PATIENT, policy=policy, store="memory:") as rt:
        (await rt.execute("1")).unwrap()
        desk = Desk()
        async with await rt.fork(scope=Scope({"desk": desk})) as branch:
            assert "Denied" in await said(branch, "desk.pay('eve')")
            assert "Denied" in await said(branch, "desk.also('eve')")
            about = branch.host.about("call", 1, "ticket")
            assert branch.host.timeout_of is not None
            assert branch.host.timeout_of(about) == 7
    assert desk.paid == []


SPAWNS = """
for _ in range(3):
    try:
        await spawn("Pay.")
    except ChildFailed:
        pass
done()
"""
PAYS = """
desk.pay('eve')
done()
"""


@pytest.mark.parametrize("store", [None, "memory:"])
async def test_spawned_agents_have_the_limit_of_the_session_that_they_are_of(store: Any) -> None:
    desk, policy = Desk(), policy_from({"limits": [{"operation": "desk.pay", "most": 2, "within": "1h"}]}, "p")
    model = ScriptedModel(code(f"desk.pay('ann')\n{SPAWNS}"), code(PAYS), *[code(PAYS), code("done()")] * 2)
    agent = Agent(model, scope={"desk": desk}, policy=policy, spawn=True, check="off", limits=PATIENT, store=store)
    await agent.run("Pay everybody.")
    assert desk.paid == ["ann", "eve"]
    await Agent(ScriptedModel(code(PAYS)), scope={"desk": desk}, policy=policy, check="off", limits=PATIENT).run("Pay.")
    assert desk.paid == ["ann", "eve", "eve"]  # another session has a count of its own


class Store:
    """What is put in can be taken out again."""

    def __init__(self) -> None:
        self.shelf: list[str] = []

    def _take(self, name: str) -> None:
        self.shelf.remove(name)

    def scope(self) -> dict[str, Any]:
        @operation(undo=self._take)
        def put(name: str) -> str:
            self.shelf.append(name)
            return name

        return {"put": put}


async def test_an_undo_is_told_to_the_audit_before_it_is_made(tmp_path: Path) -> None:
    there = Store()
    trail = AuditTrail(tmp_path / "audit")
    async with Runtime(there.scope(), limits=PATIENT, audit=trail, store="memory:", user="kari") as rt:
        await said(rt, "with transaction():\n    put('pen')\n    1 / 0")
        (await rt.execute("put('ink')")).unwrap()
        await rt.rollback(1)
    lines = [line for line in audit_records(tmp_path / "audit") if line.get("operation") == "put"]
    assert [(line["event"], line.get("verb", ""), line.get("arguments", "")) for line in lines] == [
        ("intent", "call", "('pen')"),
        ("done", "", ""),
        ("intent", "undo", "('pen')"),
        ("done", "", ""),
        ("intent", "call", "('ink')"),
        ("done", "", ""),
        ("intent", "undo", "('ink')"),
        ("done", "", ""),
    ]
    assert {line["user"] for line in lines} == {"kari"}
    assert there.shelf == []


async def test_an_undo_that_the_audit_cannot_be_told_of_is_not_made(tmp_path: Path) -> None:
    there = Store()
    trail = AuditTrail(tmp_path / "audit")
    async with Runtime(there.scope(), limits=PATIENT, audit=trail, store="memory:") as rt:
        (await rt.execute("put('pen')")).unwrap()
        trail.close()
        with pytest.raises(RollbackFailed, match="the audit in"):
            await rt.rollback(0)
    assert there.shelf == ["pen"]


class Pages:
    """Rows come page by page."""

    def __init__(self) -> None:
        self.wiped = False

    @operation(reads=True)
    def rows(self) -> Iterator[int]:
        yield from range(3)

    def wipe(self) -> Iterator[int]:
        self.wiped = True
        yield 1


@pytest.mark.parametrize(
    "policy",
    [
        {"rules": [{"kind": "writes", "action": "deny"}]},
        {"rules": [{"operation": "pages.rows", "action": "allow"}], "default": "deny"},
    ],
)
async def test_the_steps_of_what_a_call_gave_are_decided_with_the_call(policy: Any) -> None:
    pages = Pages()
    async with Runtime({"pages": pages}, limits=PATIENT, policy=policy_from(policy, "p")) as rt:
        assert (
            await said(rt, "[*pages.rows()], [x for x in pages.rows()], next(pages.rows())")
            == "([0, 1, 2], [0, 1, 2], 0)"
        )
        assert "Denied" in await said(rt, "[*pages.wipe()]")
    assert not pages.wiped


class Slow:
    """Comes to no end before it is told to."""

    def __init__(self) -> None:
        self.told = threading.Event()

    @property
    def answer(self) -> int:
        self.told.wait(PATIENCE_S)
        return 42

    def __getitem__(self, key: int) -> int:
        return self.answer


class SlowOrder(Slow):
    def __init__(self, slow: Slow) -> None:
        super().__init__()
        slow.told.wait(PATIENCE_S)


@pytest.mark.parametrize("use", ["slow.answer", "slow[0]", "SlowOrder(slow)"])
async def test_each_use_of_an_object_has_the_time_of_the_policy(use: str) -> None:
    slow = Slow()
    policy = policy_from({"timeouts": [{"operation": "*", "timeout_s": 0.05}]}, "p")
    async with Runtime({"slow": slow, "SlowOrder": SlowOrder}, limits=PATIENT, policy=policy) as rt:
        assert "took longer than timeout_s=0.05" in await said(rt, use)
        slow.told.set()
