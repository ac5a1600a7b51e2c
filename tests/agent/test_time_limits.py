"""Time limits hold for whatever a turn or a cell waits for: a model, code, host calls of every kind, other agents."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.agent.test_spawn import task_of
from tests.agent.worlds import agent_with, last_observation
from tests.cells import PATIENCE_S

from cellwright import Limits, Scope, operation
from cellwright.agent import Agent, patterns
from cellwright.doors import Request
from cellwright.errors import BudgetSpent, ModelBusy
from cellwright.events import ApprovalWanted, ChildFinished, Event
from cellwright.models import Budget, Spending
from cellwright.store import MemoryStore
from cellwright.testing import ScriptedModel, code

SHORT = Budget(seconds=0.3)
LIMIT = Limits(wall_s=0.3)


@dataclass
class Hall:
    """Where code waits. `leave` lets everybody go, so that no thread and no task is left."""

    open: threading.Event = field(default_factory=threading.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def stay(self) -> None:
        await asyncio.Event().wait()

    def block(self) -> None:
        self.open.wait(PATIENCE_S)

    async def insist(self) -> None:
        """Ignores its cancellation."""
        while not self.left.is_set():
            try:
                await self.left.wait()
            except asyncio.CancelledError:
                continue

    def leave(self) -> None:
        self.open.set()
        self.left.set()


@pytest.fixture
async def hall() -> AsyncIterator[Hall]:
    hall = Hall()
    yield hall
    hall.leave()


async def never(_: Request) -> str:
    await asyncio.Event().wait()
    return ""


class Stubborn(ScriptedModel):
    """Never answers, and ignores its cancellation."""

    def __init__(self, hall: Hall) -> None:
        super().__init__()
        self._hall = hall

    async def request(self, request: Request, on_piece: Any = None) -> Any:
        await self._hall.insist()
        raise asyncio.CancelledError  # at last: an error of a request that was given up would be told in another test


def child_waits(request: Request) -> Any:
    return code("done(await spawn('child'))") if task_of(request) == "parent" else never(request)


async def nobody(_: ApprovalWanted) -> bool:
    await asyncio.Event().wait()
    return True


def asking(hall: Hall) -> Scope:
    scope = Scope({"hall": hall})
    scope.declare("hall.block", ask=True)
    return scope


def delegate() -> Any:
    return patterns.as_function(Agent(ScriptedModel(otherwise=never), check="off"), "ask", "Never answers.")


def function() -> Any:
    agent = Agent(ScriptedModel(otherwise=never), check="off")

    @agent.function
    async def ask() -> int:
        """Never answers."""
        raise NotImplementedError

    return ask


WAITS: dict[str, Callable[[Hall], dict[str, Any]]] = {
    "the model": lambda hall: {"otherwise": never},
    "the next attempt": lambda hall: {"otherwise": ModelBusy("later", retry_after_s=PATIENCE_S / 2)},
    "a plan": lambda hall: {"otherwise": never, "plan": True},
    "code": lambda hall: {"otherwise": code("while True: pass")},
    "a sleep": lambda hall: {"otherwise": code("import time; time.sleep(1000)")},
    "a coroutine": lambda hall: {"otherwise": code("await hall.stay()"), "scope": {"hall": hall}},
    "a thread": lambda hall: {"otherwise": code("hall.block()"), "scope": {"hall": hall}},
    "a call that ignores its end": lambda hall: {"otherwise": code("await hall.insist()"), "scope": {"hall": hall}},
    "a person": lambda hall: {"otherwise": code("hall.block()"), "scope": asking(hall), "approve": nobody},
    "a child's model": lambda hall: {"otherwise": child_waits, "spawn": True},
    "a delegate": lambda hall: {"otherwise": code("await ask('x')"), "scope": {"ask": delegate()}},
    "a function of an agent": lambda hall: {"otherwise": code("await ask()"), "scope": {"ask": function()}},
}


@pytest.mark.parametrize("what", WAITS)
async def test_the_time_of_a_turn_ends_whatever_it_waits_for(what: str, hall: Hall) -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"scope": {}, "store": store, "check": "off", "budget": SHORT, **WAITS[what](hall)}
    agent, _ = agent_with(**options)
    async with asyncio.timeout(PATIENCE_S):
        async with agent.session("s") as session:
            with pytest.raises(
                BudgetSpent, match=r"of 0\.3 seconds after \d steps?; raise Budget\(seconds=…\)"
            ) as caught:
                await session.run("parent")
            hall.leave()
        assert caught.value.what == "seconds"
        (row,) = store.turns("s")
        assert (row.status, row.answer.partition(":")[0]) == ("failed", "BudgetSpent")
        options |= {"otherwise": None, "budget": None, "plan": False}
        agent, model = agent_with(code("done(1)"), **options)
        async with agent.resume("s") as session:
            assert (await session.run("next")).value == 1
        assert not model.left


async def test_a_model_that_ignores_its_cancellation_does_not_hold_up_the_turn(hall: Hall) -> None:
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(BudgetSpent, match="seconds"):
            await Agent(Stubborn(hall), check="off", budget=SHORT).run("x")


IN_TRANSACTION = "async with transaction(anyway=True):\n    await hall.insist()"


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("await hall.insist()", False),
        ("hall.block()", False),
        ("await hall.insist()", True),
        ("hall.block()", True),
        (IN_TRANSACTION, True),
    ],
)
async def test_a_call_that_ignores_its_cancellation_does_not_hold_up_the_session(
    cell: str, kept: bool, hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellwright.sandboxes.guest_calls.STOP_S", 0.1)
    monkeypatch.setattr("cellwright.journal.reversible.LATE_S", 0.1)
    store = MemoryStore() if kept else None
    agent, _ = agent_with(code(cell), scope={"hall": hall}, check="off", budget=SHORT, store=store)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(BudgetSpent, match="seconds"):
            await agent.run("x")


async def test_a_turn_after_one_whose_time_was_over_knows_that_and_works() -> None:
    agent, model = agent_with(code("x = 1\nwhile True: pass"), code("done(2)"), check="off", budget=SHORT)
    async with agent.session() as session, asyncio.timeout(PATIENCE_S):
        with pytest.raises(BudgetSpent, match="seconds"):
            await session.run("first")
        agent.budget = Budget(steps=2)
        assert (await session.run("second")).value == 2
    assert "the time of the turn was over here; the interpreter was ended" in repr(model.requests[-1].messages)


async def test_the_time_of_a_shared_spending_ends_all_that_share_it() -> None:
    spending = Spending(SHORT)
    agents = [Agent(ScriptedModel(otherwise=code("while True: pass")), check="off", within=spending) for _ in range(3)]
    async with asyncio.timeout(PATIENCE_S):
        ended = await asyncio.gather(*(agent.run("x") for agent in agents), return_exceptions=True)
    assert [getattr(end, "what", end) for end in ended] == ["seconds"] * 3


# a cell


async def test_a_wall_time_that_was_set_ends_a_cell_that_waits_for_a_child() -> None:
    def reply(request: Request) -> Any:
        if task_of(request) != "parent":
            return never(request)
        return code("await spawn('child')") if len(request.messages) == 1 else "stop"

    events: list[Event] = []
    agent, model = agent_with(otherwise=reply, spawn=True, check="off", limits=LIMIT)
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("parent", on_event=events.append)).value == "stop"
    assert "wall_s=0.3" in last_observation(model)
    assert [event.error for event in events if isinstance(event, ChildFinished)] == ["cancelled"]


async def test_a_wall_time_that_was_set_ends_a_cell_that_waits_for_a_delegate() -> None:
    agent, model = agent_with(code("await ask('x')"), "stop", scope={"ask": delegate()}, check="off", limits=LIMIT)
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("x")).value == "stop"
    assert "wall_s=0.3" in last_observation(model)


async def test_the_time_that_a_person_takes_for_a_child_is_not_its_parents() -> None:
    class Desk:
        def sign(self) -> int:
            return 7

    async def approve(wanted: ApprovalWanted) -> bool:
        late, _ = agent_with(code("while True: pass"), "late", check="off", limits=LIMIT)
        await late.run("x")  # takes as long as the other cells may run
        return True

    def reply(request: Request) -> Any:
        return code("done(desk.sign())" if task_of(request) == "child" else "done(await spawn('child'))")

    scope = Scope({"desk": Desk()})
    scope.declare("desk.sign", ask=True)
    model = ScriptedModel(otherwise=reply)
    agent = Agent(model, scope=scope, spawn=True, check="off", limits=LIMIT, approve=approve)
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("parent")).value == 7


async def test_the_time_of_a_turn_ends_a_cell_of_a_dead_process_that_it_carries_on() -> None:
    store, begun = MemoryStore(), asyncio.Event()

    @operation(idempotent=True)
    async def stay() -> None:
        begun.set()
        await asyncio.Event().wait()

    first, _ = agent_with(code("await stay()"), scope={"stay": stay}, store=store, check="off")

    async def turn() -> None:
        async with first.session("s1") as session:
            await session.run("Wait.")

    abandoned = asyncio.ensure_future(turn())
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    again, model = agent_with("never", scope={"stay": stay}, store=store, check="off", budget=SHORT)
    async with asyncio.timeout(PATIENCE_S), again.resume("s1", take_over=True) as session:
        with pytest.raises(BudgetSpent, match="seconds"):
            await session.run("Go on.")
    assert model.requests == []
    abandoned.cancel()
    with contextlib.suppress(BaseException):
        await abandoned
