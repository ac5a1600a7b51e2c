"""Calls that no honest guest makes, straight to the host: each was a hole once, or would be one.

Attacks that run as guest code are in `tests/attacks`; here stand those that need a scope of their own.
"""

from __future__ import annotations

import asyncio
import enum
import importlib
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from cellwright import Scope
from cellwright.doors import Answer, Call, Made
from cellwright.errors import CallLimit, CannotCross, GuestGone
from cellwright.redaction import clean
from cellwright.scope import ScopeHost, frames, guest_functions
from cellwright.scope.construction import conforms
from cellwright.scope.handles import Handles
from cellwright.scope.rules import Place
from cellwright.scope.values import is_by_value
from cellwright.scope.worker import Worker
from cellwright_guest.unpacker import Unpacker, refuse
from cellwright_guest.wire import Bounds, Packed, WireError

SECRET = "SECRET-4711"
pa: Any = importlib.import_module("pyarrow")  # has no types of its own


class Guest:
    """Answers each call of the host with one and the same tree."""

    def __init__(self, tree: Any = None) -> None:
        self.tree = tree
        self.given_back: list[int] = []

    def invoke(
        self,
        lent: int,
        parent: int,
        arguments: Packed,
        path: str = "",
        at: float = 0.0,
        made: tuple[Made, ...] = (),
    ) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_result(Answer(value=Packed(self.tree, [])))
        return future

    def give_back(self, lent: int, count: int) -> None:
        self.given_back.append(lent)


class Session:
    """A host that is asked by raw calls."""

    def __init__(self, scope: Scope, guest: Guest | None = None) -> None:
        self.host = ScopeHost(scope)
        self.names: Any = self.host.open(guest or Guest(), frozenset()).names.tree["m"]
        self._numbers = itertools.count(1)

    def handle(self, name: str) -> int:
        tree = self.names[name]
        return tree["h"][0] if "h" in tree else tree["f"][0] if "f" in tree else tree["c"][0]

    async def ask(self, verb: str, target: int, name: str = "", *args: Any) -> Any:
        """The tree of the answer; an exception of the guest's kind where it failed."""
        call = Call(
            id=next(self._numbers), cell=1, verb=verb, target=target, name=name, arguments=Packed({"t": [*args]}, [])
        )
        answer = await asyncio.wait_for(self.host.call(call), 10)
        if answer.failed:
            raise Refused(answer.value.tree["E"][3])
        return answer.value.tree


class Refused(Exception):
    """The host answered with an exception."""


class Client:
    """Credentials of every sort, hidden by presets or by rules."""

    token = SECRET
    LIMIT = 5

    def __init__(self) -> None:
        self.endless = itertools.count()
        self.handlers: list[Callable[..., Any]] = []
        self.written: list[Any] = []

    @property
    def password(self) -> str:
        return SECRET

    def admin(self) -> str:
        return SECRET

    def write(self, x: Any) -> int:
        self.written.append(x)
        return len(self.written)

    def on(self, f: Callable[..., Any]) -> None:
        self.handlers.append(f)

    def fire(self) -> Any:
        return self.handlers[0]()

    @classmethod
    def made(cls) -> str:
        return "made"

    def __repr__(self) -> str:
        return f"Client(password={SECRET!r}, url='https://me:{SECRET}@example.invalid') at 0x7f0011223344"


class Ways(enum.IntFlag):
    IN = 1
    OUT = 2


@dataclass
class Rows:
    rows: list[list[int]]
    anything: Any = None


class Model(BaseModel):
    rows: list[list[list[int]]]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    scope = Scope({"client": Client(), "Client": Client, "Rows": Rows, "Model": Model, "ways": Ways.IN, "Ways": Ways})
    scope.declare("client.*", hide=["admin"])
    made = Session(scope)
    yield made
    made.host.close()


CLASS_NUMBERS = range(-8, 0)


