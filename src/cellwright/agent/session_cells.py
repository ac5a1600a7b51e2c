"""`SessionCells`: runs the cells of a session's turns, and tells the model what a cell did that was cut off.

With a journal the list of calls comes from its rows, in the same words in every process. Without one the names of the
calls are kept while the cell runs. It knows cells and the conversation; not how a model is asked.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from cellwright.agent.context_window import ContextWindow
from cellwright.agent.direct_cell import FUNCTION, Run, result_texts
from cellwright.agent.finish import Finish, Finished
from cellwright.agent.inbox import SessionInbox
from cellwright.agent.observation import CellOutputs, observed
from cellwright.agent.result import Trace
from cellwright.agent.turn_record import UnfinishedTurn
from cellwright.errors import BudgetSpent, CodeError, Diverged, TurnCancelled, TurnWaiting, Waiting
from cellwright.events import CallFinished, CallStarted, Event
from cellwright.runtime import Runtime
from cellwright.sandboxes import GONE, Outcome

LISTED = 20  # names of calls
OWN = ("done", "search", "show")


class SessionCells:
    """The cells of one session."""

    def __init__(self, session: str, runtime: Runtime, outputs: CellOutputs) -> None:
        self._session = session
        self._runtime = runtime
        self._outputs = outputs
        self._is_running = False
        self._open: dict[int, str] = {}  # calls of the last cell without an answer, by number
        self._answered: Counter[str] = Counter()

    def runner(self, finish: Finish, trace: Trace, unfinished: UnfinishedTurn | None) -> Run:
        """The function that runs the cells of a turn; a cell that an earlier process ran is not run again."""

        def tell(event: Event) -> None:
            ends = isinstance(event, CallFinished) and event.name == "done" and finish.ended
            self._hear(event)
            trace.tell(replace(event, error=None) if ends else event)

        async def run(code: str, checked: bool) -> Outcome:
            ran = None if unfinished is None else await unfinished.ran(code, finish, tell)
            if ran is None:
                self._is_running, self._open, self._answered = True, {}, Counter()
                ran = await self._runtime.execute(code, on_event=tell, check=None if checked else "warn")
                self._is_running = False
            if isinstance(ran.error, Waiting):
                raise TurnWaiting(str(ran.error), session=self._session, questions=ran.waiting)
            return await self._with_calls(ran)

        return run

    def _hear(self, event: Event) -> None:
        if isinstance(event, CallStarted):
            self._open[event.call] = event.name
        elif isinstance(event, CallFinished):
            self._open.pop(event.call, None)
            self._answered[event.name] += 1

    async def _with_calls(self, outcome: Outcome) -> Outcome:
        """The outcome of a cell that was ended from outside has a note in its error: the calls that the cell made."""
        error, turns = outcome.error, self._runtime.turns
        if error is None or isinstance(error, CodeError) or not outcome.cell:
            return outcome
        if turns is None:
            if GONE in str(error):
                error.add_note(self._names())
            return outcome
        restored = self._runtime.restored
        if isinstance(error, Diverged) and restored is not None and restored.diverged is not None:
            error.add_note(str(restored))
        if text := await turns.read(lambda: turns.effects_of(outcome.cell)):
            error.add_note(text)
        return outcome

    def _names(self) -> str:
        made = [f"{name} ({count})" if count > 1 else name for name, count in self._answered.items() if name not in OWN]
        begun = [name for name in dict.fromkeys(self._open.values()) if name not in OWN]
        parts = [f"Calls that the cell had made: {_listed(made)}."] if made else []
        parts += [f"Begun, without an answer: {_listed(begun)}."] if begun else []
        return " ".join(parts) or "The cell had made no call."

    def cut_short(self, context: ContextWindow, error: BaseException) -> None:
        """A turn ended without an answer. With a journal the next turn finds out what came of its last reply."""
        if self._runtime.turns is not None:
            return
        words = "the turn ended here"
        if isinstance(error, asyncio.CancelledError | TurnCancelled):
            words = "the turn was cancelled here"
        elif isinstance(error, BudgetSpent) and error.what == "seconds":
            words = "the time of the turn was over here"
        if self._is_running:
            self._is_running = False
            context.end_reply(f"{words}; the interpreter was ended, and its names are gone.\n{self._names()}")
        else:
            context.settle(words)

    async def tell_untold(self, context: ContextWindow, inbox: SessionInbox, trace: Trace) -> None:
        """Add to the conversation what came of the last reply, if its turn ended before that was told.

        A cell whose process died is carried on to its end first; a person can stop it.
        """
        turns = self._runtime.turns
        if turns is None or not context.is_open:
            return
        last = await turns.read(turns.last)
        if (last is not None and last.status == "done") or not await turns.read(turns.cells_since_reply):
            return
        if await turns.read(turns.is_cut_off):
            await inbox.until_stopped(self._runtime.outcome(on_event=trace.tell))
            await self._runtime.require_decided()
        cells = await turns.read(turns.cells_since_reply)
        error = cells[-1][1].error if cells else None
        if not cells or (isinstance(error, CodeError) and error.type == Finished.__name__):
            return
        context.end_reply("\n".join([await self._text(code, outcome) for code, outcome in cells]))

    async def tell_branch(self, context: ContextWindow) -> None:
        """Add to the conversation of a fork what the cell did that was cut off: only this session carries it on."""
        turns = self._runtime.turns
        if turns is not None and context.is_open and await turns.read(turns.is_cut_off):
            calls = await turns.read(lambda: turns.effects_of(self._runtime.cells))
            context.end_reply(f"The cell was cut off, and is not carried on in this branch. {calls}")

    async def _text(self, code: str, outcome: Outcome) -> str:
        if FUNCTION in code and outcome.error is None:
            return self._outputs.keep(outcome.cell, "\n".join(result_texts(outcome)))
        return (await observed(code, await self._with_calls(outcome), self._outputs)).text


def _listed(names: list[str]) -> str:
    more = [f"and {len(names) - LISTED} more"] if len(names) > LISTED else []
    return ", ".join([*names[:LISTED], *more])
