"""What a journal keeps, row by row, and the contract of one. Knows nothing of guests, scopes or how rows are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toolwright.doors import Made
from toolwright_guest.wire import NOTHING, Packed

DoorName = Literal["host", "guest", "model", "undo"]
Status = Literal["asked", "started", "done", "failed", "cancelled"]
CellStatus = Literal["running", "done", "failed", "ended"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One call through a door. `path` names it for ever; the other names say where it went and what came of it.

    door       "host": guest code asks; "guest": host code calls a guest function; "model"; "undo" of a call
    key        operation and argument hash: what a repeated run must ask again, to be the same run
    status     asked (a person is being asked), started (the effect may have happened), done, failed, cancelled
    delivered  the number of the answer among all that the guest got; for a "guest" row, of the call itself
    at         the guest's clock from that delivery on
    after      for a "guest" row: the last call that the guest had made before it
    """

    cell: int
    path: str
    door: DoorName = "host"
    title: str = ""
    verb: str = ""
    target: int = 0
    name: str = ""
    key: str = ""
    line: int = 0
    status: Status = "started"
    reads: bool = False
    arguments: Packed = NOTHING
    value: Packed | None = None
    delivered: int | None = None
    at: float = 0.0
    after: str = ""
    back: tuple[tuple[int, int], ...] = ()
    made: tuple[Made, ...] = ()
    kept: Packed | None = None  # the data of an object that can be rebuilt from it


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRow:
    """One cell. `ended` is a cell that a limit, a cancel or a crash ended: its code is never run again.

    before, after   how many answers the guest had got when it began, when it ended
    tree            the workspace before it, as a name that `trees` can read; "" where nothing was taken
    pending         paths of calls under way when it ended
    undone          it was rolled back: the session's state does not hold it
    """

    number: int
    code: str
    status: CellStatus = "running"
    at: float = 0.0
    before: int = 0
    after: int = 0
    tree: str = ""
    pending: tuple[str, ...] = ()
    undone: bool = False
    value: Packed | None = None  # of a cell that is done; {"stays": [type, text]} where it stayed in the guest
    stdout: str = ""
    error: dict[str, object] = field(default_factory=dict[str, object])  # class, type, message, text, line
    calls: tuple[tuple[str, float, str | None], ...] = ()
    rung: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A guest's state after `cell`, pickled by the guest for the guest. A cache: losing it loses time only.

    `content` is the blob itself where one is written with its checkpoint; what is read has it in `Blobs`.
    """

    cell: int
    digest: str  # of the blob that holds it
    signature: str
    missing: tuple[str, ...] = ()  # what could not be pickled, and comes back by replay alone
    content: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """The checkpoint of `cell` is not needed any more, nor is its blob, which nothing else of the session names."""

    cell: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A session's own row, written once. A fork has a `parent`, and begins with its cells up to `parent_cell`."""

    id: str
    created: float
    seed: bytes
    pins: dict[str, str]  # what a replay must find the same: interpreter, packages, guest version, CPU kind
    names: Packed
    made: tuple[Made, ...] = ()
    parent: str = ""
    parent_cell: int = 0


Change = Row | CellRow | Checkpoint | Dropped


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """The right to write to one session, until somebody else claims it."""

    session: str
    epoch: int


class Writing(Protocol):
    """The writing half of a journal. Safe for many processes at once; one writes to a session, through one journal.

    `create` makes a session, claimed; `UsageError` where there is one of that id. `claim` takes the right to write away
    from whoever had it; `NoSession` where there is none of that id. A later claim has a higher epoch, and no epoch is
    given twice in a journal. `write` writes all changes or none, in order, and is durable against the process's death
    when it returns; a change replaces the one with the same cell and path (rows) or number (cells, checkpoints). It
    gives about how many bytes it added, and raises `Fenced` where the claim was taken or the session forgotten,
    `UsageError` for a tree that is not plain, `JournalFailed` where the storage failed. All leave what was there as it
    was. `forget` removes a session and what only it needs; `UsageError` while a fork of it is there, `NoSession` where
    there is none of that id.
    """

    def create(self, facts: Facts) -> Claim: ...
    def claim(self, session: str) -> Claim: ...
    def write(self, claim: Claim, *changes: Change) -> int: ...
    def forget(self, session: str) -> None: ...


class Reading(Protocol):
    """The other half: what was written, as the last `write` left it. A session is read without its parent's rows.

    All but `sessions` raise `NoSession` where there is none of that id.
    """

    def sessions(self) -> Sequence[str]: ...
    def facts(self, session: str) -> Facts: ...
    def cells(self, session: str, first: int = 0) -> Sequence[CellRow]: ...  # by number
    def rows(self, session: str, first_cell: int = 0) -> Sequence[Row]: ...  # in the order of their first writing
    def checkpoints(self, session: str) -> Sequence[Checkpoint]: ...  # by cell


class Blobs(Protocol):
    """Bytes by their content, stored once however often they are kept, as long as a session that kept them is there.

    `keep` raises `NoSession` where there is none of that id. `blob` raises `KeyError` for an unknown digest, and
    `JournalFailed` for content that is not what was kept.
    """

    def keep(self, session: str, content: bytes) -> str: ...
    def blob(self, digest: str) -> bytes: ...


class Journal(Reading, Writing, Blobs, Protocol):
    """Sessions, and what came through their doors. `close` may be called twice."""

    def close(self) -> None: ...
