"""`cellwright sessions`: the sessions of a store, listed, shown, searched, forked, rewound, named and removed.

What is read comes from models, guests and strangers' files: it is shown without control characters.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellwright.cli.given import CANCELLED, ended
from cellwright.cli.session_files import export, import_
from cellwright.cli.session_stores import in_store, opened, places, told
from cellwright.cli.wishes import AGENTS_DB

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
    str | None,
    typer.Option("--store", metavar="URL", help=f"Where they are kept. Left out: {AGENTS_DB}, and those of `chat`."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON in place of words.")]
CellOption = Annotated[int | None, typer.Option("--at", metavar="CELL", help="After this cell.")]
EntryOption = Annotated[
    int | None, typer.Option("--entry", metavar="N", help="When this was the last entry; `tree` shows the numbers.")
]


@sessions.command("list", epilog="Example: cellwright sessions list --state waiting")
def list_(
    state: Annotated[str, typer.Option(metavar="STATE", help="new, running, waiting, done, failed or cancelled.")] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="Of the agent of that name.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many, the latest first.")] = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the latest first; one whose process died under it is marked.

    Exit codes: 0, 2 wrong usage, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import listed, summary_json

    with told():
        found: list[tuple[str, Any]] = []
        for place in places(store):
            with opened(place) as held:
                found += [(place, one) for one in held.list(state=_state(state), agent=agent, limit=limit + 1)]
        found.sort(key=lambda one: one[1].updated, reverse=True)
        if as_json:
            print(json.dumps([summary_json(one) | {"store": place} for place, one in found[:limit]], indent=2))
        else:
            listed([one for _, one in found[:limit]])
        if len(found) > limit:
            print(f"cellwright: there are more; --limit {limit * 2} shows them", file=sys.stderr)
        elif not found and not as_json:
            print("cellwright: there are no such sessions", file=sys.stderr)


def _state(state: str) -> str:
    from cellwright.errors import UsageError

    known = ("", "new", "running", "waiting", "done", "failed", "cancelled")
    if state not in known:
        raise UsageError(f"--state {state}: give one of {', '.join(known[1:])}")
    return state


@sessions.command("show", epilog="Example: cellwright sessions show s1 --limit 3")
def show(
    session: SessionArgument,
    limit: Annotated[int, typer.Option(min=1, help="How many turns, the latest.")] = 50,
    upto: Annotated[int | None, typer.Option(metavar="N", help="As it was when this was the last entry.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Code and output whole, however long.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a session went, turn by turn: task, code, output, calls, questions and who decided, files.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import history_json, history_page

    with told():
        history = in_store(store, session, lambda held, id: held.show(id, upto=upto))
        if as_json:
            print(json.dumps(history_json(history), indent=2, ensure_ascii=True))
        else:
            history_page(history, limit=limit, full=full)


@sessions.command("tree", epilog="Example: cellwright sessions tree s1")
def tree(
    session: SessionArgument,
    limit: Annotated[int, typer.Option(min=1, help="How many turns or cells of each session, the latest.")] = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the tree that a session belongs to: turns, cells, forks, children, what rewinds left, entries to fork at.

    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    from cellwright.cli.session_trees import drawn, tree_json

    with told():
        id, root = in_store(store, session, lambda held, id: (id, held.tree(id)))
        if as_json:
            print(json.dumps(tree_json(root), indent=2))
        else:
            drawn(root, marked=id, limit=limit)


@sessions.command("search", epilog="Example: cellwright sessions search 'refund policy' --kind code")
def search(
    query: Annotated[str, typer.Argument(help='Words; "several in quotes" stand together, a star is any ending.')],
    session: Annotated[str, typer.Option(metavar="SESSION", help="In this session alone.")] = "",
    branch: Annotated[str, typer.Option(metavar="SESSION", help="In it and what it was forked from.")] = "",
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="prompt, reply, code, output, error, file; again for more."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the best first.")] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search what was asked, said, run and printed, in all sessions, in one, or in one branch.

    Exit codes: 0 there are hits, 1 there are none, 2 wrong usage, 4 this machine cannot do it.
    """
    from cellwright.cli.session_pages import KINDS, hits_page
    from cellwright.errors import UsageError

    with told():
        if wrong := [one for one in kind or () if one not in KINDS]:
            raise UsageError(f"--kind {wrong[0]}: give one of {', '.join(KINDS)}")
        if session and branch:
            raise UsageError("--session and --branch: give one of them")
        within: dict[str, str] = {"session": session} if session else {"branch": branch} if branch else {}

        def work(held: Sessions, id: str) -> Any:
            return held.search(query, **dict.fromkeys(within, id), kinds=kind or (), limit=limit)

        if within:
            found = list(in_store(store, session or branch, work))
        else:
            found = [hit for place in places(store) for hit in _searched(place, query, kind or [], limit)]
            found.sort(key=lambda hit: hit.score, reverse=True)
        hits_page(found[:limit], as_json=as_json)
        if not found:
            print("cellwright: nothing has these words", file=sys.stderr)
            raise typer.Exit(1)


