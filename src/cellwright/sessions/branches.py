"""Forks, rewinds, names and removal of sessions, in the store alone: no guest is started, no parent is copied.

Whoever opens the session next starts its guest. A parent is only read, so a session that runs can be forked.
"""

from __future__ import annotations

import os
import time
import unicodedata
import uuid
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from cellwright.errors import UsageError
from cellwright.journal import (
    History,
    Rewind,
    Rewound,
    Trees,
    check_id,
    checked_entry,
    claim_session,
    existing_workspace,
    release_session,
    remove_workspace,
    require_files,
    withdraw_of_lost_cells,
)
from cellwright.store import CellRow, Claim, Facts, Forgotten, Note, Reach, Store, StoreReader, Summary, this_process

LONGEST_NAME = 64  # letters
LISTED = 5  # in a message


def fork(
    store: Store,
    session: str,
    *,
    at: int | None = None,
    entry: int | None = None,
    name: str = "",
    id: str | None = None,
) -> str:
    """Make a session that begins as another was: after cell `at`, or at `entry`, or as it is written now."""
    if at is not None and entry is not None:
        raise UsageError("fork: give a cell or an entry, not both")
    last = store.summary(session).entries
    name = check_name(store, name) if name else ""
    story = History(store, session, at, entry=last if entry is None else checked_entry(store, session, entry))
    cell = next((c for c in story.cells if c.number == at), None)
    if at is not None and cell is None and at != story.facts.parent_cell:
        raise UsageError(f"session {session!r} has no cell {at} that came to its end; its last one is {story.last}")
    if cell is not None and cell.undone:  # as it was, before it was undone
        story = History(store, session, at, entry=story.entry_of(cell.number))
    trees, is_past = Trees(store, session), at is not None or entry is not None
    if is_past:
        require_files(store, session, trees, story.tree, story.standing)
    parent, left_at = story.branching
    facts = Facts(
        id=check_id(id) if id is not None else uuid.uuid4().hex[:12],
        created=time.time(),
        seed=os.urandom(32),
        pins=story.facts.pins,
        names=story.first.names,
        made=story.first.made,
        parent=parent,
        parent_cell=story.last,
        parent_entry=left_at,
        agent=story.facts.agent,
    )
    claim = store.create(facts, this_process())
    try:
        if name:
            store.write(claim, Note(kind="named", text=name, at=time.time()))
    finally:
        store.release(claim)
    try:
        if is_past:  # again: until it was there, whoever runs the parent could drop these files
            require_files(store, session, trees, story.tree, story.standing)
    except UsageError:
        store.forget(facts.id)
        raise
    return facts.id


def rewind(store: Store, session: str, *, to: int | None = None, entry: int | None = None, who: str = "") -> Rewound:
    """Let a session go on from an earlier moment. `SessionBusy` while it is open elsewhere."""
    with held(store, session) as claim:
        rewinding = Rewind(store, session, to=to, entry=entry)
        if not rewinding.is_needed:
            return Rewound(to=rewinding.to)
        workspace, trees, then = existing_workspace(store, session), Trees(store, session), rewinding.tree
        require_files(store, session, trees, then, rewinding.to)
        store.write(claim, rewinding.begun())
        now = ""
        if workspace is not None and then:
            with closing(workspace):
                now = trees.take(workspace)
                trees.restore(then, workspace)
        store.write(claim, *rewinding.changes(who=who))
        withdraw_of_lost_cells(store, session)
        return rewinding.told(trees.difference(now, then) if now else ())


def rename(store: Store, session: str, name: str, who: str = "") -> str:
    """Give its branch a name. `SessionBusy` while it is open elsewhere."""
    name = check_name(store, name, session)
    with held(store, session) as claim:
        store.write(claim, Note(kind="named", text=name, who=who, at=time.time()))
    return name


def check_name(store: StoreReader, name: str, session: str = "") -> str:
    """A name that `session` may have: short, printable, and not the name of another session."""
    name = unicodedata.normalize("NFC", name.strip())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UsageError(f"a session's name is one line of 1 to {LONGEST_NAME} printable letters; it was {name!r:.80}")
    for other in store.summaries():
        if other.id != session and name in (other.id, other.name):
            raise UsageError(f"{name!r} is the name of session {other.id} already; choose another")
    return name


@contextmanager
def held(store: Store, session: str) -> Generator[Claim]:
    """Claim a session that nobody has open, for a moment."""
    claim = claim_session(store, session)
    try:
        yield claim
    finally:
        release_session(store, claim)


def reaches(store: StoreReader, session: str, *, whole: bool = False) -> Sequence[Reach]:
    """What belongs to a branch: the session, and what it was forked from, each up to the fork.

    A fork after a cell may know entries that were written later. They are no part of the branch, except with `whole`.
    """
    parts: list[Reach] = []
    upto: int | None = None
    cell: int | None = None
    while session and all(part.session != session for part in parts):
        parts.append(Reach(session=session, upto=upto))
        facts = store.facts(session)
        if facts.parent:
            cell = facts.parent_cell if cell is None else min(cell, facts.parent_cell)
            upto = facts.parent_entry or History(store, facts.parent).entry_of(facts.parent_cell)
            upto = upto if whole else _before_later(store, facts.parent, cell, upto)
        session = facts.parent
    return parts


def _before_later(store: StoreReader, session: str, cell: int, upto: int) -> int:
    """The last entry of cells up to `cell`, where the session had gone on before `upto`."""
    if all(c.status == "running" for c in store.cells(session, cell + 1, upto)):
        return upto
    ended = 0
    for entry in store.entries(session, 1, upto):
        if isinstance(entry.change, CellRow):
            if entry.change.number > cell:
                break
            ended = entry.number if entry.change.status != "running" else ended
    return ended


@dataclass(frozen=True, kw_only=True, slots=True)
class RemovedSessions:
    """What was removed, of all sessions together. `files` are bytes of workspaces, `bytes` those of blobs."""

    sessions: tuple[str, ...]
    entries: int = 0
    blobs: int = 0
    bytes: int = 0
    indexed: int = 0
    files: int = 0


def below(store: Store, session: str) -> Sequence[Summary]:
    """The forks and children of a session, and theirs: each after its parent."""
    family = store.family(session)
    found = [one for one in family if one.id == session]
    for parent in found:  # grows on the way
        known = {one.id for one in found}
        found += [one for one in family if parent.id in (one.parent, one.child_of) and one.id not in known]
    return found[1:]


def remove(store: Store, session: str, *, whole: bool = False) -> RemovedSessions:
    """Remove a session; with `whole` also its forks and children. All are claimed first."""
    descendants = below(store, session)
    if descendants and not whole:
        names = ", ".join(one.id for one in descendants[:LISTED]) + (" …" if len(descendants) > LISTED else "")
        raise UsageError(
            f"session {session!r} has forks or children: {names}; remove these first, or all together: whole=True"
        )
    doomed = [session, *(one.id for one in descendants)]
    files, gone = 0, list[Forgotten]()
    with ExitStack() as claims:
        for one in doomed:
            claims.enter_context(held(store, one))
        for one in reversed(doomed):
            files += remove_workspace(store, one)
            gone.append(store.forget(one))
    return RemovedSessions(
        sessions=tuple(doomed),
        entries=sum(one.entries for one in gone),
        blobs=sum(one.blobs for one in gone),
        bytes=sum(one.bytes for one in gone),
        indexed=sum(one.indexed for one in gone),
        files=files,
    )