@pytest.mark.parametrize("name", ["token", "password", "admin", "write", "mro", "__init__", "__subclasses__"])
async def test_a_class_number_leads_to_no_member_of_objects(session: Session, name: str) -> None:
    client = {"h": session.handle("client")}
    for number in CLASS_NUMBERS:
        for verb, args in (("get", ()), ("call", (client,)), ("call", (client, 1))):
            with pytest.raises(Refused):
                await session.ask(verb, number, name, *args)


async def test_a_class_number_leads_to_class_methods_and_plain_data(session: Session) -> None:
    number = session.handle("Client")
    assert await session.ask("call", number, "made") == "made"
    assert await session.ask("get", number, "LIMIT") == 5


async def test_a_function_of_a_read_only_object_is_not_handed_out() -> None:
    client = Client()
    for pattern in ("client.*", "Client.*"):
        scope = Scope({"client": client})
        scope.declare(pattern, read_only=True)
        session = Session(scope)
        tries: list[tuple[str, str, tuple[Any, ...]]]
        tries = [("call", "write", (1,)), ("get", "write", ()), ("set", "written", ([],))]
        for verb, name, args in tries:
            with pytest.raises(Refused, match="read-only"):
                await session.ask(verb, session.handle("client"), name, *args)
        session.host.close()
    assert client.written == []


async def test_a_bound_function_under_a_read_only_rule_is_not_called() -> None:
    written: list[int] = []
    scope = Scope({"write": written.append})
    scope.declare("write", read_only=True)
    session = Session(scope)
    with pytest.raises(Refused, match="read-only"):
        await session.ask("call", session.handle("write"), "", 1)
    assert written == []
    session.host.close()


async def test_a_method_is_not_replaced(session: Session) -> None:
    for verb, args in (("set", ({"g": [1, "function", "f"]},)), ("del", ())):
        with pytest.raises(Refused, match="code of the host"):
            await session.ask(verb, session.handle("client"), "write", *args)
    assert await session.ask("call", session.handle("client"), "write", 1) == 1


async def test_operators_that_a_type_lacks_are_not_run_by_what_python_does_instead(session: Session) -> None:
    endless = (await session.ask("get", session.handle("client"), "endless"))["h"][0]
    write = (await session.ask("get", session.handle("client"), "write"))["f"][0]
    with pytest.raises(Refused, match="__contains__"):
        await session.ask("op", endless, "__contains__", -1)  # Python would search for ever
    for target, name, args in (
        (session.handle("client"), "__hash__", ()),  # Python would tell the address
        (write, "__hash__", ()),
        (session.handle("client"), "__rmod__", ("%r",)),
    ):
        with pytest.raises(Refused, match="has no __"):
            await session.ask("op", target, name, *args)


async def test_a_repr_tells_no_credential_and_no_address(session: Session) -> None:
    text = await session.ask("op", session.handle("client"), "__repr__")
    assert SECRET not in text
    assert "0x" not in text


async def test_a_function_of_another_session_cannot_be_walked(session: Session) -> None:
    client = Client()
    first, second = Session(Scope({"client": client})), Session(Scope({"client": client}))
    await first.ask("call", first.handle("client"), "on", {"g": [1, "function", "f"]})
    (handler,) = await second.ask("get", second.handle("client"), "handlers")
    number = handler["f"][0]
    assert set(await second.ask("dir", number)) <= {"kind", "call_async"}
    for name in ("finalizer", "number", "counts", "_lender", "_number", "_counts", "lender"):
        with pytest.raises(Refused):
            await second.ask("get", number, name)
    first.host.close()
    second.host.close()


async def test_nonsense_of_one_guest_is_no_breach_of_another() -> None:
    client = Client()
    first, second = Session(Scope({"client": client}), Guest({"zz": 1})), Session(Scope({"client": client}))
    await first.ask("call", first.handle("client"), "on", {"g": [1, "function", "f"]})
    with pytest.raises(Refused, match="what no guest sends"):  # and no WireError, which would end the second session
        await second.ask("call", second.handle("client"), "fire")
    first.host.close()
    second.host.close()


