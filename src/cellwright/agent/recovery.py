"""Turns without a process, found in a store and carried on: the process died, or a person has decided.

Each attempt is recorded before anything is opened: a turn that kills its process each time is recognised by that, and
given up in the end. It knows the store and sessions; not how a program starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellwright.agent.inbox import ENDING
from cellwright.agent.result import OnEvent, Result
from cellwright.errors import Fenced, JournalFailed, NoSession, SessionBusy, TurnFailed, UsageError
from cellwright.journal import claim_session, claimed, open_questions_in, release_session
from cellwright.store import IMPORTED, CellRow, Claim, Row, Store, Summary, TurnRow, close_store, off_loop, opened_store

if TYPE_CHECKING:
    from cellwright.agent.agent import Agent

AT_ONCE = 4
TRIES = 25  # processes that may die in a turn without progress; a person who kills processes by hand stops earlier
READ = 500  # entries from the end, in which that is found


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovered:
    """A turn that was carried on: its result, or its error."""

    session: str
    task: str
    result: Result[Any] | None = None
    error: Exception | None = None

    @property
    def value(self) -> Any:
        """The answer, or None."""
        return None if self.result is None else self.result.value


def interrupted_turns(store: Store, agent: str | None = None) -> Iterator[tuple[Summary, TurnRow]]:
    """The sessions of an agent, or all, whose last turn can be carried on and that no living process has.

    A spawned session is left out: its parent carries it on. So is an imported one, because the original may be at work.
    """
    for state in ("running", "waiting"):
        for found in store.summaries(state=state):
            if found.holder is None and not found.child_of and agent in (None, found.agent):
                turn = ready(store, found.id)
                if turn is not None and turn.opened != IMPORTED:
                    yield found, turn


def ready(store: Store, session: str) -> TurnRow | None:
    """The last turn of a session, if it has not ended and waits for nobody, or a person has cancelled it."""
    try:
        turns = store.turns(session)
        last = turns[-1] if turns else None
        if last is None or last.status not in ("running", "waiting"):
            return None
        if last.status == "waiting" and not any(message.kind in ENDING for message in store.inbox(session)):
            return None if open_questions_in(store, session) else last
        return last
    except NoSession:  # forgotten meanwhile
        return None


async def recover(
    agent: Agent, *, returns: Any = None, on_event: OnEvent | None = None, at_once: int = AT_ONCE
) -> list[Recovered]:
    """See `Agent.recover`."""
    if agent.store is None:
        raise UsageError('recover() needs the store that the sessions are in: Agent(store="sqlite:///…")')
    if at_once < 1:
        raise UsageError(f"recover(at_once={at_once!r}): give a number above zero")
    named = isinstance(agent.store, str | Path)
    try:
        store = await opened_store(str(agent.store), make=False) if isinstance(agent.store, str | Path) else agent.store
    except NoSession:  # a program that starts for the first time
        return []
    places = asyncio.Semaphore(at_once)

    async def one(session: str) -> Recovered | None:
        async with places:
            return await carry_on_turn(agent, store, session, returns=returns, on_event=on_event)

    try:
        # what a command opened is the command's: it knows the options
        interrupted = await off_loop(store, lambda: list(interrupted_turns(store, agent.name)))
        found = [summary.id for summary, turn in interrupted if not turn.opened]
        done = await asyncio.gather(*map(one, found), return_exceptions=True)
        for each in done:
            if isinstance(each, BaseException):
                raise each
        return [each for each in done if isinstance(each, Recovered)]
    finally:
        if named:
            await close_store(store)


async def carry_on_turn(
    agent: Agent, store: Store, session: str, *, returns: Any = None, on_event: OnEvent | None = None
) -> Recovered | None:
    """Carry on the last turn of one session. None if there is nothing to do, or another process does it."""
    try:
        claim = await claimed(store, lambda: claim_session(store, session))
    except (SessionBusy, NoSession):
        return None
    except JournalFailed as error:
        return Recovered(session=session, task="", error=error)
    turn: TurnRow | None = None
    try:
        turn = await off_loop(store, ready, store, session)
        if turn is None:
            return None
        if (tries := await off_loop(store, _tries, store, session)) >= TRIES:
            return await off_loop(store, _give_up, store, claim, turn, tries)
        await off_loop(store, store.write, claim, replace(turn, status="running", answer=""))
        (done,) = await asyncio.gather(_carried(agent, session, returns, on_event), return_exceptions=True)
        if isinstance(done, Exception):
            return Recovered(session=session, task=turn.task, error=done)
        if isinstance(done, BaseException):
            raise done
        return Recovered(session=session, task=turn.task, result=done)
    except (Fenced, JournalFailed) as error:  # of the store, before anything was opened
        return Recovered(session=session, task="" if turn is None else turn.task, error=error)
    finally:
        await off_loop(store, release_session, store, claim)


async def _carried(agent: Agent, id: str, returns: Any, on_event: OnEvent | None) -> Result[Any]:
    async with agent.resume(id, returns=returns, take_over=True) as session:  # from the claim above
        return await session.carry_on(on_event=on_event)


def _tries(store: Store, session: str) -> int:
    """How often the last turn was begun or carried on since its last progress."""
    count = 0
    last = store.summary(session).entries
    for entry in reversed(store.entries(session, max(1, last - READ + 1))):
        change = entry.change
        if isinstance(change, TurnRow) and change.status == "running":
            count += 1
        elif isinstance(change, CellRow | TurnRow) or (isinstance(change, Row) and change.value is not None):
            break
    return count


def _give_up(store: Store, claim: Claim, turn: TurnRow, tries: int) -> Recovered:
    words = (
        f"{tries} processes died in this turn at the same place, after cell {store.summary(claim.session).cells}; it "
        f"is left alone, and agent.resume({claim.session!r}) with carry_on() tries it once more"
    )
    store.write(claim, replace(turn, status="failed", answer=words))
    return Recovered(session=claim.session, task=turn.task, error=TurnFailed(words))
