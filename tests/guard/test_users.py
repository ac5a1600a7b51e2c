"""For whom a session works: policy, limits, hooks and audit of each runtime, agent and child know it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_spawn import played
from tests.cells import PATIENT
from tests.guard.keeping import Office, run

from cellwright import Agent, Runtime
from cellwright.guard import Hook, HookedCall, Policy, PolicyRule, RateLimit, audit_records
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code

pytestmark = pytest.mark.usefixtures("warm")
POLICY = Policy(rules=(PolicyRule(action="deny", operation="bank.pay", user="intern*", why="ask your mentor"),))
TRIES = "try:\n    said = bank.pay(1)\nexcept Exception as error:\n    said = str(error)\nsaid"


class Bank:
    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return "paid"


def users(place: Path) -> set[tuple[str, str]]:
    """What sessions and payments told, each with its user."""
    told = [one for one in audit_records(place) if one["event"] == "session" or one.get("operation") == "bank.pay"]
    return {(one["event"], one["user"]) for one in told if "intent" not in one}


@pytest.mark.parametrize(("user", "events"), [("intern-7", {"session", "denied"}), ("kari", {"session", "intent"})])
async def test_policy_hooks_and_audit_of_a_runtime_and_of_an_agent_know_the_user(
    user: str, events: set[str], tmp_path: Path
) -> None:
    async def looks(call: HookedCall) -> None:
        seen.append(call.user)

    seen: list[str] = []
    options: Any = {"policy": POLICY, "hooks": [Hook(before=looks)], "user": user, "limits": PATIENT}
    async with Runtime({"bank": Bank()}, audit=tmp_path / "runtime", **options) as rt:
        said = (await run(rt, TRIES)).value
    agent = Agent(
        ScriptedModel(code(f"{TRIES}\ndone(said)")), scope={"bank": Bank()}, audit=tmp_path / "agent", **options
    )
    assert (await agent.run("Pay.")).value == said
    assert ("ask your mentor" in said) == (user == "intern-7")
    assert users(tmp_path / "runtime") == users(tmp_path / "agent") == {(event, user) for event in events}
    assert set(seen) == {user}


async def test_a_nameless_session_is_asked_about_or_refused_where_a_rule_is_about_users() -> None:
    async with Runtime({"bank": Bank()}, policy=POLICY, limits=PATIENT) as rt:
        assert "denied by the policy" in (await run(rt, TRIES)).value  # nobody says that it is no intern


async def test_a_session_that_another_user_resumes_works_for_that_one(tmp_path: Path) -> None:
    bank, office = Bank(), Office(tmp_path)
    limits = (RateLimit(operation="bank.pay", most=1, within="1h", per="user"),)
    options: Any = {
        "scope": {"bank": bank},
        "policy": Policy(rules=POLICY.rules, limits=limits),
        "audit": tmp_path / "audit",
    }
    said: list[str] = []
    for user in ("kari", "intern-7", "ola"):
        async with office.open(user=user, **options) as rt:
            said.append((await run(rt, TRIES)).value)
    assert [line.partition(" ")[0] for line in said] == ["paid", "bank.pay", "paid"]
    assert "intern" in said[1]
    told = [one["user"] for one in audit_records(tmp_path / "audit") if one["event"] in ("intent", "denied")]
    assert told == ["kari", "intern-7", "ola"]


async def test_the_children_of_an_agent_work_for_its_user(tmp_path: Path) -> None:
    bank = Bank()

    def child(task: str, step: int) -> Any:
        return code(f"{TRIES}\ndone(said)")

    agent, _ = played(
        "said = await spawn('pay')\ndone(said)", child,
        scope={"bank": bank}, policy=POLICY, user="intern-7", audit=tmp_path, store=MemoryStore(),
    )  # fmt: skip
    assert "ask your mentor" in str((await agent.run("parent")).value)
    assert bank.paid == []
    assert {user for _, user in users(tmp_path)} == {"intern-7"}
