"""Turns of commands that were cut off: found in a store, and carried on as they were opened. Knows no command.

Opening one imports the modules that its command line named. So it is done in the directory that it was done in first,
and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellwright.cli.wishes import Opened

if TYPE_CHECKING:
    from cellwright.agent import Recovered
    from cellwright.events import Event
    from cellwright.store import Store

Hear = Callable[["Event"], None]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class CutOff:
    """A turn that could be carried on. `opened` is None where no command set its task."""

    session: str
    task: str
    at: float
    state: str
    opened: Opened | None

    @property
    def obstacle(self) -> str:
        """Why it is not carried on here; "" where it can be."""
        if self.opened is None:
            return "a program set its task: agent.recover() there carries it on"
        if self.opened.directory != os.getcwd():
            return f"it was opened in {self.opened.directory}: run `cellwright recover {self.session}` there"
        return ""


def find(store: str, command: str = "") -> list[CutOff]:
    """The turns in a store that nobody works on, the oldest first; with a `command`, its own that can go on here."""
    from cellwright.agent import cut_off
    from cellwright.errors import NoSession
    from cellwright.store import open_store

    try:
        journal = open_store(store, make=False)
    except NoSession:
        return []
    try:
        found = [
            CutOff(session=summary.id, task=turn.task, at=turn.at, state=turn.status, opened=Opened.read(turn.opened))
            for summary, turn in cut_off(journal)
        ]
    finally:
        journal.close()
    if command:
        found = [one for one in found if one.opened is not None and one.opened.command == command and not one.obstacle]
    return sorted(found, key=lambda one: one.at)


async def carry_on(store: str, one: CutOff, hear: Hear | None, say: Say) -> Recovered | None:
    """To its end, as it was opened. None where another process has it by now."""
    from cellwright.agent import Recovered, carry_on_one
    from cellwright.cli.returns import read_type
    from cellwright.errors import CellwrightError
    from cellwright.store import open_store

    assert one.opened is not None
    wish = one.opened.wish(store)
    try:
        returns: Any = None if wish.returns is None else read_type(wish.returns)
        agent = wish.agent(say)
    except CellwrightError as error:  # a module that is gone: the others are carried on all the same
        return Recovered(session=one.session, task=one.task, error=error)
    journal: Store = open_store(store, make=False)
    try:
        return await carry_on_one(agent, journal, one.session, returns=returns, on_event=hear)
    finally:
        journal.close()
        await agent.close()


def told(one: CutOff) -> str:
    """The task in short, for one line on a terminal."""
    from cellwright.cli.page import harmless

    task = " ".join(harmless(one.task).split())
    return task if len(task) <= 60 else f"{task[:59]}…"


def answered(done: Recovered) -> str:
    """What came of it, for a terminal."""
    from cellwright.cli.answers import answer_text
    from cellwright.cli.given import in_options
    from cellwright.cli.page import harmless

    if done.error is not None:
        return harmless(in_options(str(done.error)))
    return harmless(answer_text(done.value).strip()) or "done"
