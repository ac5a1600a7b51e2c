"""`Sessions`: the sessions of a store, for whoever looks after them. Opens no guest, and runs none of their code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from cellwright.journal import Rewound, check_id, checked_entry, files_of
from cellwright.sandboxes import Limits
from cellwright.sessions import branching, removing
from cellwright.sessions.chat import chat
from cellwright.sessions.exporting import Exported, export
from cellwright.sessions.files import SessionFiles
from cellwright.sessions.history import History, history
from cellwright.sessions.importing import Imported, import_
from cellwright.sessions.naming import resolve
from cellwright.sessions.removing import Removed
from cellwright.sessions.searching import Policy, Searcher
from cellwright.sessions.tree import Branch, tree
from cellwright.store import Found, Reach, Store, Summary, open_store

File = str | os.PathLike[str] | BinaryIO


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of a store that was opened here."""
        if self._own:
            self.store.close()

    # reading

    def resolve(self, text: str) -> str:
        """The id of the session that is meant."""
        return resolve(self.store, text)

    def list(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]:
        """The sessions, the latest first; `before` is the last of an earlier answer, to go on from there."""
        return self.store.summaries(state=state, agent=agent, limit=limit, before=before)

    def show(self, session: str, *, upto: int | None = None) -> History:
        """One session as it went, turn by turn."""
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
    ) -> Sequence[Found]:
        """What was asked, said, run, printed and written that has these words: everywhere, in a session, or a branch.

        A branch is a session with what it was forked from.
        """
        within: Sequence[Reach] | None = None
        if branch is not None:
            within = branching.reaches(self.store, self.resolve(branch))
        elif session is not None:
            within = [Reach(session=self.resolve(session))]
        return self.store.search(query, within=within, kinds=kinds, limit=limit)

    def searcher(self, session: str, *, policy: Policy = "branch", agent: str = "") -> Searcher:
        """What an agent's code may have of this: an object for its scope that sees no more than the policy allows."""
        return Searcher(lambda: self.store, check_id(session), policy, agent)

    def files(self, session: str, limits: Limits | None = None) -> SessionFiles:
        """Its files: to be listed, compared, put back, handed in and taken out."""
        return SessionFiles(self.store, self.resolve(session), limits)

    # changing

    def fork(
        self, session: str, *, at: int | None = None, entry: int | None = None, name: str = "", id: str | None = None
    ) -> str:
        """A new session that begins as one was after cell `at`, at `entry`, or as it is now; gives its id.

        Nothing is copied and nothing is started: `Runtime.resume` or `agent.resume` brings it up.
        """
        return branching.fork(self.store, self.resolve(session), at=at, entry=entry, name=name, id=id)

    def rewind(self, session: str, *, to: int | None = None, entry: int | None = None) -> Rewound:
        """Let a session go on from an earlier moment; its files are put back. What came after stays in its history."""
        return branching.rewind(self.store, self.resolve(session), to=to, entry=entry)

    def rename(self, session: str, name: str) -> str:
        """Give a session's branch a name, by which it can be found."""
        return branching.rename(self.store, self.resolve(session), name)

    def remove(self, session: str, *, whole: bool = False) -> Removed:
        """Remove a session with its files, blobs and index; with `whole` also what hangs on it."""
        return removing.remove(self.store, self.resolve(session), whole=whole)

    def below(self, session: str) -> Sequence[Summary]:
        """The forks and children of a session, and theirs."""
        return removing.below(self.store, self.resolve(session))

    # files

    def export(self, session: str, file: File) -> Exported:
        """Write a session to a file that can be imported elsewhere, and replayed."""
        id = self.resolve(session)
        if isinstance(file, str | os.PathLike):
            return _written(self.store, id, Path(file))
        return export(self.store, id, file)

    def chat(self, session: str) -> Iterator[dict[str, Any]]:
        """Its turns as messages for fine-tuning, in the form of OpenAI's chat."""
        return chat(self.store, self.resolve(session))

    def import_(self, file: File, id: str | None = None) -> Imported:
        """Take in what `export` wrote, under its own id where that is free, or as `id`."""
        if isinstance(file, str | os.PathLike):
            with Path(file).open("rb") as opened:
                return import_(self.store, opened, id)
        return import_(self.store, file, id)


def _written(store: Store, session: str, path: Path) -> Exported:
    """Whole or not at all: a file that was there stays until the new one is. A pipe or a device is written to."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            return export(store, session, file)
    path = path.resolve()  # what a link leads to, and not the link
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)  # its owner's alone
    part = Path(name)
    try:
        with open(descriptor, "wb") as file:
            told = export(store, session, file)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return told
