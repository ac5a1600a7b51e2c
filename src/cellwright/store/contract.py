"""What can be done with a store. All implementations do the same; `cellwright.testing.check_store` proves it of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cellwright.store.rows import (
    CellRow,
    Change,
    Checkpoint,
    Claim,
    Decision,
    Entry,
    Facts,
    Forgotten,
    Found,
    Holder,
    Message,
    Note,
    Question,
    Reach,
    Row,
    Summary,
    TurnRow,
)

LEASE_S = 30.0  # a claim whose process says nothing for so long is nobody's


class Writing(Protocol):
    """The writing half of a session's journal. Safe for many processes at once; one writes to a session.

    `create` makes a session, claimed; `UsageError` where there is one of that id. `claim` takes the right to write to
    one; `NoSession` where there is none of that id. With a `holder` it has a lease: who claims with `take_over=False`
    while another holder's lease has not run out, and whose process lives as far as can be known, is told `SessionBusy`.
    With `take_over` the right is taken from whoever has it. A later claim has a higher epoch, and no epoch is given
    twice in a store. `renew` makes leases last from now on, and gives those claims that still hold; `release` ends a
    lease.

    `write` adds an entry for each change, all or none, in order, and is durable against the process's death when it
    returns. Nothing that was added is changed: reading takes the last of those with the same cell and path (rows) or
    number (cells, turns). Checkpoints are a cache beside the entries: one replaces that of the same cell, and can be
    dropped. A `Note` of the kind "message" takes that message out of the inbox. It gives about how many bytes it added,
    and raises `Fenced` where the claim was taken or the session forgotten, `UsageError` for a tree that is not plain,
    `JournalFailed` where the storage failed. All leave what was there as it was. `forget` removes a session and all
    that only it needs, and says what that was; `UsageError` while a fork or a child of it is there.
    """

    def create(self, facts: Facts, holder: Holder | None = None) -> Claim: ...
    def claim(self, session: str, holder: Holder | None = None, *, take_over: bool = True) -> Claim: ...
    def renew(self, *claims: Claim) -> Sequence[Claim]: ...
    def release(self, claim: Claim) -> None: ...
    def write(self, claim: Claim, *changes: Change) -> int: ...
    def forget(self, session: str) -> Forgotten: ...


class Reading(Protocol):
    """The other half: what was written, as the last `write` left it. A session is read without its parent's entries.

    With `upto`, as it was when that entry was the last. All but `sessions` and `summaries` raise `NoSession` where
    there is none of that id. `summaries` are the latest first: those that were written to before `before`, a summary of
    an earlier answer, where it is given.
    """

    def sessions(self) -> Sequence[str]: ...
    def summaries(
        self, *, state: str = "", agent: str = "", limit: int | None = None, before: Summary | None = None
    ) -> Sequence[Summary]: ...
    def summary(self, session: str) -> Summary: ...
    def family(self, session: str) -> Sequence[Summary]: ...  # all forks and children of its root, the root first
    def facts(self, session: str) -> Facts: ...
    def entries(self, session: str, first: int = 1, upto: int | None = None) -> Sequence[Entry]: ...
    def cells(self, session: str, first: int = 0, upto: int | None = None) -> Sequence[CellRow]: ...  # by number
    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]: ...  # as first written
    def turns(self, session: str, upto: int | None = None) -> Sequence[TurnRow]: ...  # by number
    def notes(self, session: str, upto: int | None = None) -> Sequence[Note]: ...
    def checkpoints(self, session: str) -> Sequence[Checkpoint]: ...  # by cell


class Blobs(Protocol):
    """Bytes by their content, stored once however often they are kept, as long as a session that kept them is there.

    `keep` raises `NoSession` where there is none of that id. `blob` raises `KeyError` for an unknown digest, and
    `JournalFailed` for content that is not what was kept.
    """

    def keep(self, session: str, content: bytes) -> str: ...
    def blob(self, digest: str) -> bytes: ...


class Deciding(Protocol):
    """Questions to people, which any process may decide.

    `ask` writes a question down once, and gives it with its decision if it has one. `decide` gives it with this
    decision; `NoQuestion` where there is none of that id, `UsageError` where it is decided already, or was too late.
    `questions` are those without a decision that are not too late, the oldest first, or all. `granted` is the decision
    that says always, for an operation in a session; `revoke` takes back what was said of it, and says whether there was
    anything.
    """

    def ask(self, claim: Claim, question: Question) -> Question: ...
    def decide(self, question: str, decision: Decision) -> Question: ...
    def question(self, question: str) -> Question: ...
    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]: ...
    def granted(self, session: str, operation: str) -> Decision | None: ...
    def revoke(self, session: str, operation: str) -> bool: ...


class Inbox(Protocol):
    """Messages to a session, from any process, until a turn takes them up. Both raise `NoSession`."""

    def post(self, session: str, message: Message) -> Message: ...
    def inbox(self, session: str) -> Sequence[Message]: ...


class Searching(Protocol):
    """Full text over what was asked, said, run, printed and written; in prompts, code, outputs, errors, file names.

    All words of the query must be there, "in quotes" one after the other, with a star any that begins so; where there
    is nothing, any of the words will do. The best first. `within` bounds it to these parts of these sessions.
    `catch_up` takes into the index what it has not yet; a search does so by itself.
    """

    def search(
        self, query: str, *, within: Sequence[Reach] | None = None, kinds: Sequence[str] = (), limit: int = 20
    ) -> Sequence[Found]: ...
    def catch_up(self) -> int: ...


class Store(Reading, Writing, Blobs, Deciding, Inbox, Searching, Protocol):
    """Sessions, and what belongs to them. `close` may be called twice."""

    def close(self) -> None: ...
