"""`cellwright sessions export` and `import`: a session as one file, and back."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import PLATFORM, ended, exit_on_error, in_store, say
from cellwright.cli.options import AGENTS_DB, JsonObject, option
from cellwright.short_texts import counted

if TYPE_CHECKING:
    from cellwright.sessions import ImportedSession, Sessions

HELD = 64 << 20  # bytes of an import from a pipe that are kept in memory


class Form(StrEnum):
    """What is written: all of a session, to be imported; or its turns as messages."""

    session = "session"
    chat = "chat"


def export(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Its id, or its branch's name.")],
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; left out, or -: stdout.")] = "-",
    format: Annotated[Form, option("All of it; or its turns as messages for fine-tuning.")] = Form.session,
    store: Annotated[str | None, option("Where sessions are kept.", metavar="URL")] = None,
) -> None:
    """Write a session to one readable file of JSON lines, which can be imported elsewhere, replayed and resumed.

    It holds arguments and results in clear, and files. Exit codes: 0, 2 wrong usage or no such session, 4 it cannot be
    written.
    """
    with exit_on_error():
        try:
            in_store(store, session, lambda sessions, id: _export(sessions, id, file, format))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ended(PLATFORM, f"cannot write {file}: {error.strerror or error}") from None


def _export(sessions: Sessions, id: str, file: str, format: Form) -> None:
    if format == Form.chat:
        lines = [json_text(line, ensure_ascii=True) + "\n" for line in sessions.chat(id)]
        if file == "-":
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        else:
            Path(file).write_text("".join(lines), encoding="utf-8")
            print(f"{file}: {counted(len(lines), 'turn')}", file=sys.stderr)
        if not lines:
            say("no turn of it asked a model")
        return
    if file == "-":
        exported = sessions.export(id, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        _warn(exported.with_keys)
        return
    exported = sessions.export(id, file)
    parents = len(exported.sessions) - 1
    forked = f", with {counted(parents, 'session')} it was forked from" if parents else ""
    size = f"{exported.entries:,} entries, {exported.blobs:,} blobs, {exported.bytes:,} bytes"
    print(f"{file}: {size}{forked}", file=sys.stderr)
    _warn(exported.with_keys)


def _warn(with_keys: int) -> None:
    if with_keys:
        places = counted(with_keys, "place")
        say(f"in {places} it has what looks like a key, written as it is, so that the session replays")


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `export` wrote; -: stdin.")],
    id: Annotated[str | None, option("Keep it under this id.", metavar="ID")] = None,
    store: Annotated[str, option("Where to keep it; made if it is not there.", metavar="URL")] = AGENTS_DB,
    as_json: JsonObject = False,
) -> None:
    """Take in an exported session, all of it or nothing, and print its id: its own, or a new one where that is taken.

    The file may be a stranger's: it is checked before anything is written, and its code runs nowhere but in the jail.
    Exit codes: 0, 2 wrong usage or no exported session, 4 it cannot be kept.
    """
    with exit_on_error("cancelled; nothing was imported"):
        try:
            imported = _import(file, id, store)
        except OSError as error:
            raise ended(PLATFORM, f"cannot read {file}: {error.strerror or error}") from None
    if as_json:
        claims = {"undoable": imported.undoable, "revivable": imported.revivable, "granted": imported.granted}
        told = {"session": imported.session, "sessions": imported.sessions, "entries": imported.entries}
        print(json_text(told | claims))
        return
    print(imported.session)
    others = [new for new in imported.sessions.values() if new != imported.session]
    forked = f", and what it was forked from: {', '.join(others)}" if others else ""
    entries = counted(imported.entries, "entry").replace("entrys", "entries")
    say(f"imported {imported.session}: {entries}, {counted(imported.blobs, 'blob')}{forked}")
    if imported.undoable or imported.revivable or imported.granted:
        calls, objects = counted(imported.undoable, "call"), counted(imported.revivable, "answer")
        say(f"by its own word {calls} to undo and {objects} with objects to bring back: each needs a person's yes here")
        say(f"{counted(imported.granted, 'decision')} in it that said yes: good for nothing here")


def _import(file: str, id: str | None, store: str) -> ImportedSession:
    from cellwright.sessions import Sessions
    from cellwright.store import open_store

    with (
        closing(open_store(store)) as journal,
        sys.stdin.buffer if file == "-" else Path(file).open("rb") as source,
    ):
        sessions = Sessions(journal)
        if source.seekable():
            return sessions.import_(source, id)
        with tempfile.SpooledTemporaryFile(max_size=HELD) as spooled:  # it is read twice
            shutil.copyfileobj(source, spooled)
            spooled.seek(0)
            return sessions.import_(spooled, id)  # pyright: ignore[reportArgumentType] - as much of a file as is needed