async def test_guest_functions_are_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_functions, "LIVE", 10)
    lend = [{"g": [i, "function", "f"]} for i in range(20)]
    with pytest.raises(Refused, match="more than 10 guest functions"):
        await session.ask("call", session.handle("client"), "write", lend)
    assert await session.ask("call", session.handle("client"), "write", lend[:5]) == 1


def test_live_handles_are_bounded() -> None:
    handles = Handles(live=3)
    place = Place("x", object)
    kept = [object() for _ in range(4)]
    for one in kept[:3]:
        handles.hold(one, place)
    with pytest.raises(CallLimit):
        handles.hold(kept[3], place)


async def test_a_call_cancelled_before_it_began_never_begins() -> None:
    worker = Worker("test")
    free = threading.Event()
    done: list[str] = []
    first = asyncio.ensure_future(worker.run(lambda: (free.wait(10), done.append("first"))))
    second = asyncio.ensure_future(worker.run(lambda: done.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    free.set()
    await first
    await worker.run(lambda: None)
    assert done == ["first"]
    worker.close()


async def test_flags_are_made_of_known_bits_alone(session: Session) -> None:
    number = session.handle("Ways")
    assert await session.ask("call", session.handle("client"), "write", {"e": [number, 3]}) == 1
    with pytest.raises(WireError):
        await session.ask("call", session.handle("client"), "write", {"e": [number, 1 << 40]})
    assert (1 << 40) not in Ways._value2member_map_


# data that stands in many places, or holds itself


def ring() -> list[Any]:
    made: list[Any] = []
    made.extend([made] * 50)
    return made


def bomb(depth: int) -> list[Any]:
    made: list[Any] = [1]
    for _ in range(depth):
        made = [made, made]
    return made


def test_a_shared_part_is_checked_once() -> None:
    row = [1] * 3000
    assert conforms([row] * 100_000, list[list[int]])
    assert not conforms([row, [*row, "x"]] * 50_000, list[list[int]])
    assert conforms(ring(), list[list[list[Any]]])
    assert not conforms([["x"]], list[list[int] | list[float]])


def test_a_record_is_looked_through_once() -> None:
    assert is_by_value(Rows([], bomb(45)))
    assert is_by_value(Rows([], ring()))
    assert not is_by_value(Rows([], [*bomb(10), object()]))


@pytest.mark.parametrize("kind", ["Rows", "Model"])
async def test_a_record_takes_no_data_that_holds_itself(session: Session, kind: str) -> None:
    own = [{"r": 1}, {"r": 1}]  # 0 would be the list of fields, which has no number
    for args in ((own,), ([own],)):
        with pytest.raises((Refused, WireError)):
            await session.ask("new", session.handle(kind), "", *args)


@pytest.mark.parametrize("depth", [30, 100_000])
def test_references_count_as_what_they_refer_to(depth: int) -> None:
    parts: list[Any] = [{"t": [1]}, *({"t": [{"r": i + 1}, {"r": i + 1}]} for i in range(depth))]
    with pytest.raises(WireError, match="larger than the bound"):
        Unpacker([], refuse, Bounds()).unpack([*parts, {"s": [{"r": depth}]}])


def test_long_texts_are_cleaned_in_linear_time() -> None:
    for text in ("://" + ":" * 2_000_000, "://" * 600_000, "secret" + " " * 2_000_000, "/home" + "/" * 2_000_000):
        assert clean(text)


# Arrow data


def arrow(table: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def built(data: bytes, name: str = "pyarrow.Table", *more: Any) -> Any:
    has = frozenset(("numpy", "pandas", "pyarrow", "polars"))
    return frames.build([name, 0, *more], Unpacker([data], refuse, Bounds()), has)


def plain_table() -> Any:
    return pa.table(
        {
            "a": [1, 2],
            "b": ["x", None],
            "c": [[1], []],
            "d": pa.array(["k", "k"]).dictionary_encode(),
            "n": [None, None],
        }
    )


def test_an_ordinary_table_crosses() -> None:
    assert built(arrow(plain_table())) == plain_table()


def hostile_tables() -> Iterator[Any]:
    zeros = pa.table({"a": pa.array([0] * 1_000_000)})
    yield pytest.param(arrow(zeros, compression="zstd"), id="compressed with zstd")
    yield pytest.param(arrow(zeros, compression="lz4"), id="compressed with lz4")
    words = pa.table({"a": pa.array(["x" * 1000] * 1000).dictionary_encode()})
    yield pytest.param(arrow(words, compression="zstd"), id="a compressed dictionary")
    yield pytest.param(arrow(pa.table({"a": pa.nulls(10**9)})), id="a thousand million nothings")
    yield pytest.param(arrow(pa.table({"a": pa.array([["x"]], pa.list_(pa.string_view()))})), id="views")
    yield pytest.param(arrow(pa.table({"a": pa.array([[None] * 9], pa.list_(pa.null()))})), id="nothings in a list")
    yield pytest.param(arrow(pa.table({"a": pa.array([{}] * 9, pa.struct([]))})), id="structs of nothing")


@pytest.mark.parametrize("data", list(hostile_tables()))
def test_a_table_that_would_grow_is_refused(data: bytes) -> None:
    for name in ("pyarrow.Table", "pandas.DataFrame"):
        with pytest.raises((CannotCross, WireError)):
            built(data, name)


@pytest.mark.parametrize("cut", [0, 1, 8, 100, 300])
def test_cut_and_spoilt_arrow_bytes_are_refused(cut: int) -> None:
    data = arrow(plain_table())
    with pytest.raises(WireError):
        built(data[:cut])
    spoilt = bytearray(data)
    for at in range(8, min(len(spoilt), 400), 7):
        spoilt[at] ^= 0xFF
    with pytest.raises((WireError, CannotCross)):
        built(bytes(spoilt))


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("|O", [4]),
        ("O", [4]),
        ("<i8", [5]),
        ("<i8", [2**62, 2**62]),
        ("<i8", [-4]),
        ("<i8", [True, 4]),
        ("<i8", "4"),
        ("<i8,<i8", [2]),
        ("<U8", [1]),
        ("", [4]),
        ("<i8" * 10, [4]),
    ],
)
def test_an_array_that_lies_is_refused(dtype: str, shape: Any) -> None:
    with pytest.raises(WireError):
        built(bytes(32), "numpy.ndarray", dtype, shape)


async def test_a_library_that_the_guest_does_not_have_is_not_loaded_for_it(session: Session) -> None:
    with pytest.raises(WireError, match="does not have"):
        await session.ask("call", session.handle("client"), "write", {"a": ["pandas.DataFrame", 0]})


# what is shown of calls


async def test_the_title_of_a_call_is_short_and_plain(session: Session) -> None:
    title = session.host.about("get", 1, "\x1b[31m\ud800" + "x" * 900).title
    assert len(title) <= 200
    assert title.isascii()
    assert title.isprintable()


def test_a_guest_function_that_outlives_its_session_says_so() -> None:
    lender = guest_functions.Lender(Worker("test"))
    function = lender.take(1, "function", "f")
    with pytest.raises(GuestGone):
        function()


async def test_a_wrong_field_is_told_in_few_words(session: Session) -> None:
    parts: list[Any] = [[1], *([{"r": i + 1}, {"r": i + 1}] for i in range(15))]
    with pytest.raises(Refused) as refused:
        await session.ask("new", session.handle("Rows"), "", parts)
    assert len(str(refused.value)) < 5000
