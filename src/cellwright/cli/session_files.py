"""`cellwright sessions export` and `import`: a session as one file, and back."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cellwright.cli.given import CANCELLED, PIPE_CLOSED, PLATFORM, ended, in_options
from cellwright.cli.session_stores import in_store
from cellwright.cli.wishes import AGENTS_DB, code_of

if TYPE_CHECKING:
    from cellwright.sessions import Imported, Sessions

HELD = 64 << 20  # bytes of an import from a pipe that are kept in memory


class Form(StrEnum):
    """What is written: all of a session, to be imported; or its turns as messages."""

    session = "session"
    chat = "chat"


def export(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Its id, or its branch's name.")],
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; left out, or -: stdout.")] = "-",
    format: Annotated[Form, typer.Option(help="All of it; or its turns as messages for fine-tuning.")] = Form.session,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Where sessions are kept.")] = None,
) -> None:
    """Write a session to one readable file of JSON lines, which can be imported elsewhere, replayed and resumed.

    It holds arguments and results in clear, and files. Exit codes: 0, 2 wrong usage or no such session, 4 it cannot be
    written.
    """
    from cellwright.errors import CellwrightError
    from cellwright.journal import printable

    try:
        in_store(store, session, lambda held, id: _export(held, id, file, format))
    except CellwrightError as error:
        raise ended(code_of(error), in_options(printable(str(error)))) from None
    except BrokenPipeError:
        raise typer.Exit(PIPE_CLOSED) from None
    except OSError as error:
        raise ended(PLATFORM, f"cannot write {file}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled") from None


def _export(held: Sessions, id: str, file: str, format: Form) -> None:
    from cellwright.journal import counted

    if format == Form.chat:
        lines = [json.dumps(line, ensure_ascii=True) + "\n" for line in held.chat(id)]
        if file == "-":
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        else:
            Path(file).write_text("".join(lines), encoding="utf-8")
            print(f"{file}: {counted(len(lines), 'turn')}", file=sys.stderr)
        if not lines:
            print("cellwright: no turn of it asked a model", file=sys.stderr)
        return
    if file == "-":
        held.export(id, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    told = held.export(id, file)
    forked = f", with {counted(len(told.sessions) - 1, 'session')} it was forked from" if len(told.sessions) > 1 else ""
    print(f"{file}: {told.entries:,} entries, {told.blobs:,} blobs, {told.bytes:,} bytes{forked}", file=sys.stderr)


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `export` wrote; -: stdin.")],
    id: Annotated[str | None, typer.Option(metavar="ID", help="Keep it under this id.")] = None,
    store: Annotated[str, typer.Option(metavar="URL", help="Where to keep it; made if it is not there.")] = AGENTS_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of words.")] = False,
) -> None:
    """Take in an exported session, all of it or nothing, and print its id: its own, or a new one where that is taken.

    The file may be a stranger's: it is checked before anything is written, and its code runs nowhere but in the jail.
    Exit codes: 0, 2 wrong usage or no exported session, 4 it cannot be kept.
    """
    from cellwright.errors import CellwrightError
    from cellwright.journal import counted, printable

    try:
        told = _import(file, id, store)
    except CellwrightError as error:
        raise ended(code_of(error), in_options(printable(str(error)))) from None
    except OSError as error:
        raise ended(PLATFORM, f"cannot read {file}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        raise ended(CANCELLED, "cancelled; nothing was imported") from None
    if as_json:
        print(json.dumps({"session": told.session, "sessions": told.sessions, "entries": told.entries}))
        return
    print(told.session)
    others = [new for new in told.sessions.values() if new != told.session]
    forked = f", and what it was forked from: {', '.join(others)}" if others else ""
    said = f"{counted(told.entries, 'entry').replace('entrys', 'entries')}, {counted(told.blobs, 'blob')}{forked}"
    print(f"cellwright: imported {told.session}: {said}", file=sys.stderr)


def _import(file: str, id: str | None, store: str) -> Imported:
    from cellwright.sessions import Sessions
    from cellwright.store import open_store

    opened = open_store(store)
    try:
        held = Sessions(opened)
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as source:
            if source.seekable():
                return held.import_(source, id)
            with tempfile.SpooledTemporaryFile(max_size=HELD) as spooled:  # it is read twice
                shutil.copyfileobj(source, spooled)
                spooled.seek(0)
                return held.import_(spooled, id)  # pyright: ignore[reportArgumentType] - as much of a file as is needed
    finally:
        opened.close()
