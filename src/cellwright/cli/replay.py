"""`cellwright replay`: run a recorded session again with nothing behind its doors, and say whether it is the same."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import FAILED, PLATFORM, exit_on_error
from cellwright.cli.options import AGENTS_DB, JsonObject, option
from cellwright.short_texts import printable

if TYPE_CHECKING:
    from cellwright.journal import Repeated
    from cellwright.store import CellRow


def replay(
    session: Annotated[str, typer.Argument(help="The session's id. Left out: the ids that are there.")] = "",
    store: Annotated[
        str, typer.Option("--store", help='Where it is journaled: a file, or "sqlite:///file.db".', show_default=True)
    ] = AGENTS_DB,
    packages: Annotated[str, option("The venv that guest code imports from, as when it was recorded.")] = "",
    as_json: JsonObject = False,
) -> None:
    """Run a recorded session again, offline: every call is answered from its journal, and nothing is written.

    Exit codes: 0 the same, 1 different, 2 wrong usage, 4 this machine cannot run it, or its guests died.
    """
    with exit_on_error():
        if not session:
            _list(store, as_json)
            return
        repeated = asyncio.run(_replay(session, store, packages, as_json))
    print(json_text(asdict(repeated) | {"same": repeated.same}, indent=2) if as_json else repeated)
    if not repeated.same:
        raise typer.Exit(PLATFORM if repeated.died else FAILED)


async def _replay(session: str, store: str, packages: str, quiet: bool) -> Repeated:
    from cellwright.runtime import replay
    from cellwright.sessions import Sessions

    shows = sys.stderr.isatty() and not quiet
    with Sessions(store) as sessions:
        session = sessions.resolve(session)
    repeated = await replay(session, store=store, packages=packages or None, on_cell=_progress if shows else None)
    if shows:
        print("\r\x1b[K", end="", file=sys.stderr)
    return repeated


def _progress(cell: CellRow) -> None:
    print(f"\r\x1b[Kcell {cell.number}", end="", file=sys.stderr, flush=True)


def _list(store: str, as_json: bool) -> None:
    from cellwright.store import open_store, shown_url

    with closing(open_store(store, make=False)) as journal:
        sessions = [(id, len(journal.cells(id))) for id in journal.sessions()]
    if as_json:
        print(json_text([{"session": id, "cells": cells} for id, cells in sessions], indent=2))
        return
    for id, cells in sessions:
        print(f"{printable(id)}  {cells} cell{'' if cells == 1 else 's'}")
    if not sessions:
        print(f"no sessions in {shown_url(store)}", file=sys.stderr)
