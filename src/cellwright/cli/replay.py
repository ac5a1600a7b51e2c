"""`cellwright replay`: run a recorded session again with nothing behind its doors, and say whether it is the same."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cellwright.journal import Repeated
    from cellwright.store import CellRow

DIFFERENT = 1
WRONG = 2
NOT_ENOUGH = 4


def replay(
    session: Annotated[str, typer.Argument(help="The session's id. Left out: the ids that are there.")] = "",
    store: Annotated[
        str, typer.Option("--store", help='Where it is journaled: a file, or "sqlite:///file.db".', show_default=True)
    ] = "sqlite:///agents.db",
    packages: Annotated[
        str, typer.Option("--packages", help="The venv that guest code imports from, as when it was recorded.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of words.")] = False,
) -> None:
    """Run a recorded session again, offline: every call is answered from its journal, and nothing is written.

    Exit codes: 0 the same, 1 different, 2 wrong usage, 4 this machine cannot run it.
    """
    from cellwright.errors import CellwrightError, PlatformError
    from cellwright.journal import printable

    try:
        if not session:
            _list(store, as_json)
            return
        found = asyncio.run(_replay(session, store, packages, as_json))
    except PlatformError as error:
        print(f"cellwright: {printable(str(error))}", file=sys.stderr)
        raise typer.Exit(NOT_ENOUGH) from None
    except CellwrightError as error:
        print(f"cellwright: {printable(str(error))}", file=sys.stderr)
        raise typer.Exit(WRONG) from None
    if as_json:
        print(json.dumps(asdict(found) | {"same": found.same}, indent=2))
    else:
        print(found)
    if not found.same:
        raise typer.Exit(DIFFERENT)


async def _replay(session: str, store: str, packages: str, quiet: bool) -> Repeated:
    from cellwright.runtime import replay
    from cellwright.sessions import Sessions

    shows = sys.stderr.isatty() and not quiet
    with Sessions(store) as sessions:
        session = sessions.resolve(session)
    found = await replay(session, store=store, packages=packages or None, on_cell=_progress if shows else None)
    if shows:
        print("\r\x1b[K", end="", file=sys.stderr)
    return found


def _progress(cell: CellRow) -> None:
    print(f"\r\x1b[Kcell {cell.number}", end="", file=sys.stderr, flush=True)


def _list(store: str, as_json: bool) -> None:
    from cellwright.journal import printable
    from cellwright.store import open_store, shown_url

    journal = open_store(store, make=False)
    try:
        found = [(one, len(journal.cells(one))) for one in journal.sessions()]
    finally:
        journal.close()
    if as_json:
        print(json.dumps([{"session": one, "cells": cells} for one, cells in found], indent=2))
        return
    for one, cells in found:
        print(f"{printable(one)}  {cells} cell{'' if cells == 1 else 's'}")
    if not found:
        print(f"no sessions in {shown_url(store)}", file=sys.stderr)