def _searched(place: str, query: str, kinds: list[str], limit: int) -> list[Any]:
    with opened(place) as held:
        return list(held.search(query, kinds=kinds, limit=limit))


@sessions.command("fork", epilog="Example: cellwright sessions fork s1 --entry 42 --name try-2")
def fork(
    session: SessionArgument,
    at: CellOption = None,
    entry: EntryOption = None,
    name: Annotated[str, typer.Option(help="A name for the new branch.")] = "",
    id: Annotated[str | None, typer.Option(metavar="ID", help="Its id. Left out: a new one.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a session that begins as another was: after a cell, at an entry, or as it is now. Prints its id.

    Nothing is copied and nothing is run; `cellwright chat --session ID` or `Runtime.resume` opens it.
    Exit codes: 0, 2 wrong usage or no such session, 4 this machine cannot do it.
    """
    with told():
        made = in_store(store, session, lambda held, old: held.fork(old, at=at, entry=entry, name=name, id=id))
        print(json.dumps({"session": made, "name": name}) if as_json else made)


@sessions.command("rewind", epilog="Example: cellwright sessions rewind s1 --at 3")
def rewind(
    session: SessionArgument,
    at: CellOption = None,
    entry: EntryOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a session go on from an earlier moment. Its files are put back; what it did outside stays done.

    What came after stays in its history, and can be forked or rewound to.
    Exit codes: 0, 2 wrong usage, no such session, or somebody has it open, 4 this machine cannot do it.
    """
    with told():
        done = in_store(store, session, lambda held, id: held.rewind(id, to=at, entry=entry))
        if as_json:
            files = [{"path": one.path, "what": one.what} for one in done.files]
            print(json.dumps({"to": done.to, "cells": done.cells, "back": done.back, "files": files}))
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
    with told():
        in_store(store, session, lambda held, id: held.rename(id, name))


@sessions.command("rm", epilog="Example: cellwright sessions rm s1 --whole --yes")
def rm(
    session: SessionArgument,
    whole: Annotated[bool, typer.Option("--whole", help="Also its forks and children, and theirs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a session with its files, and say what was removed. In a terminal it asks first.

    Exit codes: 0, 2 wrong usage, no such session, somebody has it open, or others hang on it, 4 this machine cannot do
    it, 130 not removed.
    """
    from dataclasses import asdict

    from cellwright.cli.session_pages import removed_words

    with told():

        def work(held: Sessions, id: str) -> Any:
            if not yes:
                _ask(id, [one.id for one in held.below(id)] if whole else [])
            return held.remove(id, whole=whole)

        done = in_store(store, session, work)
        print(json.dumps(asdict(done)) if as_json else removed_words(done))


def _ask(id: str, below: list[str]) -> None:
    from cellwright.errors import UsageError
    from cellwright.journal import counted

    if not sys.stdin.isatty():
        raise UsageError(f"removing session {id} needs a yes: give --yes")
    more = f" and {counted(len(below), 'session')} below it" if below else ""
    print(f"Remove session {id}{more}, with its files? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ended(CANCELLED, "nothing was removed")


sessions.command("export", epilog="Example: cellwright sessions export s1 s1.jsonl")(export)
sessions.command("import", epilog="Example: cellwright sessions import s1.jsonl --store sqlite:///other.db")(import_)


# the store
