"""The doors: the contracts at which everything meets. A feature is a wrapper round one of them.

    Host.call        code in the sandbox asks for something outside it
    Model.request    ask the language model

What passes is packed: plain trees and bytes that can be kept, hashed and compared without running anybody's code.
A door does not know who asks, which sandbox they sit in, or what stands behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from cellwright.errors import UsageError
from cellwright.messages import AssistantMessage, Generation, Message, OnPiece, Tool, Traits, Usage
from cellwright_guest.wire import Packed

BY_GUEST = "the guest no longer waits"
"""What the `CancelledError` says that ends a call whose guest code was cancelled; other reasons say nothing."""


Fields = bool | tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """Facts about one operation. What is not said is assumed to be the careful answer."""

    reads: bool = False  # changes nothing: allowed under `read_only`, may be run again to revive a handle
    idempotent: bool = False  # twice is as good as once
    undo: Callable[..., Any] | None = None
    revive: Callable[..., Any] | None = None
    direct: bool = False  # offered to the model as an ordinary function call too
    ask: bool = False  # each call waits for a person's yes
    shown: Callable[[Any], Any] | None = None  # gives what a person is shown of a host object: text or plain data
    takes_guarded: bool = False  # may be given functions that ask, or are refused: it calls them without the rules
    patient: bool = False  # waits for a person, or for another agent: the cell's time stands still meanwhile
    timeout_s: float | None = None
    destructive: bool = False  # removes what is there, or may: a policy can tell it from other writing
    open_world: bool = False  # an MCP server hints that outsiders may have written its answers
    own: bool = False  # the runtime's, such as `search` and `done`: no policy is about it
    # What the guard knows. A fact of fields is True for the whole answer, or names the fields that it is about.
    untrusted: Fields = False  # outsiders may have written it: mail bodies, pages, tickets, files of others
    private: Fields = False  # confidential
    trusted: Fields = False  # only the house writes it: its values prove to whom, or on what, a call acts
    selecting: tuple[str, ...] | None = None  # parameters that say to whom, or on what, it acts; None: all that may
    outward: bool | None = None  # its arguments leave the house; None: those of an operation that is not known to read
    may_have: Fields = False  # kinds of private values that it is given, and not their tokens; True: all
    # None: the session's worker, or the loop for asyncio's own objects. "task": an `async def` that guest code calls
    # without `await`; it runs on the loop, and other calls meanwhile.
    thread: Literal["worker", "loop", "task"] | None = None

    def __post_init__(self) -> None:
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise UsageError(f"timeout_s={self.timeout_s!r}: give seconds above zero, or leave it out")
        if self.thread not in (None, "worker", "loop", "task"):
            raise UsageError(f'thread={self.thread!r}: give "worker", "loop" or "task"')
        for name in ("untrusted", "private", "trusted", "selecting", "may_have"):
            object.__setattr__(self, name, _fields(name, getattr(self, name)))

    @property
    def has_labels(self) -> bool:
        """Whether something is declared of its answer."""
        return bool(self.untrusted or self.private or self.trusted)


def _fields(fact: str, given: Any) -> Any:
    """A fact of fields: True, False, or names; of a list of names a tuple is made."""
    if given is None or type(given) is bool:
        return given
    names: tuple[Any, ...] = tuple(given) if type(given) in (list, tuple, set, frozenset) else (None,)
    if not names:
        return () if fact == "selecting" else False
    if not all(type(name) is str for name in names):
        raise UsageError(f'{fact}={given!r}: give True, or a list of names, as in {fact}=["body"]')
    return names


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What is known of a call before it is made: its name for people, and the facts of its operation.

    `known_as` names the operation for all calls of it, in every session; "" where it has no such name. `patterns` are
    those of a policy's patterns that cover it, under any of its names. `data`: it only builds plain data.
    """

    title: str
    operation: Operation
    known_as: str = ""
    patterns: frozenset[str] = frozenset()
    data: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are surely its own."""
        return (self.title, self.known_as) if self.known_as and self.known_as != self.title else (self.title,)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallContent:
    """What a person is shown of the host objects in a call.

    target   the object that is called, or whose method is; "" where its name says all
    objects  those in the arguments, by their numbers; "" where its name says all. Guest functions are below zero
    wholes   longer texts of some of these, by the same numbers; 0 is the target
    digest   of all of the content; "" where there is none to compare
    tags     these objects and functions, as they are packed
    refused  why nobody can be asked: the call is not to be made
    """

    target: str = ""
    objects: Mapping[int, str] = field(default_factory=dict[int, str])
    wholes: Mapping[int, str] = field(default_factory=dict[int, str])
    digest: str = ""
    tags: tuple[tuple[str, Any], ...] = ()
    refused: Exception | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """What was decided about a call before a person is asked, and before it is made.

    rule    the rule that decided, in words: for the audit
    user    for whom the session works; "" where nobody said
    allows  a rule allows the call by name: its operation's own `ask` is answered by that
    asks    a rule wants a person's yes, though the operation does not
    why     what is unusual about the call, in one sentence for the person; "" where nothing is
    key     what a yes for all such calls is kept under, where that is not the operation: a question of the data flow
    own     the key means something in this session alone: it names an object by its number
    labels  what had reached the session when it was decided: "untrusted", "private", "influenced"
    """

    rule: str = ""
    user: str = ""
    allows: bool = False
    asks: bool = False
    why: str = ""
    key: str = ""
    own: bool = False
    labels: tuple[str, ...] = ()


UNKNOWN = About(title="", operation=Operation())
"""Of a call that nobody has looked up: the innermost host does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One request of guest code. `target` is a handle; `name` is the attribute or operator that `verb` works on.

    `about` is what the host knows of it, looked up once, when the call comes in. `refused`: the call is not to be made,
    and this exception is its answer. `id` is good while the call is under way, `path` for ever: the cell, the task in
    it, the count there. Only guests of journaled sessions tell `path` and the `line` of the cell. `approved`: a person
    said yes to it. An operation that must be asked for is never carried out without that. `content`: what that person
    was shown of the host objects; the call is made with objects of the same content, or raises `ContentChanged`.
    `ruling`: what the guard decided. `asked`: the guest's own arguments, where a hook changed them: the journal
    compares these, and the call is made with `arguments`.
    """

    id: int
    cell: int
    verb: str
    target: int
    name: str
    arguments: Packed
    path: str = ""
    line: int = 0
    about: About = UNKNOWN
    refused: Exception | None = None
    approved: bool = False
    content: CallContent | None = None
    ruling: Ruling | None = None
    asked: Packed | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A host object (`number` above zero) or a class (below) that the guest was told of for the first time.

    `path` is where it stands in the scope, `kind` names its class well enough to find it again in another process.
    """

    number: int
    path: str
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the guest gets: a packed value, or a packed exception when `failed`.

    `made` is what the guest learns of by it, `kept` the own data of those objects that gave any, by their numbers. `at`
    and `back` are the journal's: the guest's clock from then on (0: it reads its own), and guest functions that the
    host let go of since the last answer, each with a count. `labels` and `sent` are for the journal alone: what the
    answer carries ("untrusted", "private"), and the arguments of the call where a hook had changed them. `refused`: a
    person said no, and the call was not made.
    """

    value: Packed
    failed: bool = False
    made: tuple[Made, ...] = ()
    kept: Packed | None = None
    at: float = 0.0
    back: tuple[tuple[int, int], ...] = ()
    labels: tuple[str, ...] = ()
    sent: Packed | None = None
    refused: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginning:
    """What a guest begins with: its names; and, where the session is journaled, its clock and its randomness."""

    names: Packed
    made: tuple[Made, ...] = ()
    at: float = 0.0
    seed: bytes = b""
    more: tuple[tuple[Packed, tuple[str, ...], int], ...] = ()  # further names: of each set only these, after that cell


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectOrigin:
    """Where a host object came from that did not outlive its process: the call that returned it."""

    call: Call
    title: str
    alone: bool  # the answer held no other host object
    touched: bool  # something was called on the object since that may have changed it
    kept: Packed | None = None  # of that call's answer
    imported: bool = False  # only a file that was imported tells of that call


class GuestDoor(Protocol):
    """The way back: host code calls a function that the guest lent it. Both methods may be called from any thread.

    `invoke` gives the guest's answer in time, or `GuestGone` as its exception. `parent` is the call of the guest during
    which it happens, 0 for none; `made` is what the guest learns of by the arguments. `path` and `at` are the
    journal's, as in `Call` and `Answer`. `give_back` says that the host keeps `count` references to the function no
    longer.
    """

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Future[Answer]: ...
    def give_back(self, lent: int, count: int) -> None: ...


class Lineage(Protocol):
    """What the journal knows of host objects that are gone.

    `imported` says whether an import alone tells of an object or a class. `refusal` is why an object must not be
    brought back, "" where it may be: for an imported one, a person is asked.
    """

    def known(self) -> Sequence[Made]: ...
    def origin(self, handle: int) -> ObjectOrigin | None: ...
    def imported(self, number: int) -> bool: ...
    async def refusal(self, made: Made, origin: ObjectOrigin) -> str: ...


class Host(Protocol):
    """Answers the calls of one session.

    `call` never raises for what the object behind it did: an exception there is a failed `Answer`. It may be awaited
    many times at once. Cancelling it cancels the work behind it, as far as that can be cancelled. `about` says what is
    known of such a call, before there is one. `open` begins with a guest; with a `lineage` the guest lives on in a
    journal, and objects that it knows are revived when it uses them. `value` reads what a cell came to. `drop` says
    that the guest let go of an object. What no honest guest sends raises `WireError`.
    """

    def call(self, call: Call) -> Coroutine[Any, Any, Answer]: ...
    def about(self, verb: str, target: int, name: str, path: str = "") -> About: ...
    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning: ...
    def value(self, packed: Packed) -> object: ...
    def drop(self, handle: int, count: int) -> None: ...


class Shows(Protocol):
    """What tells the content of a call before it is made. It never raises for what the objects do."""

    async def content(self, call: Call) -> CallContent: ...


@runtime_checkable
class Undo(Protocol):
    """What undoes calls that were made.

    `undo` undoes one that gave `answer`, and raises what goes wrong. `cannot_undo` says what stands in the way of that,
    "" for nothing. `undo_repeats` says whether the undo of this call may run twice. `told` is an exception of an undo
    as guest code may read it.
    """

    async def undo(self, call: Call, answer: Answer) -> None: ...
    async def cannot_undo(self, call: Call, answer: Answer) -> str: ...
    def undo_repeats(self, call: Call) -> bool: ...
    def told(self, error: BaseException) -> str: ...


class Wrapper:
    """A host that does what the one inside does. A feature overrides what it is about."""

    def __init__(self, inner: Host) -> None:
        self.inner = inner

    async def call(self, call: Call) -> Answer:
        return await self.inner.call(call)

    def about(self, verb: str, target: int, name: str, path: str = "") -> About:
        return self.inner.about(verb, target, name, path)

    def open(self, guest: GuestDoor, libraries: frozenset[str], lineage: Lineage | None = None) -> Beginning:
        return self.inner.open(guest, libraries, lineage)

    def value(self, packed: Packed) -> object:
        return self.inner.value(packed)

    def drop(self, handle: int, count: int) -> None:
        self.inner.drop(handle, count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a language model is asked. Two requests of one turn differ at their end only, so that a cache serves.

    `aside`: its reply becomes no part of the conversation, as that of a summary does not.
    """

    messages: tuple[Message, ...]
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    generation: Generation = field(default_factory=Generation)
    aside: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What it said, which model said it, and what that took. `cut`: it stopped because it ran out of room."""

    message: AssistantMessage
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    cut: bool = False


class Model(Protocol):
    """A language model, known by its `name` ("anthropic:claude-…", "local").

    `request` tells `on_piece` the parts of the reply as they arrive and gives the whole; it raises a `ModelError` for
    what the provider did, and may be awaited many times at once. Cancelling it ends the request. `close` lets go of
    connections and memory.
    """

    @property
    def name(self) -> str: ...
    @property
    def traits(self) -> Traits: ...
    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply: ...
    async def close(self) -> None: ...


class ModelWrapper:
    """A model that does what the one inside does. A feature overrides what it is about."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def traits(self) -> Traits:
        return self.inner.traits

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        return await self.inner.request(request, on_piece)

    async def close(self) -> None:
        await self.inner.close()
