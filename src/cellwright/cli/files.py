"""`cellwright files`: the files of a session's workspace, listed, compared, put back, handed in and taken out.

No guest is started. What changes the history of a session needs that nobody has it open.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import USAGE, ended, exit_on_error, in_store, say
from cellwright.cli.options import Json, option
from cellwright.cli.sessions import SessionArgument, StoreOption
from cellwright.short_texts import counted, printable

if TYPE_CHECKING:
    from cellwright.journal import FileChange, FileDiff
    from cellwright.sandboxes import FileEntry

SIGNS = {"added": "A", "changed": "M", "removed": "D"}

files = typer.Typer(
    help="List and compare a session's files, put them back, hand files in and take them out.",
    no_args_is_help=True,
    epilog="Example: cellwright files diff s1 · cellwright files take s1 out/report.csv",
)


@files.command("list", epilog="Example: cellwright files list s1 --at 3")
def list_(
    session: SessionArgument,
    at: Annotated[int | None, option("As they were after this cell; 0: before all.", metavar="CELL")] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """List the files of a session as they are, or as they were after a cell.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    with exit_on_error():
        entries: Sequence[FileEntry] = in_store(store, session, lambda sessions, id: sessions.files(id).list(at))
    if as_json:
        print(json_text([{"path": entry.path, "size": entry.size} for entry in entries], indent=2))
        return
    for entry in entries:
        print(f"{entry.size:>12,}  {printable(entry.path)}")


@files.command("diff", epilog="Example: cellwright files diff s1 --since 3")
def diff(
    session: SessionArgument,
    since: Annotated[int | None, option("Since this cell ended; 0: since the beginning.", metavar="CELL")] = None,
    names: Annotated[bool, option("The paths alone.", "--names")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Show what the last cell changed in the files, and whoever came after it; or all since a cell.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    with exit_on_error():
        changes: Sequence[FileDiff] = in_store(
            store, session, lambda sessions, id: sessions.files(id).diff(since, texts=not names)
        )
    if as_json:
        print(json_text([asdict(change) for change in changes], indent=2))
        return
    for change in changes:
        _print_path(change)
        if change.text:
            print(printable(change.text))


@files.command("undo", epilog="Example: cellwright files undo s1")
def undo(session: SessionArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Put the files back as they were before the last cell. Names, and what was done outside, stay.

    Exit codes: 0, 2 wrong usage, no such session, or somebody has it open, 4 this machine cannot do it.
    """
    with exit_on_error():
        _tell(in_store(store, session, lambda sessions, id: sessions.files(id).undo()), as_json)


@files.command("restore", epilog="Example: cellwright files restore s1 --at 3")
def restore(
    session: SessionArgument,
    at: Annotated[
        int | None, option("As they were after this cell; 0: before all. Left out: the last.", metavar="CELL")
    ] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Put the files back as they were after a cell; a workspace that is gone, too.

    Exit codes: 0, 2 wrong usage, no such session, or somebody has it open, 4 this machine cannot do it.
    """
    with exit_on_error():
        _tell(in_store(store, session, lambda sessions, id: sessions.files(id).restore(at)), as_json)


@files.command("put", epilog="Example: cellwright files put s1 sales.csv in/sales.csv")
def put(
    session: SessionArgument,
    local: Annotated[Path, typer.Argument(help="A file of this machine.")],
    path: Annotated[str, typer.Argument(help="Its path in the workspace; its own name when left out.")] = "",
    store: StoreOption = None,
) -> None:
    """Hand a file in: copy it into the session's workspace, within its quota.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    with exit_on_error():
        in_store(store, session, lambda sessions, id: sessions.files(id).put(local, path or local.name))


@files.command("take", epilog="Example: cellwright files take s1 out/report.csv report.csv")
def take(
    session: SessionArgument,
    path: Annotated[str, typer.Argument(help="A file of the workspace.")],
    local: Annotated[Path | None, typer.Argument(help="Where to; here, under its own name, when left out.")] = None,
    store: StoreOption = None,
) -> None:
    """Take a file out: copy it from the session's workspace to this machine.

    Exit codes: 0, 2 wrong usage, no such session or no such file, 4 this machine cannot do it.
    """
    with exit_on_error(), _found():
        in_store(store, session, lambda sessions, id: sessions.files(id).take(path, local or Path(Path(path).name)))


@contextmanager
def _found() -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        words = f"{printable(str(error.filename))} is not in the workspace; `cellwright files list` shows what is"
        raise ended(USAGE, words) from None


def _tell(changes: Sequence[FileChange], as_json: bool) -> None:
    if as_json:
        print(json_text([asdict(change) for change in changes], indent=2))
        return
    for change in changes:
        _print_path(change)
    say(f"{counted(len(changes), 'path')} put back")


def _print_path(change: FileChange | FileDiff) -> None:
    print(f"{SIGNS[change.what]} {printable(change.path)}{'/' if change.kind == 'dir' else ''}")
