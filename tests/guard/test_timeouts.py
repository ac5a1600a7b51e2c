"""Times of calls: which one holds, what the code gets, and what is left of an effect that took too long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.keeping import Office, run

from cellwright import Runtime, operation
from cellwright.errors import RollbackRefused, UsageError
from cellwright.guard import OperationTimeout, Policy, audit_records
from cellwright.scope.executor import TIMEOUT_S
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")
POLICY = Policy(timeout_s=0.05, timeouts=(OperationTimeout(operation="desk.patient", timeout_s=20),))


class Desk:
    """Operations that wait for a gate, each in its way."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.done: list[str] = []

    async def waits(self) -> None:
        """On the loop."""
        await asyncio.Event().wait()

    def blocks(self) -> str:
        """In a thread."""
        self.gate.wait(20)
        self.done.append("blocks")
        return "over"

    @operation(timeout_s=20)
    async def own(self) -> str:
        """Longer than the policy allows others."""
        await asyncio.sleep(0.1)
        return "own"

    @operation(timeout_s=0.05)
    async def short(self) -> None:
        """Shorter than an hour."""
        await asyncio.Event().wait()

    async def patient(self) -> str:
        """Longer than the policy allows others."""
        await asyncio.sleep(0.1)
        return "patient"


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.gate.set()


async def said(desk: Desk, *cells: str, **options: Any) -> list[Any]:
    async with Runtime({"desk": desk}, limits=PATIENT, **options) as rt:
        outcomes = [await run(rt, cell) for cell in cells]
    return [outcome.value if outcome.ok else str(outcome.error).splitlines()[-1] for outcome in outcomes]


async def test_the_operations_time_comes_first_then_the_policys(desk: Desk) -> None:
    found = await said(
        desk, "await desk.own()", "await desk.patient()", "await desk.waits()", "desk.waits", "await desk.short()",
        policy=POLICY,
    )  # fmt: skip
    assert found[:2] == ["own", "patient"]
    assert found[2] == "TimeoutError: desk.waits took longer than timeout_s=0.05"
    assert found[4] == "TimeoutError: desk.short took longer than timeout_s=0.05"


async def test_without_a_policy_a_call_has_an_hour_or_its_own_time(desk: Desk) -> None:
    assert TIMEOUT_S == 3600
    assert "desk.short took longer than timeout_s=0.05" in (await said(desk, "await desk.short()"))[0]


async def test_a_call_that_blocks_a_thread_is_given_up_and_others_go_on(desk: Desk) -> None:
    found = await said(desk, "desk.blocks()", "await desk.patient()", policy=POLICY)
    assert found == ["TimeoutError: desk.blocks took longer than timeout_s=0.05", "patient"]
    assert desk.done == []


async def test_the_time_holds_for_each_call_of_a_method_that_was_called_before(desk: Desk) -> None:
    found = await said(desk, "await desk.waits()", "await desk.waits()", "desk.blocks()", policy=POLICY)
    assert all("took longer" in line for line in found)


async def test_code_goes_on_after_a_call_that_took_too_long(desk: Desk) -> None:
    code = "try:\n    await desk.waits()\nexcept TimeoutError as error:\n    said = str(error)\nsaid"
    assert await said(desk, code, policy=POLICY) == ["desk.waits took longer than timeout_s=0.05"]


async def test_an_effect_that_took_too_long_may_have_happened_and_says_so(desk: Desk, tmp_path: Path) -> None:
    store = MemoryStore()
    options: Any = {"store": store, "session": "s1", "policy": POLICY, "audit": tmp_path, "limits": PATIENT}
    async with Runtime({"desk": desk}, **options) as rt:
        assert "took longer" in str((await run(rt, "desk.blocks()")).error)
        with pytest.raises(RollbackRefused, match=r"desk\.blocks\(\).*it may have happened"):
            await rt.rollback(0)
    (row,) = store.rows("s1")
    assert (row.title, row.status) == ("desk.blocks", "failed")
    told = [
        (one["event"], one.get("error")) for one in audit_records(tmp_path) if one.get("operation") == "desk.blocks"
    ]
    assert told == [("intent", None), ("failed", "TimeoutError")]


async def test_a_resumed_session_knows_of_the_effect_that_took_too_long_and_does_not_make_it_again(
    desk: Desk, tmp_path: Path
) -> None:
    office = Office(tmp_path)
    async with office.open(scope={"desk": desk}, policy=POLICY) as rt:
        await run(rt, "try:\n    desk.blocks()\nexcept TimeoutError:\n    late = True")
    desk.gate.set()
    async with office.open(scope={"desk": desk}, policy=POLICY) as rt:
        assert (await run(rt, "late")).value is True
        with pytest.raises(RollbackRefused, match="it may have happened"):
            await rt.rollback(0)
    assert desk.done in ([], ["blocks"])  # of the first call, whose thread went on


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "1"])
def test_a_time_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(UsageError, match="timeout_s is"):
        Policy(timeout_s=seconds)
