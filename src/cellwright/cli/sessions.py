"""`cellwright sessions`: the sessions of a store, listed, shown, searched, forked, rewound, named and removed.

What is read comes from models, guests and strangers' files: it is shown without control characters.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import CANCELLED, ended, exit_on_error, in_store, opened, say, stores_or_default
from cellwright.cli.options import AGENTS_DB, Json, option
from cellwright.cli.session_export import export, import_
from cellwright.errors import UsageError
from cellwright.short_texts import counted

if TYPE_CHECKING:
    from cellwright.sessions import Sessions

sessions = typer.Typer(
    help="List, show, search, fork, rewind, name, export, import and remove sessions.",
    no_args_is_help=True,
    epilog="Example: cellwright sessions tree s1 · cellwright sessions fork s1 --entry 42 --name try-2",
)

SessionArgument = Annotated[
    str, typer.Argument(metavar="SESSION", help="Its id, four letters of it or more, or its branch's name.")
]
StoreOption = Annotated[
    str | None, option(f"Where they are kept. Left out: {AGENTS_DB}, and those of `chat`.", "--store", metavar="URL")
]
CellOption = Annotated[int | None, option("After this cell.", "--at", metavar="CELL")]
EntryOption = Annotated[
    int | None, option("When this was the last entry; `tree` shows the numbers.", "--entry", metavar="N")
]
STATES = ("new", "running", "waiting", "done", "failed", "cancelled")


@sessions.command("list", epilog="Example: cellwright sessions list --state waiting")
def list_(
    state: Annotated[str, option("new, running, waiting, done, failed or cancelled.", metavar="STATE")] = "",
    agent: Annotated[str, option("Of the agent of that name.", metavar="NAME")] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many, the latest first.")] = 50,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """List sessions, the latest first; one whose process died under it is marked.

    Exit codes: 0, 2 wrong usage, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import listed, summary_json

    with exit_on_error():
        if state and state not in STATES:
            raise UsageError(f"--state {state}: give one of {', '.join(STATES)}")
        rows: list[tuple[str, Any]] = []
        for url in stores_or_default(store):
            with opened(url) as in_it:
                rows += [(url, summary) for summary in in_it.list(state=state, agent=agent, limit=limit + 1)]
        rows.sort(key=lambda row: row[1].updated, reverse=True)
        if as_json:
            print(json_text([summary_json(summary) | {"store": url} for url, summary in rows[:limit]], indent=2))
        else:
            listed([summary for _, summary in rows[:limit]])
        if len(rows) > limit:
            say(f"there are more; --limit {limit * 2} shows them")
        elif not rows and not as_json:
            say("there are no such sessions")


