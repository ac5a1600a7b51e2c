"""Forks, rewinds and names, made in the store alone: no guest is started, and nothing of the parent is copied.

Whoever opens the session next brings its guest up. A parent is only read, so one that runs can be forked.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from cellwright.errors import UsageError
from cellwright.journal import (
    Rewinding,
    Rewound,
    Story,
    Trees,
    check_id,
    checked_entry,
    claimed,
    known_workspace,
    withdraw_of_lost_cells,
)
from cellwright.sessions.naming import check_name
from cellwright.store import CellRow, Claim, Facts, Note, Reach, Reading, Store, here


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
    story = Story(store, session, at, entry=last if entry is None else checked_entry(store, session, entry))
    cell = next((c for c in story.cells if c.number == at), None)
    if at is not None and cell is None and at != story.facts.parent_cell:
        raise UsageError(f"session {session!r} has no cell {at} that came to its end; its last one is {story.last}")
    if cell is not None and cell.undone:  # as it was, before it was undone
        story = Story(store, session, at, entry=story.entry_of(cell.number))
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
    claim = store.create(facts, here())
    try:
        if name:
            store.write(claim, Note(kind="named", text=name, at=time.time()))
    finally:
        store.release(claim)
    return facts.id


def rewind(store: Store, session: str, *, to: int | None = None, entry: int | None = None, who: str = "") -> Rewound:
    """Make an earlier moment of a session the one that it goes on from. `SessionBusy` while somebody has it."""
    with held(store, session) as claim:
        rewinding = Rewinding(store, session, to=to, entry=entry)
        if not rewinding.is_needed:
            return Rewound(to=rewinding.to)
        store.write(claim, rewinding.begun())
        workspace, trees, then = known_workspace(store, session), Trees(store, session), rewinding.tree
        if workspace is None or not then:
            store.write(claim, *rewinding.changes(who=who))
            withdraw_of_lost_cells(store, session)
            return rewinding.told(())
        try:
            now = trees.take(workspace)
            trees.restore(then, workspace)
        finally:
            workspace.close()
        store.write(claim, *rewinding.changes(who=who))
        withdraw_of_lost_cells(store, session)
        return rewinding.told(trees.difference(now, then))


def rename(store: Store, session: str, name: str, who: str = "") -> str:
    """Give its branch a name. `SessionBusy` while somebody has it."""
    name = check_name(store, name, session)
    with held(store, session) as claim:
        store.write(claim, Note(kind="named", text=name, who=who, at=time.time()))
    return name


@contextmanager
def held(store: Store, session: str) -> Generator[Claim]:
    """The right to write to a session that nobody has open."""
    claim = claimed(store, session)
    try:
        yield claim
    finally:
        store.release(claim)


def reaches(store: Reading, session: str, *, whole: bool = False) -> Sequence[Reach]:
    """What belongs to a branch: the session, and what it was forked from, each up to the fork.

    A fork after a cell may know answers that came later. They are no part of the branch; with `whole` they are told.
    """
    found: list[Reach] = []
    upto: int | None = None
    cell: int | None = None
    while session and all(one.session != session for one in found):
        found.append(Reach(session=session, upto=upto))
        facts = store.facts(session)
        if facts.parent:
            cell = facts.parent_cell if cell is None else min(cell, facts.parent_cell)
            upto = facts.parent_entry or _entry_of(store, facts)
            upto = upto if whole else _before_later(store, facts.parent, cell, upto)
        session = facts.parent
    return found


def _before_later(store: Reading, session: str, cell: int, upto: int) -> int:
    """The entry at which cells up to that one were over, where the session had gone on before `upto`."""
    if all(c.status == "running" for c in store.cells(session, cell + 1, upto)):
        return upto
    ended = 0
    for entry in store.entries(session, 1, upto):
        if isinstance(entry.change, CellRow):
            if entry.change.number > cell:
                break
            ended = entry.number if entry.change.status != "running" else ended
    return ended


def _entry_of(store: Reading, fork: Facts) -> int:
    """Of a fork that was made before entries were known: where its parent's cell had ended."""
    return Story(store, fork.parent).entry_of(fork.parent_cell)
