"""`Session`: turns that share an interpreter, its files and a conversation. What an `Agent` runs its tasks in."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from toolwright.agent.asking import Asking
from toolwright.agent.finish import Finish, classes_in, done_function
from toolwright.agent.mode import Measured
from toolwright.agent.names import own_names
from toolwright.agent.observing import Outputs
from toolwright.agent.offer import Offer, make_offer
from toolwright.agent.plan import Plan, observed
from toolwright.agent.result import OnEvent, Result, Trace
from toolwright.agent.resuming import Unfinished
from toolwright.agent.spawn import Children, Family
from toolwright.agent.talk import Talk
from toolwright.agent.turn import Turn
from toolwright.catalog import Catalog, outline
from toolwright.doors import Model
from toolwright.errors import ToolwrightError, TurnFailed, UsageError
from toolwright.events import CallFinished, Done, Event, Failed, ModeChosen, Retried, TurnStarted
from toolwright.journal import RolledBack
from toolwright.messages import Usage
from toolwright.models import Budget, Budgeted, Retrying, Spending
from toolwright.runtime import Runtime
from toolwright.sandboxes import Outcome

if TYPE_CHECKING:
    from toolwright.agent.agent import Agent

OUTLINE_SHARE = 0.25  # of the window, for what the scope offers
OUTPUT_SHARE = 0.12  # for what one cell gives
CHARS_A_TOKEN = 4


class Session:
    """An async context manager. One turn at a time; names, files and what was said stay for the next.

    >>> async with agent.session() as session:
    ...     await session.run("Load the orders of March.")
    ...     print((await session.run("Which customer ordered most?", returns=str)).value)
    """

    def __init__(
        self,
        agent: Agent,
        *,
        id: str | None = None,
        returns: Any = None,
        resume: bool = False,
        within: Spending | None = None,
        family: tuple[Family, int] | None = None,
    ) -> None:
        self.agent = agent
        self.id = id or uuid.uuid4().hex[:12]
        self.trace = Trace(self.id, 0, None)
        self.within = within  # the spending of the agent that spawned this one
        self.shared = within  # what this session's turn and its children spend from
        self._family = family  # and which generation this session is of
        self._returns = self._annotated = returns
        self._resume = resume
        self._finish = Finish(returns)
        self._turn = asyncio.Lock()
        self._began: list[tuple[int, Talk]] = []  # of each turn: the last cell before it, and what had been said
        self._open = contextlib.AsyncExitStack()
        self._parent: Session | None = None  # whose fork this is, until it is open
        self._runtime: Runtime | None = None
        self._model: Model | None = None
        self._offer: Offer | None = None
        self._unfinished: Unfinished | None = None

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            raise UsageError("this session is not open: use `async with agent.session() as session:`")
        return self._runtime

    async def __aenter__(self) -> Session:
        model = await self.agent.model()
        self._talk = Talk(model.traits.window)
        self._outputs = Outputs(limit=int(model.traits.window * CHARS_A_TOKEN * OUTPUT_SHARE), recall=self._recall)
        catalog = Catalog(self.agent.scope)
        room = int(model.traits.window * CHARS_A_TOKEN * OUTLINE_SHARE)
        self._outline = await asyncio.to_thread(outline, catalog, room)  # once: the instructions stay as they are
        names = own_names(self.agent.scope, catalog, self._outputs, lambda: self._finish, self._returns)
        if self.agent.spawning is not None:
            family, generation = self._family or (Family(self.agent.spawning), 0)
            names |= Children(self, family, generation + 1).names()
        runtime = self.agent.runtime(self.id, names, resume=self._resume)
        if self._parent is not None:
            runtime = await self._parent.runtime.fork(session=self.id, scope=runtime.scope)
            self._talk = self._parent._talk.copy()
        self._runtime = await self._open.enter_async_context(runtime)
        asked, turns = Retrying(model, on_retry=self._retried), runtime.turns
        self._model = asked if turns is None else turns.model(asked)
        if self._resume and turns is not None:
            self._unfinished = Unfinished(runtime, turns)
            self._talk = Talk(model.traits.window, self._unfinished.messages)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    async def run(self, task: str, *, returns: Any = None, on_event: OnEvent | None = None) -> Result[Any]:
        """One turn: the task to its answer. `TurnFailed` where it does not come to one."""
        async with self._turn:
            self._unfinished, before = None, self.runtime.cells
            self._talk.settle()
            self._began.append((before, self._talk.copy()))
            return await self._work(task, returns, on_event, lambda turn: turn.run(task))

    async def carry_on(self, *, returns: Any = None, on_event: OnEvent | None = None) -> Result[Any]:
        """What came of the last turn of a session that was resumed: it goes on where its process left it.

        What the model had replied is not asked again, and cells that ran are not run again.
        """
        async with self._turn:
            unfinished = self._unfinished
            if unfinished is None or unfinished.reply is None:
                raise UsageError(f"session {self.id!r} has no turn to carry on; set a task with `run`")
            self._began.append((unfinished.began, Talk(self._talk.window, unfinished.before)))
            return await self._work(unfinished.task, returns, on_event, lambda turn: turn.work(unfinished.reply))

    async def _work(
        self, task: str, returns: Any, on_event: OnEvent | None, work: Callable[[Turn], Awaitable[Any]]
    ) -> Result[Any]:
        trace = self.trace = Trace(self.id, len(self._began), on_event)
        turn, asking = await self._new_turn(task, returns, trace)
        try:
            value = await work(turn)
        except ToolwrightError as error:
            trace.tell(Failed(error=str(error)))
            if isinstance(error, TurnFailed):
                error.result = trace.result(None, self._used(asking))
            raise
        except asyncio.CancelledError:
            gone = "" if self.agent.store is not None else "; the interpreter was ended, and its names are gone"
            self._talk.settle(f"the turn was cancelled here{gone}")
            raise
        finally:
            self._talk.settle()
        trace.tell(Done(value=value))
        return trace.result(value, self._used(asking))

    def _used(self, asking: Asking) -> Usage:
        """What the turn took, with all that its children took."""
        return asking.usage if self.shared is None else self.shared.usage

    async def _new_turn(self, task: str, returns: Any, trace: Trace) -> tuple[Turn, Asking]:
        runtime, agent, model = self.runtime, self.agent, self._model
        assert model is not None
        finish = self._finish = Finish(self._returns if returns is None else returns)
        self._annotate(finish.returns)
        # steps are each turn's own, the rest is shared with the children
        self.shared = Spending(replace(agent.budget, steps=None), within=self.within)
        spending = Spending(Budget(steps=agent.budget.steps), within=self.shared)
        trace.tell(TurnStarted(task=task, model=model.name))
        wanted = agent.wanted(self._outline, self._classes())
        offer = self._offer = make_offer(wanted, model.traits, task, finish, self._measured())
        trace.tell(ModeChosen(mode=offer.choice.mode, why=offer.choice.why))
        agent.tell_left_out(offer.left_out)
        asking = Asking(Budgeted(model, spending), offer, self._talk, trace, agent.generation, spending.step)
        plan = Plan(await observed(runtime), frozenset(n for n, _ in runtime.scope.names())) if agent.plan else None

        def tell(event: Event) -> None:
            ends = isinstance(event, CallFinished) and event.name == "done" and finish.ended
            trace.tell(replace(event, error=None) if ends else event)

        async def run(code: str, checked: bool) -> Outcome:
            if self._unfinished is not None and (ran := await self._unfinished.ran(code, finish, tell)):
                return ran
            return await runtime.execute(code, on_event=tell, check=None if checked else "warn")

        return Turn(asking, run, self._outputs, finish, plan), asking

    async def stream(self, task: str, *, returns: Any = None) -> AsyncGenerator[Event]:
        """The turn's events as they happen. Leaving the loop cancels the turn; a failure is raised after `Failed`."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        running = asyncio.ensure_future(self.run(task, returns=returns, on_event=queue.put_nowait))
        running.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await running
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def undo(self, *, yes: bool = False) -> RolledBack:
        """Take the last turn back: what it did and can be undone, its names and files, and what was said in it.

        What cannot be undone is told by a `RollbackRefused` before anything is done; `yes=True` leaves that done.
        """
        async with self._turn:
            self._require_store("undo")
            if not self._began:
                raise UsageError("there is no turn to undo since this session was opened")
            cell, talk = self._began[-1]
            undone = await self.runtime.rollback(cell, yes=yes)
            self._began.pop()
            self._talk = talk
            return undone

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn of an earlier process, ended or not: `carry_on` gives its answer."""
        return self._unfinished is not None and self._unfinished.reply is not None

    @property
    def is_unfinished(self) -> bool:
        """Whether an earlier process left a turn without its answer."""
        return self._unfinished is not None and not self._unfinished.ended

    def child(self, agent: Agent, id: str, returns: Any, family: Family, generation: int) -> Session:
        """A session below this one; the one of that id where the store has it, because its process died."""
        known = self.runtime.journal is not None and id in self.runtime.journal.sessions()
        return Session(agent, id=id, returns=returns, resume=known, within=self.shared, family=(family, generation))

    def fork(self, id: str | None = None) -> Session:
        """A session that begins as this one is now: `async with session.fork() as branch:`."""
        self._require_store("fork")
        branch = Session(self.agent, id=id, returns=self._returns, within=self.within)
        branch._parent = self
        return branch

    def _require_store(self, what: str) -> None:
        if self.agent.store is None:
            raise UsageError(f'{what} needs the session to be kept: Agent(store="sqlite:///agents.db")')

    def _annotate(self, returns: Any) -> None:
        """The type checker knows the type of this turn's answer, where code can write it."""
        bound = self._classes()
        known = returns if all(cls in bound for cls in classes_in(returns)) else None
        if known != self._annotated:
            self._annotated = known
            self.runtime.scope.bind("done", done_function(lambda: self._finish, known))

    def _classes(self) -> frozenset[type]:
        """What code of this session can build by name."""
        return frozenset(value for _, value in self.runtime.scope.names() if isinstance(value, type))

    def _recall(self, cell: int) -> Outcome | None:
        turns = self.runtime.turns
        return None if turns is None else turns.outcome(cell)

    def _measured(self) -> Measured:
        """What direct calls of earlier turns gave, for the choice of the next mode."""
        return self._offer.measured.with_turn(self._offer.called) if self._offer is not None else Measured()

    def _retried(self, error: Exception, delay_s: float) -> None:
        self.trace.tell(Retried(why=str(error), delay_s=delay_s))
