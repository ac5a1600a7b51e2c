"""Imports an exported file into a store. The whole file is checked before anything is written; then all or nothing.

The file may be a stranger's: its sizes are bounded, its digests checked, and its values have the types of a store's
rows. Its code runs in the sandbox, as any code.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, BinaryIO

from cellwright.errors import JournalFailed, NoSession, UsageError
from cellwright.journal import Trees, check_id, origins_of, trees_of
from cellwright.sessions.export_lines import FORMAT, Damaged, bytes_in, checked_digest, entry_in, facts_in
from cellwright.store import IMPORTED, CellRow, Claim, EntryChange, Facts, Note, Row, Store, TurnRow, this_process

MOST_LINE = 256 << 20  # bytes
MOST_BLOB = 4 << 30
MOST_SESSIONS = 64  # of a chain of forks
MOST_ENTRIES = 5_000_000
ID = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSession:
    """What was imported. `session` is the exported one; `sessions` are the new ids of all, by the ids in the file.

    What its rows claim, and the host acts on only after a person's yes: calls that an undo might undo, answers whose
    objects might be brought back, and decisions that said yes, which grant nothing here.
    """

    session: str
    sessions: dict[str, str]
    entries: int
    blobs: int
    undoable: int = 0
    revivable: int = 0
    granted: int = 0


@dataclass(kw_only=True, slots=True)
class _FileContents:
    """What the lines so far have."""

    sessions: list[Facts] = field(default_factory=list[Facts])
    entries: list[int] = field(default_factory=list[int])  # of each session
    cells: int = 0  # that began so far, in the session that the lines are about
    delivered: int = 0  # the last answer or callback that a guest got
    blobs: set[str] = field(default_factory=set[str])
    dropped: set[str] = field(default_factory=set[str])  # contents of files that are no longer kept anywhere
    under_way: str = ""  # the digest of a blob that the next line goes on with
    claims: Counter[str] = field(default_factory=Counter[str])  # fields of `ImportedSession`


def import_(store: Store, file: BinaryIO, id: str | None = None) -> ImportedSession:
    """Import a file that `export` wrote, which must be seekable. `UsageError` says which line is wrong."""
    if id is not None and _is_taken(store, check_id(id)):
        raise UsageError(f"there is a session {id!r} already; give another id")
    start = file.tell()
    contents = _checked(file)
    names = _ids(store, contents.sessions, id)
    file.seek(start)
    try:
        _kept(store, file, names, contents)
    except ValueError as error:  # the file was changed since it was checked
        raise UsageError(f"nothing was imported: {error}") from None
    last = contents.sessions[-1].id
    return ImportedSession(
        session=names[last], sessions=names, entries=sum(contents.entries), blobs=len(contents.blobs), **contents.claims
    )


# reading


def _lines(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    while text := file.readline(MOST_LINE + 1):
        number += 1
        if len(text) > MOST_LINE:
            raise Damaged(f"line {number} is longer than {MOST_LINE >> 20} MB")
        try:
            line: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise Damaged(f"line {number} is no JSON") from None
        if type(line) is not dict:
            raise Damaged(f"line {number} is no object")
        yield number, line
    if not number:
        raise Damaged("the file is empty")


def _checked(file: BinaryIO) -> _FileContents:
    """Check the whole file; `UsageError` where no export wrote it."""
    contents, number = _FileContents(), 0
    digests = _Digests(contents)
    try:
        for number, line in _lines(file):
            try:
                _check(contents, digests, line, first=number == 1)
            except (ValueError, TypeError, LookupError) as error:
                raise Damaged(f"line {number}: {error}") from None
        if contents.under_way:
            raise Damaged("it ends in the middle of a blob")
        if not contents.sessions:
            raise Damaged("it holds no session")
    except Damaged as error:
        raise UsageError(f"this is no exported session, and nothing was imported: {error}") from None
    return contents


class _Digests:
    """The digest of a blob that comes in pieces."""

    def __init__(self, contents: _FileContents) -> None:
        self._contents = contents
        self._hash = blake2b(digest_size=32)
        self._bytes = 0

    def add(self, line: dict[str, Any]) -> None:
        digest, content = checked_digest(line.get("blob")), bytes_in(line)
        if self._contents.under_way not in ("", digest):
            raise Damaged("a blob is not told to its end")
        if not self._contents.under_way:
            self._hash, self._bytes = blake2b(digest_size=32), 0
        self._hash.update(content)
        self._bytes += len(content)
        if self._bytes > MOST_BLOB:
            raise Damaged(f"a blob of more than {MOST_BLOB >> 30} GB")
        self._contents.under_way = digest if line.get("more") else ""
        if not self._contents.under_way:
            if self._hash.hexdigest() != digest:
                raise Damaged("a blob whose content is not what its digest says")
            self._contents.blobs.add(digest)


def _check(contents: _FileContents, digests: _Digests, line: dict[str, Any], *, first: bool) -> None:
    if first and line.pop("cellwright", None) != FORMAT:
        raise Damaged(f'it does not begin with {{"cellwright": {FORMAT}, …}}')
    if "blob" in line and "entry" not in line and "dropped" not in line:
        digests.add(line)
        return
    if contents.under_way:
        raise Damaged("a blob is not told to its end")
    if "dropped" in line and "entry" not in line:
        contents.dropped.add(checked_digest(line.get("blob")))
        return

    def known(digest: str) -> bytes:
        if digest not in contents.blobs:
            raise KeyError(digest)
        return b""

    if "session" in line:
        _check_session(contents, facts_in(line, known))
        return
    number, change = entry_in(line, known)
    if not contents.sessions or number != contents.entries[-1] + 1 or number > MOST_ENTRIES:
        raise Damaged("entries are numbered 1, 2, 3 … in their session")
    contents.entries[-1] = number
    if isinstance(change, CellRow):
        contents.cells = max(contents.cells, change.number)
    elif isinstance(change, Row):
        contents.delivered = max(contents.delivered, change.delivered or 0)
        cell, callback = origins_of(change)
        if cell > contents.cells or callback > contents.delivered:  # it would speak of what is done here later
            raise Damaged("a call of a cell that has not begun")
    contents.claims.update(_claims(change))
    if isinstance(change, CellRow):
        for tree in (change.tree, change.tree_after):
            if tree not in ("", "empty") and tree not in contents.blobs:
                raise Damaged("the files of a cell are not in the file before it")


def _claims(change: EntryChange) -> Iterator[str]:
    """What an entry says that would have the host do something. An entry that is told again counts again."""
    if isinstance(change, Row) and change.door == "host" and change.status == "done" and not change.reads:
        yield "undoable"
    if isinstance(change, Row) and any(made.number > 0 for made in change.made):
        yield "revivable"
    if isinstance(change, Note) and change.kind == "decided" and ": yes" in change.text:
        yield "granted"


def _check_session(contents: _FileContents, facts: Facts) -> None:
    before = contents.sessions[-1] if contents.sessions else None
    if facts.parent != ("" if before is None else before.id) or any(facts.id == one.id for one in contents.sessions):
        raise Damaged("a session is not a fork of the one before it")
    if before is not None and facts.parent_entry > contents.entries[-1]:
        raise Damaged("a session is forked at an entry that its parent has not")
    if len(contents.sessions) >= MOST_SESSIONS:
        raise Damaged(f"more than {MOST_SESSIONS} sessions")
    contents.cells = min(facts.parent_cell, contents.cells)
    contents.sessions.append(facts)
    contents.entries.append(0)


# writing


def _ids(store: Store, sessions: list[Facts], id: str | None) -> dict[str, str]:
    """The new id of each session: its own where that is free."""
    names: dict[str, str] = {}
    for facts in sessions:
        wanted = id if id is not None and facts is sessions[-1] else facts.id
        count, made = 2, wanted
        while made in names.values() or _is_taken(store, made):
            made = f"{wanted[: ID - 7]}-{count}"
            count += 1
        names[facts.id] = made
    return names


def _is_taken(store: Store, id: str) -> bool:
    try:
        store.facts(id)
    except NoSession:
        return False
    return True


def _kept(store: Store, file: BinaryIO, names: dict[str, str], contents: _FileContents) -> None:
    made: list[str] = []
    try:
        _write(store, file, names, contents, made)
    except BaseException:
        for one in reversed(made):
            store.forget(one)
        raise


def _write(store: Store, file: BinaryIO, names: dict[str, str], contents: _FileContents, made: list[str]) -> None:
    """Session by session: its blobs first, then all of its entries in one write."""
    importing: _SessionImport | None = None
    for number, line in _lines(file):
        if number == 1:
            line.pop("cellwright", None)
        if "session" in line:
            if importing is not None:
                importing.finish()
            facts = facts_in(line, store.blob)
            id, parent = names[facts.id], names.get(facts.parent, "")
            facts = replace(facts, id=id, parent=parent, imported=True, import_key=os.urandom(16).hex())
            importing = _SessionImport(store, store.create(facts, this_process()), contents)
            made.append(facts.id)
        elif importing is not None:
            importing.add(line)
    if importing is not None:
        importing.finish()


class _SessionImport:
    """One session that is being imported. It may use only the `blobs` of the file: others may be removed later.

    What the file says was dropped must not be here: it would be another session's.
    """

    def __init__(self, store: Store, claim: Claim, contents: _FileContents) -> None:
        self._store = store
        self._claim = claim
        self._contents = contents
        self._changes: list[EntryChange] = []
        self._pieces: list[bytes] = []

    def add(self, line: dict[str, Any]) -> None:
        if "entry" in line:
            change = entry_in(line, self._store.blob)[1]
            if isinstance(change, TurnRow):  # the task of a stranger, whose words prove nothing here
                change = replace(change, heard=True)
                if change.status in ("running", "waiting"):
                    change = replace(change, opened=IMPORTED)
            if isinstance(change, Note) and change.kind == "private":
                change = replace(change, text="")
            if isinstance(change, Note) and change.kind == "shown":
                change = replace(change, about="")  # what a stranger was shown is no text of a question here
            self._changes.append(replace(change, imported=True) if isinstance(change, Row) else change)
            return
        if "dropped" in line:
            return
        self._pieces.append(bytes_in(line))
        if not line.get("more"):
            self._store.keep(self._claim.session, b"".join(self._pieces))
            self._pieces = []

    def finish(self) -> None:
        trees = Trees(self._store, self._claim.session)
        try:
            for name in {name for change in self._changes for name in trees_of(change)}:
                for digest in trees.needs(name):
                    if not self._may_use(digest):
                        raise JournalFailed(f"the file lacks {digest}, which the files of a cell need")
        except JournalFailed as error:
            raise UsageError(f"nothing was imported: {error}") from None
        self._store.write(self._claim, *self._changes)
        self._store.release(self._claim)

    def _may_use(self, digest: str) -> bool:
        if digest in self._contents.blobs:
            return True
        try:
            self._store.blob(digest)
        except KeyError:
            return digest in self._contents.dropped
        return False
