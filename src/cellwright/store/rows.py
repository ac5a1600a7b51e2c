"""The values that a store keeps. Knows nothing of guests, scopes or how they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cellwright.doors import Made
from cellwright_guest.wire import NOTHING, Packed

DoorName = Literal["host", "guest", "model", "undo"]
Status = Literal["asked", "started", "done", "failed", "cancelled"]
CellStatus = Literal["running", "done", "failed", "ended"]
TurnStatus = Literal["running", "waiting", "done", "failed", "cancelled"]
MessageKind = Literal["add", "ask", "redirect", "cancel", "stop"]
NoteKind = Literal["named", "message", "answered", "decided", "rewound", "shown", "labelled", "private"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One call through a door. `path` is its name for good; the other fields say what was called and its outcome.

    door       "host": guest code asks; "guest": host code calls a guest function; "model"; "undo" of a call
    key        operation and argument hash: a repeated run is the same run if it makes the same calls
    status     asked (a person is being asked), started (the effect may have happened), done, failed, cancelled
    delivered  the number of the result among all that the guest got; for a "guest" row, of the call itself
    at         the guest's clock after that delivery
    after      for a "guest" row: the last call that the guest had made before it
    labels     what its answer carries: "untrusted", "private"
    sent       the arguments that the call was made with, where a hook changed those that the guest asked with
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
    imported: bool = False  # it came in a file, and nobody here made that call
    labels: tuple[str, ...] = ()
    sent: Packed | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRow:
    """One cell. `ended` is a cell that a limit, a cancel or a crash ended: its code is never run again.

    before, after   how many results the guest had got when it began, when it ended
    tree            the workspace before it, as a name that `Trees` can read; "" where no copy was made
    tree_after      the same after it
    files           paths that it added, changed or removed; a bounded number of them
    pending         paths of calls under way when it ended
    undone          it was rolled back: the session's state is without it
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
    tree_after: str = ""
    files: tuple[str, ...] = ()


IMPORTED = '"import"'


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRow:
    """One turn of an agent: written when its task is set, and again when something has come of it.

    waiting   a cell of it waits for a person's yes, and its guest was ended
    cell      the last cell before it
    asked     the number of the last request to the model before it
    answer    the answer for people, or why there is none
    data      what the person handed over with the task, as JSON; "" for nothing
    heard     the task is no person's own words: influenced code of another agent wrote it
    opened    how a command opened the session for it, as JSON, so that it can be opened again; never part of an
              export. `IMPORTED` for a turn that was under way when it was exported: it is carried on only when asked
    """

    number: int
    task: str
    status: TurnStatus = "running"
    at: float = 0.0
    cell: int = 0
    asked: int = 0
    answer: str = ""
    opened: str = ""
    data: str = ""
    heard: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What a person did to a session; part of its history.

    named     its branch got the name `text`
    message   a person's message was taken up by the turn; `about` is its number in the inbox, `what` its kind
    answered  the model's answer to the question in message `about`
    decided   a question was decided; `about` is its id
    shown     all that the question `about` is about, where its own text is shortened
    labelled  answers of the session carry labels from here on
    private   new tokens of private values, with the values, sealed with a key of the host; leaves with no export
    rewound   the state is again that after cell `about`; `text` is the number of the entry that this note follows
    """

    kind: NoteKind
    text: str = ""
    who: str = ""
    about: str = ""
    at: float = 0.0
    what: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A guest's state after `cell`, pickled by the guest. A cache: losing it costs only time.

    `content` is given when it is written; a checkpoint that is read has it in `Blobs`.
    """

    cell: int
    digest: str  # of the blob that holds it
    signature: str
    missing: tuple[str, ...] = ()  # what could not be pickled, and comes back by replay alone
    content: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedCheckpoint:
    """Drop the checkpoint of `cell` and its blob, which nothing else of the session uses."""

    cell: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A session's own row, written once. A fork has a `parent`, and begins with its cells up to `parent_cell`.

    parent_entry   where it is not 0, the last entry of the parent that the fork knows
    child_of       the session whose code spawned the agent of this one
    agent          the name of the agent that it is for; "" where there is none
    imported       it came in a file, with its first rows; they say so each
    import_key     of an imported one: chance of this store, that no file tells
    """

    id: str
    created: float
    seed: bytes
    pins: dict[str, str]  # what a replay must find the same: interpreter, packages, guest version, CPU kind
    names: Packed
    made: tuple[Made, ...] = ()
    parent: str = ""
    parent_cell: int = 0
    parent_entry: int = 0
    child_of: str = ""
    agent: str = ""
    imported: bool = False
    import_key: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A person's answer to a question. `always`: the operation is not asked about again, in the session or anywhere."""

    yes: bool
    reason: str = ""
    who: str = ""
    at: float = 0.0
    always: Literal["", "session", "operation"] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A call that waits for a person's yes. `arguments` are all of them as text, for that person alone.

    `digest` is that of all content of the host objects in the call, which the call is compared with when it is made.
    `why` is what is unusual about the call, or why a policy asks; "" where its operation asks always.
    """

    id: str
    session: str
    cell: int
    path: str
    operation: str
    arguments: str
    asked: float
    expires: float | None = None
    line: int = 0
    decision: Decision | None = None
    digest: str = ""
    why: str = ""


EntryChange = Row | CellRow | TurnRow | Note
Change = EntryChange | Checkpoint | DroppedCheckpoint | Question


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """One change, as it was written. Entries are only ever added.

    number   1, 2, 3 … in its session
    parent   the number of the entry that it follows: the one before it; for a note of a rewind, the last one that
             still counts. 0: it is the first of its session, and follows the `parent_entry` of a fork
    at       when it was written
    """

    session: str
    number: int
    parent: int
    at: float
    change: EntryChange


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """The right to write to one session, until somebody else claims it."""

    session: str
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseHolder:
    """The process that has a lease. `machine` and `started` tell it from another process with the same number."""

    machine: str  # of one boot, and one pid namespace of it
    process: int
    started: str
    name: str = ""  # for people: the host's


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """A session in a list. `state` is as it was last written; "running" without a holder: its process died."""

    id: str
    title: str  # its branch's name, or the first task or code, in short
    state: Literal["new", "running", "waiting", "done", "failed", "cancelled"]
    created: float
    updated: float
    turns: int = 0
    cells: int = 0
    entries: int = 0
    name: str = ""
    agent: str = ""
    parent: str = ""
    parent_cell: int = 0
    parent_entry: int = 0
    child_of: str = ""
    holder: LeaseHolder | None = (
        None  # with a lease that has not run out, on a process that lives as far as can be known
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A person's message to a session that works; the turn takes it up at its next step.

    add        more for the task         ask      a question, to be answered without disturbing the task
    redirect   another task in its place cancel   end the turn at the next step
    stop       end it now, and the cell that runs with it
    """

    kind: MessageKind
    text: str = ""
    who: str = ""
    at: float = 0.0
    number: int = 0  # given by the store


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The entries of a session up to one of them; a branch is several of these."""

    session: str
    upto: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryHit:
    """An entry that a search found. In `snippet`, what matched stands between \x02 and \x03."""

    session: str
    entry: int
    kind: Literal["prompt", "reply", "code", "output", "error", "file"]
    snippet: str
    score: float  # the higher the better
    cell: int = 0
    at: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten:
    """What was removed with a session."""

    entries: int
    blobs: int
    bytes: int
    indexed: int  # texts of the search index
