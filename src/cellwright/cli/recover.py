"""`cellwright recover`: carries on the turns whose process died, each as it was opened."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.cut_off import CutOff, answered, carry_on, find, told
from cellwright.cli.given import CANCELLED, FAILED, ended, in_options
from cellwright.cli.wishes import AGENTS_DB, code_of

if TYPE_CHECKING:
    from cellwright.agent import Recovered


def recover(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="These sessions. Left out: all that are found.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help=f"Where sessions are kept. Left out: those of `chat`, and {AGENTS_DB} if it is here."
        ),
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="Say what there is, and do nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each turn.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")] = False,
) -> None:
    """Carry on turns that were cut off: their process died, or what they waited for is decided.

    A turn goes on where it was: no reply that is there is asked for again, no call that was made is made again. It is
    opened with the options of the command that set its task, in the directory that it was set in.

    Exit codes: 0 all came to an answer, 1 one did not, 2 wrong usage, 4 this machine cannot do it, 130 cancelled.
    """
    from cellwright.errors import CellwrightError

    try:
        found = [(place, one) for place in stores(store) for one in find(place)]
        chosen = _chosen(found, ids or [])
        if only_list:
            _list(chosen, as_json)
            return
        failed = asyncio.run(_all(chosen, as_json=as_json, quiet=quiet))
    except CellwrightError as error:
        raise ended(code_of(error), in_options(str(error))) from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled; the others are left as they were") from None
    if failed:
        raise typer.Exit(FAILED)


def stores(given: str | None) -> list[str]:
    """The stores that a command looks into that was given this one, or none."""
    from cellwright.settings import Settings

    if given is not None:
        return [given]
    chats = Settings.from_environment().state_dir / "sessions.db"
    places = [f"sqlite:///{chats}", AGENTS_DB]
    return [place for place in places if Path(place.removeprefix("sqlite:///")).is_file()]


def _chosen(found: list[tuple[str, CutOff]], ids: list[str]) -> list[tuple[str, CutOff]]:
    from cellwright.errors import UsageError

    known = {one.session: (place, one) for place, one in found}
    for id in ids:
        if id not in known:
            raise UsageError(f"session {id!r} has no turn that was cut off; `cellwright recover --list` shows what has")
        if known[id][1].obstacle:
            raise UsageError(f"session {id!r}: {known[id][1].obstacle}")
    return [known[id] for id in dict.fromkeys(ids)] if ids else found


def _list(found: list[tuple[str, CutOff]], as_json: bool) -> None:
    if as_json:
        for place, one in found:
            print(json.dumps(_described(place, one)))
        return
    for _, one in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at))
        print(f"{one.session}  {when}  {told(one)}{f'  ({one.obstacle})' if one.obstacle else ''}")
    if not found:
        print("cellwright: no turn was cut off", file=sys.stderr)


def _described(place: str, one: CutOff) -> dict[str, Any]:
    return {
        "session": one.session,
        "store": place,
        "task": one.task,
        "set": one.at,
        "directory": None if one.opened is None else one.opened.directory,
        "command": None if one.opened is None else one.opened.command,
        "obstacle": one.obstacle or None,
    }


async def _all(found: list[tuple[str, CutOff]], *, as_json: bool, quiet: bool) -> int:
    """One after the other; gives how many came to nothing."""
    from cellwright.cli.page import Page
    from cellwright.cli.showing import Showing

    page = Page(sys.stderr)
    failed = 0

    def say(line: str) -> None:
        if not quiet:
            page.line(line, "dim")

    for place, one in found:
        if one.obstacle:
            say(f"cellwright: left alone: session {one.session}: {one.obstacle}")
            continue
        say(f"cellwright: carrying on session {one.session}: {told(one)}")
        showing = Showing(page, text=False)
        done = await carry_on(place, one, None if quiet else showing.hear, say)
        showing.end()
        if done is None:
            say(f"cellwright: session {one.session}: another process has it by now")
            continue
        failed += done.error is not None
        _tell(place, one, done, as_json)
    if not found:
        say("cellwright: no turn was cut off")
    return failed


def _tell(place: str, one: CutOff, done: Recovered, as_json: bool) -> None:
    if as_json:
        from cellwright.cli.answers import told as plain

        error = None if done.error is None else {"type": type(done.error).__name__, "text": str(done.error)}
        steps = 0 if done.result is None else done.result.steps
        made = _described(place, one) | {"value": plain(done.value), "error": error, "steps": steps}
        print(json.dumps(made, ensure_ascii=False), flush=True)
    elif done.error is not None:
        print(f"cellwright: session {one.session}: {answered(done)}", file=sys.stderr, flush=True)
    else:
        print(f"{one.session}: {answered(done)}", flush=True)