@sessions.command("show", epilog="Example: cellwright sessions show s1 --limit 3")
def show(
    session: SessionArgument,
    limit: Annotated[int, typer.Option(min=1, help="How many turns, the latest.")] = 50,
    upto: Annotated[int | None, option("As it was when this was the last entry.", metavar="N")] = None,
    full: Annotated[bool, option("Code and output whole, however long.", "--full")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Show how a session went, turn by turn: task, code, output, calls, questions and who decided, files.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import history_json, history_page

    with exit_on_error():
        history = in_store(store, session, lambda sessions, id: sessions.show(id, upto=upto))
        if as_json:
            print(json_text(history_json(history), indent=2, ensure_ascii=True))
        else:
            history_page(history, limit=limit, full=full)


@sessions.command("tree", epilog="Example: cellwright sessions tree s1")
def tree(
    session: SessionArgument,
    limit: Annotated[int, typer.Option(min=1, help="How many turns or cells of each session, the latest.")] = 50,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Draw the tree that a session belongs to: turns, cells, forks, children, what rewinds left, entries to fork at.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import drawn, tree_json

    with exit_on_error():
        id, root = in_store(store, session, lambda sessions, id: (id, sessions.tree(id)))
        if as_json:
            print(json_text(tree_json(root), indent=2))
        else:
            drawn(root, marked=id, limit=limit)


@sessions.command("search", epilog="Example: cellwright sessions search 'refund policy' --kind code")
def search(
    query: Annotated[str, typer.Argument(help='Words; "several in quotes" stand together, a star is any ending.')],
    session: Annotated[str, option("In this session alone.", metavar="SESSION")] = "",
    branch: Annotated[str, option("In it and what it was forked from.", metavar="SESSION")] = "",
    kind: Annotated[
        list[str] | None, option("prompt, reply, code, output, error, file; again for more.", metavar="KIND")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the best first.")] = 20,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Search what was asked, said, run and printed, in all sessions, in one, or in one branch.

    Exit codes: 0 there are hits, 1 there are none, 2 wrong usage, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import KINDS, hits_page

    with exit_on_error():
        kinds = kind or []
        if wrong := [name for name in kinds if name not in KINDS]:
            raise UsageError(f"--kind {wrong[0]}: give one of {', '.join(KINDS)}")
        if session and branch:
            raise UsageError("--session and --branch: give one of them")
        if session or branch:
            within = "session" if session else "branch"

            def work(sessions: Sessions, id: str) -> list[Any]:
                return list(sessions.search(query, **{within: id}, kinds=kinds, limit=limit))

            hits = in_store(store, session or branch, work)
        else:
            hits = [hit for url in stores_or_default(store) for hit in _searched(url, query, kinds, limit)]
            hits.sort(key=lambda hit: hit.score, reverse=True)
        hits_page(hits[:limit], as_json=as_json)
        if not hits:
            say("nothing has these words")
            raise typer.Exit(1)


def _searched(url: str, query: str, kinds: list[str], limit: int) -> list[Any]:
    with opened(url) as sessions:
        return list(sessions.search(query, kinds=kinds, limit=limit))


@sessions.command("fork", epilog="Example: cellwright sessions fork s1 --entry 42 --name try-2")
def fork(
    session: SessionArgument,
    at: CellOption = None,
    entry: EntryOption = None,
    name: Annotated[str, option("A name for the new branch.")] = "",
    id: Annotated[str | None, option("Its id. Left out: a new one.", metavar="ID")] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Make a session that begins as another was: after a cell, at an entry, or as it is now. Prints its id.

    Nothing is copied and nothing is run; `cellwright chat --session ID` or `Runtime.resume` opens it.
    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    with exit_on_error():
        made = in_store(store, session, lambda sessions, old: sessions.fork(old, at=at, entry=entry, name=name, id=id))
        print(json_text({"session": made, "name": name}) if as_json else made)


@sessions.command("rewind", epilog="Example: cellwright sessions rewind s1 --at 3")
def rewind(
    session: SessionArgument,
    at: CellOption = None,
    entry: EntryOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Let a session go on from an earlier moment. Its files are put back; what it did outside stays done.

    What came after stays in its history, and can be forked or rewound to.
    Exit codes: 0, 2 wrong usage, no such session, or somebody has it open, 4 this machine cannot do it.
    """
    with exit_on_error():
        done = in_store(store, session, lambda sessions, id: sessions.rewind(id, to=at, entry=entry))
        if as_json:
            files = [{"path": change.path, "what": change.what} for change in done.files]
            print(json_text({"to": done.to, "cells": done.cells, "back": done.back, "files": files}))
        else:
            print(done)


@sessions.command("name", epilog="Example: cellwright sessions name 3f2a try-2")
def name(
    session: SessionArgument,
    name: Annotated[str, typer.Argument(help="Its new name, of at most 64 letters.")],
    store: StoreOption = None,
) -> None:
    """Give a session's branch a name, by which it can be found.

    Exit codes: 0, 2 wrong usage, no such session, or somebody has it open, 4 this machine cannot do it.
    """
    with exit_on_error():
        in_store(store, session, lambda sessions, id: sessions.rename(id, name))


@sessions.command("rm", epilog="Example: cellwright sessions rm s1 --whole --yes")
def rm(
    session: SessionArgument,
    whole: Annotated[bool, option("Also its forks and children, and theirs.", "--whole")] = False,
    yes: Annotated[bool, option("Do not ask.", "--yes", "-y")] = False,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Remove a session with its files, and say what was removed. In a terminal it asks first.

    Exit codes: 0, 2 wrong usage, no such session, somebody has it open, or others hang on it, 4 this machine cannot do
    it, 130 not removed.
    """
    from dataclasses import asdict

    from cellwright.cli.session_pages import removed_words

    with exit_on_error():

        def work(sessions: Sessions, id: str) -> Any:
            if not yes:
                _ask(id, [one.id for one in sessions.below(id)] if whole else [])
            return sessions.remove(id, whole=whole)

        done = in_store(store, session, work)
        print(json_text(asdict(done)) if as_json else removed_words(done))


def _ask(id: str, below: list[str]) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"removing session {id} needs a yes: give --yes")
    more = f" and {counted(len(below), 'session')} below it" if below else ""
    print(f"Remove session {id}{more}, with its files? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ended(CANCELLED, "nothing was removed")


sessions.command("export", epilog="Example: cellwright sessions export s1 s1.jsonl")(export)
sessions.command("import", epilog="Example: cellwright sessions import s1.jsonl --store sqlite:///other.db")(import_)
