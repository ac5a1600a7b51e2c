"""The contract of a store. `cellwright.testing.check_store` proves that an implementation keeps it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

from cellwright.store.rows import (
    CellRow,
    Change,
    Checkpoint,
    Claim,
    Decision,
    EntryHit,
    Facts,
    Forgotten,
    JournalEntry,
    LeaseHolder,
    Message,
    Note,
    Question,
    Reach,
    Row,
    Summary,
    TurnRow,
)

LEASE_S = 30.0  # a lease that its process has not renewed for so long has run out


class StoreWriter(Protocol):
    """The writing half of a session's journal. Safe for many processes at once; one process writes to a session.

    `create` makes a session and claims it; `UsageError` where the id is taken. `claim` takes the right to write to a
    session; `NoSession` where there is none of that id. A claim with a `holder` has a lease. With `take_over=False`, a
    claim raises `SessionBusy` while another holder's lease has not run out and its process is not known to be dead.
    With `take_over`, the right is taken from whoever has it. A later claim has a higher epoch, and no epoch is given
    twice in a store. `renew` lengthens leases, and gives the claims that still hold; `release` ends a lease.

    `write` adds an entry for each change, all or none, in order, and is durable against the process's death when it
    returns. Entries are never changed: reading takes the last of those with the same cell and path (rows) or number
    (cells, turns). Some changes are no entries. A checkpoint is a cache beside them: it replaces that of the same cell,
    and can be dropped. A `Question` is written once: a question of that id which the session has already stays as it
    is. A `Note` of the kind "message" is an entry, and takes that message out of the inbox. `write` gives about how
    many bytes it added, and raises `Fenced` where the claim was taken or the session forgotten, `UsageError` for a tree
    that is not plain and for a question whose id another session has, `JournalFailed` where the storage failed. After
    an error, the store is as it was before. `forget` removes a session and all that only it needs, and says what it
    removed; `UsageError` while a fork or a child of the session is there.
    """

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim: ...
    def claim(self, session: str, holder: LeaseHolder | None = None, *, take_over: bool = True) -> Claim: ...
    def renew(self, *claims: Claim) -> Sequence[Claim]: ...
    def release(self, claim: Claim) -> None: ...
    def write(self, claim: Claim, *changes: Change) -> int: ...
    def forget(self, session: str) -> Forgotten: ...


@runtime_checkable
class PromptStore(Protocol):
    """What a store may offer besides `StoreWriter`: a write that waits for no disk, no lock and no socket.

    `try_write` does what `write` does. Where it would have to wait it writes nothing and gives None, and the event loop
    leaves the same changes to `write` in a thread. A store without it is always written in a thread.
    """

    def try_write(self, claim: Claim, *changes: Change) -> int | None: ...


class StoreReader(Protocol):
    """The reading half: what was written, as the last `write` left it. A fork is read without its parent's entries.

    What is large of a row, a cell or an entry is read each time somebody asks for it (`StoredPacked`), while the store
    is open: so the rows of a session take little memory, whatever its answers are.

    With `upto`, as it was when that entry was the last. All but `sessions` and `summaries` raise `NoSession` where
    there is no session of that id. `summaries` are the latest first; `before`, a summary of an earlier answer, gives
    those that were written to before it.
    """

    def sessions(self) -> Sequence[str]: ...
    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]: ...
    def summary(self, session: str) -> Summary: ...
    def family(self, session: str) -> Sequence[Summary]: ...  # all forks and children of its root, the root first
    def facts(self, session: str) -> Facts: ...
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[JournalEntry]: ...
    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]: ...  # by number
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]: ...  # as first written
    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]: ...  # by number
    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]: ...
    def checkpoints(self, session: str) -> Sequence[Checkpoint]: ...  # by cell


@runtime_checkable
class RowsByPath(Protocol):
    """What a store may offer besides `StoreReader`: of `rows`, those whose path begins with `path`.

    With `before`, those of earlier cells than that. From a store without it all rows are read, most for nothing.
    """

    def rows_by_path(
        self, session: str, path: str, first_cell: int = 0, before: int | None = None
    ) -> Sequence[Row]: ...


class Blobs(Protocol):
    """Bytes by their content, stored once however often they are kept, while a session that kept them is there.

    `keep` raises `NoSession` where there is no session of that id. `blob` raises `KeyError` for an unknown digest, and
    `JournalFailed` for content that is not what was kept.
    """

    def keep(self, session: str, content: bytes) -> str: ...
    def blob(self, digest: str) -> bytes: ...


@runtime_checkable
class BoundedFiles(Protocol):
    """What a store may offer besides `BlobFiles`: the files of a session take a bounded room, and old ones are dropped.

    `snapshots_mb` is that room. What `keep_all` and `keep_file` kept is counted apart from all that rows and
    checkpoints need: `held` is its size in bytes, `contents` the size of each by digest. `drop` lets go of some of it,
    all or none, under the claim of its session, and raises `Fenced` as `write` does; a content is removed when nobody
    needs it any more. `lacking` are those of these digests that the store does not have. A store without this keeps the
    files of every cell.
    """

    snapshots_mb: int

    def held(self, session: str) -> int: ...
    def contents(self, session: str) -> dict[str, int]: ...
    def lacking(self, digests: Collection[str]) -> set[str]: ...
    def drop(self, claim: Claim, digests: Collection[str]) -> None: ...


class QuestionStore(Protocol):
    """Questions to people, which any process may decide.

    `ask` writes a question, as `write` does, and gives it with its decision if it has one. `decide` gives the question
    with this decision; `NoQuestion` where there is no question of that id, `UsageError` where it is decided already or
    has expired. `questions` are the open ones, the oldest first, or all with `decided`. `granted` is the decision that
    says always, for an operation in a session; `revoke` takes it back, and says whether there was one.
    """

    def ask(self, claim: Claim, question: Question) -> Question: ...
    def decide(self, question: str, decision: Decision) -> Question: ...
    def question(self, question: str) -> Question: ...
    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]: ...
    def granted(self, session: str, operation: str) -> Decision | None: ...
    def revoke(self, session: str, operation: str) -> bool: ...


class MessageStore(Protocol):
    """Messages to a session, from any process, until a turn takes them up. Both raise `NoSession`."""

    def post(self, session: str, message: Message) -> Message: ...
    def inbox(self, session: str) -> Sequence[Message]: ...


class SearchStore(Protocol):
    """Full-text search over prompts, replies, code, outputs, errors and file names.

    All words of the query must match: words "in quotes" one after the other, a word with a star any that begins so.
    Where nothing matches, any of the words will do. The best come first. `within` bounds the search to these parts of
    these sessions. `catch_up` indexes what was written since the last search, which a search does by itself.
    """

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[EntryHit]: ...
    def catch_up(self) -> int: ...


class Store(StoreReader, StoreWriter, Blobs, QuestionStore, MessageStore, SearchStore, Protocol):
    """Sessions, and what belongs to them. `close` may be called twice."""

    def close(self) -> None: ...
