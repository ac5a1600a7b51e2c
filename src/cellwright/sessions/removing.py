"""Removing sessions: their entries, their blobs, what the index has of them, and their files. Says what it removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellwright.errors import SessionBusy, UsageError
from cellwright.journal import claimed, remove_workspace
from cellwright.store import Claim, Forgotten, Store, Summary

LISTED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """What was removed, of all the sessions together. `files` is bytes of workspaces, `bytes` those of blobs."""

    sessions: tuple[str, ...]
    entries: int = 0
    blobs: int = 0
    bytes: int = 0
    indexed: int = 0
    files: int = 0


def below(store: Store, session: str) -> Sequence[Summary]:
    """The forks and children of a session, and theirs: each after the one that it hangs on."""
    family = store.family(session)
    found = [one for one in family if one.id == session]
    for parent in found:  # grows on the way
        known = {one.id for one in found}
        found += [one for one in family if parent.id in (one.parent, one.child_of) and one.id not in known]
    return found[1:]


def remove(store: Store, session: str, *, whole: bool = False) -> Removed:
    """Remove a session; with `whole` also what was forked from it or spawned by it. All are claimed first."""
    hanging = below(store, session)
    if hanging and not whole:
        names = ", ".join(one.id for one in hanging[:LISTED]) + (" …" if len(hanging) > LISTED else "")
        raise UsageError(
            f"session {session!r} has forks or children: {names}; remove these first, or all together: whole=True"
        )
    doomed = [session, *(one.id for one in hanging)]
    claims: list[Claim] = []
    try:
        for one in doomed:
            claims.append(claimed(store, one))
    except SessionBusy:
        for claim in claims:
            store.release(claim)
        raise
    files, gone = 0, list[Forgotten]()
    for one in reversed(doomed):
        files += remove_workspace(store, one)
        gone.append(store.forget(one))
    return Removed(
        sessions=tuple(doomed),
        entries=sum(one.entries for one in gone),
        blobs=sum(one.blobs for one in gone),
        bytes=sum(one.bytes for one in gone),
        indexed=sum(one.indexed for one in gone),
        files=files,
    )
