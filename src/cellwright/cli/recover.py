"""`cellwright recover`: carries on the turns whose process died, each as it was opened; `run` and `chat` use its parts.

Opening a session imports the modules that its command line named, so a turn is carried on only in the directory that it
was opened in.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.agent_options import TurnOrigin
from cellwright.cli.answers import json_text
from cellwright.cli.arguments import FAILED, exit_on_error, in_options, say, stores
from cellwright.cli.options import AGENTS_DB, option
from cellwright.cli.terminal_page import TerminalPage, harmless
from cellwright.cli.turn_view import TurnView
from cellwright.errors import CellwrightError, NoSession, UsageError
from cellwright.short_texts import cut, one_line

if TYPE_CHECKING:
    from cellwright.agent import Recovered
    from cellwright.events import Event
    from cellwright.store import Store

Hear = Callable[["Event"], None]
Say = Callable[[str], None]


def recover(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="These sessions. Left out: all that are found.")
    ] = None,
    store: Annotated[
        str | None,
        option(f"Where sessions are kept. Left out: those of `chat`, and {AGENTS_DB} if it is here.", metavar="URL"),
    ] = None,
    only_list: Annotated[bool, option("Say what there is, and do nothing.", "--list")] = False,
    as_json: Annotated[bool, option("One JSON object a line for each turn.", "--json")] = False,
    quiet: Annotated[bool, option("Nothing on stderr but errors.", "--quiet", "-q")] = False,
) -> None:
    """Carry on turns that were cut off: their process died, or what they waited for is decided.

    A turn goes on where it was: no reply that is there is asked for again, no call that was made is made again. It is
    opened with the options of the command that set its task, in the directory that it was set in.

    Exit codes: 0 all came to an answer, 1 one did not, 2 wrong usage, 4 this machine cannot do it, 130 cancelled.
    """
    with exit_on_error("cancelled; the others are left as they were"):
        turns = [(url, turn) for url in stores(store) for turn in recoverable_turns(url)]
        chosen = _chosen(turns, ids or [])
        if only_list:
            _list(chosen, as_json)
            return
        if asyncio.run(_all(chosen, as_json=as_json, quiet=quiet)):
            raise typer.Exit(FAILED)


def _chosen(turns: list[tuple[str, RecoverableTurn]], ids: list[str]) -> list[tuple[str, RecoverableTurn]]:
    by_session = {turn.session: (url, turn) for url, turn in turns}
    for id in ids:
        if id not in by_session:
            raise UsageError(f"session {id!r} has no turn that was cut off; `cellwright recover --list` shows what has")
        if by_session[id][1].obstacle:
            raise UsageError(f"session {id!r}: {by_session[id][1].obstacle}")
    return [by_session[id] for id in dict.fromkeys(ids)] if ids else turns


def _list(turns: list[tuple[str, RecoverableTurn]], as_json: bool) -> None:
    if as_json:
        for url, turn in turns:
            print(json_text(_described(url, turn)))
        return
    for _, turn in turns:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(turn.at))
        print(f"{turn.session}  {when}  {short_task(turn)}{f'  ({turn.obstacle})' if turn.obstacle else ''}")
    if not turns:
        say("no turn was cut off")


def _described(url: str, turn: RecoverableTurn) -> dict[str, Any]:
    return {
        "session": turn.session,
        "store": url,
        "task": turn.task,
        "set": turn.at,
        "directory": None if turn.origin is None else turn.origin.directory,
        "command": None if turn.origin is None else turn.origin.command,
        "obstacle": turn.obstacle or None,
    }


async def _all(turns: list[tuple[str, RecoverableTurn]], *, as_json: bool, quiet: bool) -> int:
    """Carry on one after the other; gives how many failed."""
    page = TerminalPage(sys.stderr)
    failed = 0

    def tell(line: str) -> None:
        if not quiet:
            page.line(line, "dim")

    for url, turn in turns:
        if turn.obstacle:
            tell(f"cellwright: left alone: session {turn.session}: {turn.obstacle}")
            continue
        tell(f"cellwright: carrying on session {turn.session}: {short_task(turn)}")
        view = TurnView(page, text=False)
        done = await carry_on(url, turn, None if quiet else view.hear, tell)
        view.end()
        if done is None:
            tell(f"cellwright: session {turn.session}: another process has it by now")
            continue
        failed += done.error is not None
        _report(url, turn, done, as_json)
    if not turns:
        tell("cellwright: no turn was cut off")
    return failed


def _report(url: str, turn: RecoverableTurn, done: Recovered, as_json: bool) -> None:
    if as_json:
        from cellwright.cli.answers import json_value

        error = None if done.error is None else {"type": type(done.error).__name__, "text": str(done.error)}
        steps = 0 if done.result is None else done.result.steps
        row = _described(url, turn) | {"value": json_value(done.value), "error": error, "steps": steps}
        print(json_text(row, ensure_ascii=False), flush=True)
    elif done.error is not None:
        say(f"session {turn.session}: {answered(done)}")
    else:
        print(f"{turn.session}: {answered(done)}", flush=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoverableTurn:
    """A turn that could be carried on. `origin` is None where no command set its task."""

    session: str
    task: str
    at: float
    origin: TurnOrigin | None

    @property
    def obstacle(self) -> str:
        """Why it is not carried on here; "" where it can be."""
        if self.origin is None:
            return "a program set its task: agent.recover() there carries it on"
        if self.origin.directory != os.getcwd():
            return f"it was opened in {self.origin.directory}: run `cellwright recover {self.session}` there"
        return ""


def recoverable_turns(store: str, command: str = "") -> list[RecoverableTurn]:
    """The turns in a store that nobody works on, the oldest first; with a `command`, its own that can go on here."""
    from cellwright.agent import interrupted_turns
    from cellwright.store import open_store

    try:
        journal = open_store(store, make=False)
    except NoSession:
        return []
    with closing(journal):
        turns = [
            RecoverableTurn(session=summary.id, task=turn.task, at=turn.at, origin=TurnOrigin.read(turn.opened))
            for summary, turn in interrupted_turns(journal)
        ]
    if command:
        turns = [turn for turn in turns if turn.origin and turn.origin.command == command and not turn.obstacle]
    return sorted(turns, key=lambda turn: turn.at)


async def carry_on(store: str, turn: RecoverableTurn, hear: Hear | None, say: Say) -> Recovered | None:
    """To its end, as it was opened. None where another process has it by now."""
    from cellwright.agent import Recovered, carry_on_one
    from cellwright.cli.return_type import read_type
    from cellwright.store import open_store

    assert turn.origin is not None
    options = turn.origin.options(store)
    try:
        returns: Any = None if options.returns is None else read_type(options.returns)
        agent = options.agent(say)
    except CellwrightError as error:  # a module that is gone: the others are carried on all the same
        return Recovered(session=turn.session, task=turn.task, error=error)
    journal: Store = open_store(store, make=False)
    try:
        return await carry_on_one(agent, journal, turn.session, returns=returns, on_event=hear)
    finally:
        journal.close()
        await agent.close()


def short_task(turn: RecoverableTurn) -> str:
    """The task in short, for one line on a terminal."""
    return cut(one_line(harmless(turn.task)), 60)


def answered(done: Recovered) -> str:
    """What came of it, for a terminal."""
    from cellwright.cli.answers import answer_text

    if done.error is not None:
        return harmless(in_options(str(done.error)))
    return harmless(answer_text(done.value).strip()) or "done"
