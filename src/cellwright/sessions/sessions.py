"""`Sessions`: the sessions of a store, for their operator. Opens no guest, and runs none of their code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from cellwright.atomic import open_atomic
from cellwright.errors import NoSession, UsageError
from cellwright.journal import Rewound, check_id, checked_entry, files_of
from cellwright.sandboxes import Limits
from cellwright.sessions import branches
from cellwright.sessions.branches import RemovedSessions
from cellwright.sessions.searcher import Searcher, SearchPolicy
from cellwright.sessions.session_export import ExportedSession, chat, export
from cellwright.sessions.session_files import SessionFiles
from cellwright.sessions.session_history import SessionHistory, history
from cellwright.sessions.session_import import ImportedSession, import_
from cellwright.sessions.session_tree import Branch, tree
from cellwright.short_texts import printable
from cellwright.store import EntryHit, Reach, Store, StoreReader, Summary, open_store

File = str | os.PathLike[str] | BinaryIO
SHORTEST_ID = 4  # letters of the beginning of an id
LISTED = 5


class Sessions:
    """List, show, search, fork, rewind, name, export, import and remove sessions.

    >>> with Sessions("sqlite:///agents.db") as sessions:
    ...     branch = sessions.fork("s1", entry=42, name="try-2")

    A session is named by its id, the beginning of one (four letters or more), or its branch's name.
    """

    def __init__(self, store: str | Path | Store) -> None:
        self._own = isinstance(store, str | Path)
        self.store: Store = open_store(str(store), make=False) if isinstance(store, str | Path) else store

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._own:
            self.store.close()

    # reading

    def resolve(self, text: str) -> str:
        """The id of the session that `text` names."""
        return resolve(self.store, text)

    def list(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        """The sessions, the latest first; `before`, the last of an earlier answer, gives those after it."""
        return self.store.summaries(state=state, agent=agent, limit=limit, before=before)

    def show(self, session: str, *, upto: int | None = None) -> SessionHistory:
        """The history of a session, turn by turn."""
        id = self.resolve(session)
        if upto is not None:
            upto = checked_entry(self.store, id, upto)
        return history(self.store, id, upto, files_of(self.store, id))

    def tree(self, session: str) -> Branch:
        """The whole tree that a session belongs to, from its root."""
        return tree(self.store, self.resolve(session))

    def search(
        self,
        query: str,
        *,
        session: str | None = None,
        branch: str | None = None,
        kinds: Sequence[str] = (),
        limit: int = 20,
    ) -> Sequence[EntryHit]:
        """Entries with these words, of all sessions, of one, or of a branch: a session with what it was forked from."""
        within: Sequence[Reach] | None = None
        if branch is not None:
            within = branches.reaches(self.store, self.resolve(branch))
        elif session is not None:
            within = [Reach(session=self.resolve(session))]
        return self.store.search(query, within=within, kinds=kinds, limit=limit)

    def searcher(self, session: str, *, policy: SearchPolicy = "branch", agent: str = "") -> Searcher:
        """An object for an agent's scope that searches the sessions which the policy allows."""
        return Searcher(lambda: self.store, check_id(session), policy, agent)

    def files(self, session: str, limits: Limits | None = None) -> SessionFiles:
        """The files of a session: list, compare, put back, hand in and take out."""
        return SessionFiles(self.store, self.resolve(session), limits)

    # changing

    def fork(
        self, session: str, *, at: int | None = None, entry: int | None = None, name: str = "", id: str | None = None
    ) -> str:
        """A new session that begins as one was after cell `at`, at `entry`, or as it is now; gives its id.

        Nothing is copied and nothing is started: `Runtime.resume` or `agent.resume` brings it up.
        """
        return branches.fork(self.store, self.resolve(session), at=at, entry=entry, name=name, id=id)

    def rewind(self, session: str, *, to: int | None = None, entry: int | None = None) -> Rewound:
        """Let a session go on from an earlier moment; its files are put back. What came after stays in its history."""
        return branches.rewind(self.store, self.resolve(session), to=to, entry=entry)

    def rename(self, session: str, name: str) -> str:
        """Give a session's branch a name, by which it can be found."""
        return branches.rename(self.store, self.resolve(session), name)

    def remove(self, session: str, *, whole: bool = False) -> RemovedSessions:
        """Remove a session with its files and blobs; with `whole` also its forks and children."""
        return branches.remove(self.store, self.resolve(session), whole=whole)

    def below(self, session: str) -> Sequence[Summary]:
        """The forks and children of a session, and theirs."""
        return branches.below(self.store, self.resolve(session))

    # files

    def export(self, session: str, file: File) -> ExportedSession:
        """Write a session to a file that can be imported elsewhere, and replayed."""
        id = self.resolve(session)
        if isinstance(file, str | os.PathLike):
            return _written(self.store, id, Path(file))
        return export(self.store, id, file)

    def chat(self, session: str) -> Iterator[dict[str, Any]]:
        """Its turns as messages for fine-tuning, in the format of OpenAI's chat."""
        return chat(self.store, self.resolve(session))

    def import_(self, file: File, id: str | None = None) -> ImportedSession:
        """Import what `export` wrote, under its own id where that is free, or as `id`."""
        if isinstance(file, str | os.PathLike):
            with Path(file).open("rb") as opened:
                return import_(self.store, opened, id)
        return import_(self.store, file, id)


def _written(store: Store, session: str, path: Path) -> ExportedSession:
    """Write a whole file or none: an older one stays until the new one is complete. Not so for a pipe or a device."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            return export(store, session, file)
    with open_atomic(path.resolve()) as file:  # the target of a link, and not the link
        return export(store, session, file)


def resolve(store: StoreReader, text: str) -> str:
    """The id of the session that `text` stands for. `NoSession` where there is none, `UsageError` where several."""
    try:
        return store.facts(text).id
    except NoSession:
        pass
    known = store.summaries()
    named = [one for one in known if text and one.name == text]
    if not named and len(text) >= SHORTEST_ID:
        named = [one for one in known if one.id.startswith(text)]
    if not named:
        short = "" if len(text) >= SHORTEST_ID else f"; the beginning of an id has {SHORTEST_ID} letters at least"
        raise NoSession(f"there is no session {printable(text)!r}, by id or by name{short}")
    if len(named) > 1:
        raise UsageError(f"{printable(text)!r} may be any of these; give one of the ids: {_listed(named)}")
    return named[0].id


def _listed(found: Sequence[Summary]) -> str:
    more = f", and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(f"{one.id} ({printable(one.title)})" for one in found[:LISTED]) + more
