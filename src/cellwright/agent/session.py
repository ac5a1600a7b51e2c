"""`Session`: turns that share an interpreter, its files and a conversation. What an `Agent` runs its tasks in."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cellwright.agent.answer_types import buildable
from cellwright.agent.context_window import ContextWindow
from cellwright.agent.event_stream import EventStream
from cellwright.agent.finish import Finish, done_function
from cellwright.agent.guest_names import own_names
from cellwright.agent.inbox import Recipient, SessionInbox
from cellwright.agent.mode import CallStatistics
from cellwright.agent.observation import CellOutputs
from cellwright.agent.plan import new_plan
from cellwright.agent.requester import Requester
from cellwright.agent.result import OnEvent, Result, Trace
from cellwright.agent.session_cells import SessionCells
from cellwright.agent.session_flow import SessionFlow
from cellwright.agent.spawn import Children, Family, FamilyPlace
from cellwright.agent.task_data import TaskContent
from cellwright.agent.toolset import RecordedReply, Toolset, make_toolset
from cellwright.agent.turn import Turn
from cellwright.agent.turn_record import TurnRecord, UnfinishedTurn
from cellwright.agent.turn_texts import TurnTexts
from cellwright.catalog import Catalog, outline
from cellwright.doors import Model
from cellwright.errors import TurnCancelled, TurnFailed, UsageError
from cellwright.events import Done, Failed, ModeChosen, Retried, TurnStarted
from cellwright.journal import ReplayedModel, Rewound, RolledBack, Turns, is_undone, taken_back
from cellwright.models import Budget, Budgeted, ModelErrorsOnly, OwnCallIds, Retrying, Spending
from cellwright.runtime import Runtime
from cellwright.sandboxes import Outcome
from cellwright.sessions import Searcher
from cellwright.store import IMPORTED, TurnRow

if TYPE_CHECKING:
    from cellwright.agent.agent import Agent

OUTLINE_SHARE = 0.25  # of the window, for what the scope offers
OUTPUT_SHARE = 0.12  # for what one cell gives
CHARS_A_TOKEN = 4
CONTEXTS = 8  # turns whose beginning is kept in memory


class Session(Recipient):
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
        take_over: bool = False,
        within: Spending | None = None,
        place: FamilyPlace | None = None,
    ) -> None:
        self.agent = agent
        self.id = id or uuid.uuid4().hex[:12]
        self.trace = Trace(self.id, 0, None)
        self.within = within  # the spending of the agent that spawned this one
        self.shared = within or Spending()  # what this session's turn and its children spend from
        self.opened = ""  # the options of the command that opened it, as JSON; kept with each turn
        self.inbox = SessionInbox()
        self._place = place  # among the agents that were spawned
        self._returns = self._annotated = returns
        self._resume = resume
        self._take_over = take_over
        self._finish = Finish(returns)
        self._turn = asyncio.Lock()
        self._number = 0  # of the last turn
        self._contexts: dict[int, ContextWindow] = {}  # the conversation before each turn of this process
        self._open = contextlib.AsyncExitStack()
        self._parent: Session | None = None  # the session that this is a fork of, until it is open
        self._runtime: Runtime | None = None
        self._model: Model | None = None
        self._journaled: ReplayedModel | None = None
        self._toolset: Toolset | None = None
        self._unfinished: UnfinishedTurn | None = None
        self._has_looked_back, self._looking_back = False, threading.Lock()
        self._texts = TurnTexts(lambda: None if self._runtime is None else self._runtime.privacy)

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            raise UsageError("this session is not open: use `async with agent.session() as session:`")
        return self._runtime

    def reveal(self, value: Any) -> Any:
        """An answer, with the values of the private tokens in it. For the developer's own eyes."""
        return self.runtime.reveal(value)

    async def __aenter__(self) -> Session:
        model = await self.agent.model()
        self._context = ContextWindow(model.traits.window)
        self._outputs = CellOutputs(limit=int(model.traits.window * CHARS_A_TOKEN * OUTPUT_SHARE), recall=self._recall)
        catalog = Catalog(self.agent.scope)
        room = int(model.traits.window * CHARS_A_TOKEN * OUTLINE_SHARE)
        self._outline = await asyncio.to_thread(outline, catalog, room)  # once: the instructions stay as they are
        names = own_names(self.agent.scope, catalog, self._outputs, lambda: self._finish, self._returns)
        if self.agent.spawning is not None:
            place = self._place or FamilyPlace(family=Family(self.agent.spawning, self.id))
            names |= Children(self, place.family, place.generation + 1).names()
        if self.agent.sessions is not None:
            names["sessions"] = Searcher(lambda: self.runtime.journal, self.id, self.agent.sessions, self.agent.name)
        asked = self._model = OwnCallIds(Retrying(ModelErrorsOnly(model), on_retry=self._tell_retry))
        read = self._texts.around(asked)
        flow = self._flow = SessionFlow(lambda given: Budgeted(read, self.shared).request(given), model.traits.window)
        names |= flow.names(self.agent.scope, self.agent.policy)
        runtime = self.agent.runtime(self.id, names, resume=self._resume, take_over=self._take_over, place=self._place)
        if self._parent is not None:
            await self._parent.look_back()
            runtime = await self._parent.runtime.fork(session=self.id, scope=runtime.scope)
            self._context = self._parent._context.copy()
            await self._parent._cells.tell_branch(self._context)
        flow.watch(runtime.flow, self._outputs)
        self._runtime = await self._open.enter_async_context(runtime)
        self._cells = SessionCells(self.id, runtime, self._outputs)
        turns = runtime.turns
        self.inbox.open(None if turns is None else turns.mail, flow.add_words, self._texts.hidden)
        return self

    def _tell_retry(self, error: Exception, delay_s: float) -> None:
        self.trace.tell(Retried(why=str(error), delay_s=delay_s))

    async def look_back(self) -> None:
        """Read the recorded conversation in a thread, so that `has_turn` and `is_unfinished` need not."""
        await self.runtime.usable()
        if not self._has_looked_back and (turns := self.runtime.turns) is not None:
            await turns.read(self._look_back)

    def _look_back(self) -> None:
        """Read the recorded conversation and an unfinished turn from the journal, once, when they are first needed."""
        turns = self.runtime.turns
        with self._looking_back:  # a run that was cancelled leaves its thread reading
            if self._has_looked_back or turns is None or self._model is None:
                return
            model = turns.model(self._model)
            self._number = max((turn.number for turn in turns.rows()), default=0)
            if self._resume:
                self._unfinished = UnfinishedTurn(self.runtime, turns)
                self._context = self._unfinished.context(self._context.window)
            self._model = self._journaled = model
            self._has_looked_back = True

    async def __aexit__(self, *_: object) -> None:
        self.inbox.close()
        await self._open.aclose()

    async def run(
        self, task: str, *, data: TaskContent = None, returns: Any = None, on_event: OnEvent | None = None
    ) -> Result[Any]:
        """One turn, from the task to its answer. `TurnFailed` if it comes to none.

        The task is a person's words; texts of others are `data`, which code reads as `task_data["name"]`.
        `UsageError` while an earlier turn waits for a person: `carry_on` goes on with it, `give_up` ends it.
        """
        task, kept = self._texts.given(task, data)
        async with self._turn:
            await self.runtime.require_decided()
            await self.look_back()
            self._unfinished = None
            await self.inbox.begin()
            self._begin_spending()
            async with self.shared.in_time():
                await self._cells.tell_untold(self._context, self.inbox, Trace(self.id, self._number, on_event))
            self._context.settle()
            self._number += 1
            asked = self._journaled.requests if self._journaled is not None else 0
            row = TurnRow(number=self._number, task=task, cell=self.runtime.cells, asked=asked, opened=self.opened)
            row = replace(row, data=kept, heard=self._flow.is_heard())
            if self.runtime.turns is not None:  # `undo` and `rewind` need a store, which has the older ones
                self._contexts[row.number] = self._context.copy()
                self._contexts.pop(row.number - CONTEXTS, None)
            async with TurnRecord(self.runtime.turns, row) as recording:
                return await self._work(recording, returns, on_event, lambda turn: turn.run(task, self._flow.hint))

    async def carry_on(self, *, returns: Any = None, on_event: OnEvent | None = None) -> Result[Any]:
        """Go on with the last turn of a resumed session, where its process left it.

        Recorded replies are not asked for again, and cells that ran are not run again. A turn that waited for a person,
        failed or was cancelled is carried on too.
        """
        async with self._turn:
            await self.look_back()
            self._begin_spending()
            turns, unfinished = self.runtime.turns, self._unfinished or await self._left_over()
            if turns is None or unfinished is None or not unfinished.is_there:
                raise UsageError(f"session {self.id!r} has no turn to carry on; set a task with `run`")
            self._unfinished, reply = unfinished, unfinished.reply
            row, before, offered = await turns.read(lambda: (unfinished.row, unfinished.last, unfinished.offered))
            begun = RecordedReply(begun=unfinished.begun, offered=offered)
            self._number = row.number
            ended = row.status not in ("running", "waiting")  # messages that ended the turn have had their effect
            await self.inbox.begin(() if row.status == "done" else await turns.mail.untold(), new=ended)
            # nothing new is written about a turn that has its answer
            written = None if row.status == "done" else turns
            opened = self.opened or ("" if row.opened == IMPORTED else row.opened)
            try:
                async with TurnRecord(written, replace(row, opened=opened)) as recording:
                    return await self._work(
                        recording,
                        returns,
                        on_event,
                        lambda turn: (
                            turn.run(row.task, self._flow.hint) if reply is None else turn.work(reply, before, begun)
                        ),
                    )
            finally:
                self._unfinished = None

    async def _left_over(self) -> UnfinishedTurn | None:
        """The last turn of this process, if it has no answer."""
        turns = self.runtime.turns
        last = None if turns is None else await turns.read(turns.last)
        if turns is None or last is None or last.status == "done":
            return None
        unfinished = await turns.read(lambda: UnfinishedTurn(self.runtime, turns))
        self._context = unfinished.context(self._context.window)
        return unfinished

    async def _work(
        self,
        recording: TurnRecord,
        returns: Any,
        on_event: OnEvent | None,
        work: Callable[[Turn], Coroutine[Any, Any, Any]],
    ) -> Result[Any]:
        trace = self.trace = Trace(self.id, recording.row.number, on_event)
        turn: Turn | None = None
        try:
            self._flow.begin(recording.row)
            turn = await self._new_turn(recording.row.task, returns, trace)
            async with self.shared.in_time():
                value = await self.inbox.until_stopped(work(turn))
        except Exception as error:
            self._cells.cut_short(self._context, error)
            trace.tell(Failed(error=self._texts.hidden(str(error)) or type(error).__name__))
            if isinstance(error, TurnFailed) and turn is not None:
                error.result = trace.result(None, self.shared.usage)
            if isinstance(error, TurnCancelled):
                # the next turn would go on with an interrupted or waiting cell; without one this raises UsageError
                with contextlib.suppress(UsageError):
                    await self.runtime.give_up()
            raise
        except asyncio.CancelledError as error:
            trace.tell(Failed(error="the turn was cancelled"))
            self._cells.cut_short(self._context, error)
            raise
        finally:
            self._flow.tell_above()
        self._context.settle()
        recording.came_to(value, self._texts.hidden)
        trace.tell(Done(value=value))
        return trace.result(value, self.shared.usage)

    def _begin_spending(self) -> None:
        """Each turn has its own steps; the rest of the budget is shared with the children."""
        self.shared = Spending(replace(self.agent.budget, steps=None), within=self.within)

    async def _new_turn(self, task: str, returns: Any, trace: Trace) -> Turn:
        runtime = self.runtime
        wanted = self._returns if returns is None else returns
        finish = self._finish = Finish(wanted, reveal=self._texts.answer, hide=self._texts.hidden_guess)
        self._annotate(finish.returns)
        requester = self._requester(task, finish, trace)
        plan = await new_plan(runtime, requester.toolset) if self.agent.plan else None
        run = self._cells.runner(finish, trace, self._unfinished)
        return Turn(requester, run, self._outputs, finish, self.inbox, plan)

    def _requester(self, task: str, finish: Finish, trace: Trace) -> Requester:
        """The requests of one turn: its tools, and its budget."""
        agent, model = self.agent, self._model
        assert model is not None
        spending = Spending(Budget(steps=agent.budget.steps), within=self.shared)
        trace.tell(TurnStarted(task=task, model=model.name))
        wanted = agent.wanted(self._outline, self._classes(), self._flow.instructions)
        toolset = self._toolset = make_toolset(wanted, model.traits, task, finish, self._measured())
        trace.tell(ModeChosen(mode=toolset.choice.mode, why=toolset.choice.why))
        agent.tell_left_out(toolset.left_out)
        told = self._flow.told(Budgeted(self._texts.around(model), spending))
        return Requester(told, toolset, self._context, trace, agent.generation, spending.step)

    def stream(self, task: str, *, data: TaskContent = None, returns: Any = None) -> EventStream:
        """The turn's events as they happen. Leaving the loop cancels the turn; a failure is raised after `Failed`."""
        return EventStream(lambda events: self.run(task, data=data, returns=returns, on_event=events))

    async def undo(self, *, yes: bool = False) -> RolledBack:
        """Undo the last turn: its effects that have an undo, its names and files, and its part of the conversation.

        `RollbackRefused` lists the effects that have no undo, before anything is undone; `yes=True` leaves them done.
        """
        async with self._turn:
            turns = await self._turns("undo")
            row = await turns.read(turns.last)
            if row is None:
                raise UsageError("there is no turn to undo: this session has had none of its own")
            undone = await self.runtime.rollback(await turns.read(lambda: turns.standing(row.cell)), yes=yes)
            await turns.write(taken_back(row))
            await self._forget_from(row, turns)
            return undone

    async def give_up(self) -> None:
        """End a turn that waits for a person, and withdraw its questions. Effects of its code outside stay done."""
        async with self._turn:
            turns = await self._turns("give_up")
            await self.runtime.give_up()
            row = await turns.read(turns.last)
            if row is not None and row.status in ("running", "waiting"):
                await turns.write(replace(row, status="cancelled", answer="it was given up"))
            self._unfinished = None

    async def rewind(self, turn: int) -> Rewound:
        """Return names, files and conversation to the state before that turn. Effects outside stay done; see `undo`.

        Later turns stay in the history, as a side branch.
        """
        async with self._turn:
            turns = await self._turns("rewind")
            rows = [each for each in await turns.read(turns.rows) if each.number == turn and not is_undone(each)]
            if not rows:
                raise UsageError(f"session {self.id!r} has no turn {turn} to rewind; its last is {self._number}")
            rewound = await self.runtime.rewind(await turns.read(lambda: turns.standing(rows[0].cell)))
            await self._forget_from(rows[0], turns)
            return rewound

    async def _forget_from(self, row: TurnRow, turns: Turns) -> None:
        """The conversation is again what it was before that turn."""
        before = self._contexts.pop(row.number, None)
        said = () if before is not None else await turns.read(lambda: turns.said(row.asked))
        self._context = before or self._context.anew(said)
        self._context.settle()
        self._unfinished = None

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn of an earlier process, ended or not: `carry_on` gives its answer."""
        self._look_back()
        return self._unfinished is not None and self._unfinished.is_there

    @property
    def is_unfinished(self) -> bool:
        """Whether an earlier process left a turn without its answer."""
        self._look_back()
        return self._unfinished is not None and not self._unfinished.ended

    def fork(self, id: str | None = None) -> Session:
        """A session that begins as this one is now: `async with session.fork() as branch:`."""
        self._require_store("fork")
        branch = Session(self.agent, id=id, returns=self._returns, within=self.within)
        branch._parent, branch.opened = self, self.opened
        return branch

    def _require_store(self, what: str) -> None:
        if self.agent.store is None:
            raise UsageError(f'{what} needs the session to be kept: Agent(store="sqlite:///agents.db")')

    async def _turns(self, what: str) -> Turns:
        """The turns of this session in its store."""
        self._require_store(what)
        await self.look_back()
        turns = self.runtime.turns
        assert turns is not None  # an agent with a store keeps its sessions
        return turns

    def _annotate(self, returns: Any) -> None:
        """Tell the type checker the type of this turn's answer, if code can name it."""
        bound = self._classes()
        known = returns if bound.issuperset(buildable(returns)) else None
        if known != self._annotated:
            self._annotated = known
            self.runtime.scope.bind("done", done_function(lambda: self._finish, known))

    def _classes(self) -> frozenset[type]:
        """The classes that code of this session can name."""
        return frozenset(value for _, value in self.runtime.scope.names() if isinstance(value, type))

    def _recall(self, cell: int) -> Outcome | None:
        turns = self.runtime.turns
        return None if turns is None else turns.outcome(cell)

    def _measured(self) -> CallStatistics:
        """The sizes of earlier results of direct calls, for the choice of the next mode."""
        return self._toolset.measured.with_turn(self._toolset.called) if self._toolset is not None else CallStatistics()
