"""The short ways of a call promise what the long ones do: rules, bounds, tasks of their own, nobody kept waiting."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import json
import math
import os
import struct
import sys
import types
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import httpx
import pydantic
import pytest
from tests.cells import PATIENCE_S, PATIENT, outcomes, value
from tests.scope.test_hostile_guests import Refused, Session

from cellwright import Limits, Runtime, Scope
from cellwright.scope.declared_rule import Rule
from cellwright_guest.framing import FrameReader, frame, parse
from cellwright_guest.unpacker import Unpacker, refuse, simple_arguments
from cellwright_guest.wire import Bounds, WireError

RAW = """
import asyncio, json, struct
door, HANDLE = type(host)._cellwright_world.door, host._grip.handle

def framed(message):
    text = json.dumps([message, []]).encode()
    return struct.pack("<II", len(text), 0) + text

def call(number, name, tree={"t": []}):
    return framed(["c", number, door.cell, "call", HANDLE, name, [], tree])
"""

pandas: Any = importlib.import_module("pandas")  # has no types of its own

SEEN: contextvars.ContextVar[int] = contextvars.ContextVar("seen", default=0)


class Host:
    """Async methods, which are remembered once they were called."""

    def __init__(self) -> None:
        self.served = 0
        self.tasks: list[Any] = []
        self.woken = asyncio.Event()

    async def echo(self, *args: Any, **kwargs: Any) -> Any:
        self.served += 1
        return [list(args), kwargs] if kwargs else list(args)

    async def one(self) -> int:
        self.served += 1
        return 1

    def two(self) -> int:
        self.served += 1
        return 2

    async def later(self, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def wait(self) -> str:
        await self.woken.wait()
        return "woken"

    async def wake(self) -> None:
        self.woken.set()

    async def count(self) -> int:
        """How often this context has been here."""
        SEEN.set(SEEN.get() + 1)
        await asyncio.sleep(0)
        return SEEN.get()

    async def itself(self) -> tuple[bool, bool]:
        task = asyncio.current_task()
        before = task is not None and task not in self.tasks
        self.tasks.append(task)
        await asyncio.sleep(0)
        return before, asyncio.current_task() is task and task in asyncio.all_tasks()

    async def gives_up(self, how: str) -> str:
        try:
            if how == "asyncio":
                async with asyncio.timeout(0.01):
                    await asyncio.Event().wait()
            elif how == "anyio":
                with anyio.fail_after(0.01):
                    await anyio.sleep_forever()
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(asyncio.Event().wait())
                    raise TimeoutError  # a group is left by an error, its tasks cancelled
        except (TimeoutError, BaseExceptionGroup):
            return "gave up"
        return "went on"

    async def fetch(self) -> str:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, text=f"got {request.url.path}"))
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.get("https://example.invalid/page")).text

    async def stops(self) -> None:
        raise asyncio.CancelledError

    async def ends(self) -> None:
        raise SystemExit(3)


# what was remembered of a method


@pytest.mark.parametrize("code", ["await host.one()", "host.two()"])
@pytest.mark.parametrize("rule", [{"hide": ["one", "two"]}, {"only": ["echo"]}, {"read_only": True}])
async def test_a_rule_declared_after_a_call_holds_for_the_next(rule: dict[str, Any], code: str) -> None:
    host = Host()
    scope = Scope({"host": host})
    async with Runtime(scope, limits=PATIENT) as rt:
        (await rt.execute(f"{code}, {code}")).unwrap()
        scope.declare("host.*", **rule)
        outcome = await rt.execute(code)
    assert "NotPublic" in str(outcome.error)
    assert host.served == 2


async def test_what_a_model_tells_is_judged_at_each_call() -> None:
    class Settings(pydantic.BaseModel, extra="allow"):
        name: str

        def rename(self, name: str) -> None:
            self.name = name

    settings = Settings(name="a")
    async with Runtime({"settings": settings}, limits=PATIENT) as rt:
        assert (await rt.execute("settings.model_dump()")).unwrap() == {"name": "a"}
        assert settings.model_extra is not None
        settings.model_extra["api_key"] = "one"
        outcome = await rt.execute("settings.model_dump()")
    assert "NotPublic" in str(outcome.error)


async def test_a_timeout_declared_after_a_call_holds_for_the_next() -> None:
    scope = Scope({"host": Host()})
    async with Runtime(scope, limits=PATIENT) as rt:
        (await rt.execute("await host.wait() if False else await host.later(0)")).unwrap()
        scope.declare("host.later", timeout_s=0.01)
        outcome = await rt.execute("await host.later(60)")
    assert "timeout_s=0.01" in str(outcome.error)


async def test_a_method_replaced_on_the_object_is_the_one_that_runs() -> None:
    host, other = Host(), Host()
    session = Session(Scope({"host": host}))
    number = session.handle("host")
    assert await session.ask("call", number, "one") == 1
    vars(host)["one"] = other.one
    assert await session.ask("call", number, "one") == 1
    assert (host.served, other.served) == (1, 1)
    vars(host)["one"] = lambda: "replaced"
    assert await session.ask("call", number, "one") == "replaced"
    session.host.close()


async def test_a_dropped_object_takes_what_was_remembered_of_it_along() -> None:
    class Shop:
        def open(self) -> Host:
            return Host()

    session = Session(Scope({"shop": Shop()}))
    number = (await session.ask("call", session.handle("shop"), "open"))["h"][0]
    assert await session.ask("call", number, "one") == 1
    session.host.drop(number, 1)
    with pytest.raises(Refused, match="not held"):
        await session.ask("call", number, "one")
    again = (await session.ask("call", session.handle("shop"), "open"))["h"][0]
    assert again != number
    session.host.close()


async def test_names_that_an_object_makes_up_are_not_remembered() -> None:
    class Remote:
        def __getattr__(self, name: str) -> Any:
            async def method(self: Any) -> str:
                return name

            return types.MethodType(method, self)

    session = Session(Scope({"remote": Remote()}))
    number = session.handle("remote")
    for i in range(50):
        assert await session.ask("call", number, f"name{i}") == f"name{i}"
    assert session.host._handles.get(number).methods == {}  # pyright: ignore[reportPrivateUsage]
    session.host.close()


# methods that look others up by name


HIDDEN_BY_NAME = [
    "frame.agg('to_json')",
    "frame.agg(frozenset(['to_json']))",
    "frame.agg({'a': frozenset(['to_json'])})",
    "frame.agg(frozenset(['to_csv']), 0, target)",
    "frame.agg(iter(['to_json']))",
    "frame.agg({'a': iter(['to_json'])})",
    "frame.agg(frame.rename(columns={'a': 'to_json'}).columns)",
    "frame.pivot_table(index='b', values='a', aggfunc='__class__')",
    "frame.groupby('b').agg(x=('a', frozenset(['__class__'])))",
]


@pytest.mark.parametrize("code", HIDDEN_BY_NAME)
async def test_a_hidden_method_is_found_by_name_in_no_disguise(code: str, tmp_path: Path) -> None:
    class Frame(pandas.DataFrame):
        """A library's own kind of frame: GeoDataFrame is one."""

    target = tmp_path / "written"
    for kind in (pandas.DataFrame, Frame):
        (outcome,) = await outcomes(code, frame=kind({"a": [1, 2], "b": [1, 1]}), target=str(target))
        assert "is refused: it would call" in str(outcome.error)
    assert not target.exists()


@pytest.mark.parametrize(
    "code",
    [
        "frame.agg(['sum', 'mean'])",
        "frame.agg({'a': ['sum']})",
        "frame.apply(lambda column: 1)",
        "frame['a'].map({1: 2})",
    ]
    + ["frame.apply(lambda column, other: 1, args=(frame['a'],))", "frame.groupby('b').agg(x=('a', 'sum'))"],
)
async def test_a_method_that_is_shown_is_found_by_name(code: str) -> None:
    (outcome,) = await outcomes(code, frame=pandas.DataFrame({"a": [1, 2], "b": [1, 1]}))
    assert outcome.error is None


# arguments


TREES: list[Any] = [
    {"t": []},
    {"t": [1, 2]},
    {"t": [None, True, 1.5, "x" * 5000, 10**4000]},
    {"t": [{"t": []}, {"m": {}}]},
    {"t": [{"t": [1]}, {"m": {"a": 1, "self": 2, "a b": None}}]},
    {"t": [{"t": [1, 2]}, {"m": {str(i): i for i in range(300)}}]},
    {"t": [{"t": [1]}, 2]},
    {"t": [{"m": {}}, {"t": []}]},
    {"t": [[1], {"m": {}}]},
    {"t": [{"t": [{"t": []}, {"m": {}}]}, {"m": {}}]},
    {"t": [{"t": []}, {"m": {"a": [1]}}]},
]
NO_TREES: list[Any] = [
    None,
    [],
    {},
    {"t": None},
    {"t": {}},
    {"t": [], "m": {}},
    {"m": {}},
    {"t": [{"t": [], "x": 1}, {"m": {}}]},
    {"t": [{"t": 1}, {"m": {}}]},
    {"t": [{"t": []}, {"m": []}]},
    {"t": [{"t": []}, {"m": {}, "d": []}]},
]


@pytest.mark.parametrize("tree", TREES)
def test_simple_arguments_mean_what_the_unpacker_makes_of_them(tree: Any) -> None:
    known = simple_arguments(tree)
    strict = Unpacker([], refuse, Bounds()).unpack(tree)
    named = len(strict) == 2 and type(strict[0]) is tuple and type(strict[1]) is dict
    assert known is None or known == (strict if named else (strict, {}))


@pytest.mark.parametrize("tree", NO_TREES)
def test_what_is_no_list_of_atoms_is_left_to_the_unpacker(tree: Any) -> None:
    assert simple_arguments(tree) is None


async def test_positional_and_keyword_arguments_are_not_confused() -> None:
    code = """
    await host.echo()
    [await host.echo(*a, **k) for a, k in [((1,), {}), ((1, 2), {}), (((), {}), {}), ((1, {}), {}), ((), {'a': 1})]]
    """
    assert await value(code, host=Host()) == [[1], [1, 2], [(), {}], [1, {}], [[], {"a": 1}]]


# frames


def test_frames_are_whole_wherever_they_are_split() -> None:
    messages: list[tuple[list[Any], list[bytes]]] = [(["r"], []), (["d", 1, "x" * 40], [b"blob", b""]), (["k", 7], [])]
    whole = b"".join(bytes(part) for message, blobs in messages for part in frame(message, blobs))
    for at in range(len(whole) + 1):
        reader = FrameReader(Bounds())
        raw = [*reader.feed(whole[:at]), *reader.feed(whole[at:])]
        assert [parse(*one, Bounds()) for one in raw] == messages
    reader = FrameReader(Bounds())
    assert [parse(*one, Bounds()) for byte in whole for one in reader.feed(bytes([byte]))] == messages


@pytest.mark.parametrize(
    "header",
    [b"", b" ", b' [["r"],[]]', b'[["r"],[]] ', b'[["r"],[]]x', b'[["r"],[]][]', b'[["r"]]', b'"ab"', b'{"a":1,"b":2}']
    + [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[[" + b"1" * 5000 + b"],[]]",
        b'[["\xc3\xa9"],[]]',
        b"[NaN,NaN]",
        b"[[],[]]",
    ],
)
def test_a_header_that_is_no_message_is_a_breach(header: bytes) -> None:
    with pytest.raises(WireError):
        parse(header, b"", Bounds())


def test_a_message_leaves_nothing_for_the_next() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for bad in (deep, object(), {1: {2: object()}}):
        with pytest.raises((RecursionError, TypeError)):
            frame(["a", bad], [])
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(RecursionError):
        frame(["a", ring], [])
    (text,) = frame(["a", {"m": {"k": [math.inf, "\ud800é", None]}}], [])
    assert text[:8] == struct.pack("<II", len(text) - 8, 0)
    assert json.loads(text[8:]) == [["a", {"m": {"k": [math.inf, "\ud800é", None]}}], []]


# tasks that begin at once


async def test_each_call_is_a_task_with_a_context_of_its_own() -> None:
    host = Host()
    code = "import asyncio\n[await host.count(), *await asyncio.gather(*(host.count() for _ in range(200)))]"
    assert await value(code, host=host) == [1] * 201
    code = "import asyncio\n[await host.itself(), *await asyncio.gather(*(host.itself() for _ in range(200)))]"
    assert await value(code, host=host) == [(True, True)] * 201
    assert SEEN.get() == 0


@pytest.mark.parametrize("how", ["asyncio", "anyio", "group"])
async def test_a_host_method_may_cancel_its_own_work(how: str) -> None:
    code = f"import asyncio\n[await host.gives_up({how!r}), *await asyncio.gather(*[host.gives_up({how!r})] * 1)]"
    assert await value(code, host=Host()) == ["gave up"] * 2


async def test_a_host_method_may_use_a_client_of_http() -> None:
    assert await value("await host.fetch(), await host.fetch()", host=Host()) == ("got /page", "got /page")


async def test_a_method_that_stops_itself_stops_nothing_else() -> None:
    code = """
    told = []
    for method in (host.stops, host.ends, host.stops):
        try:
            await method()
        except BaseException as error:
            told.append(type(error).__name__)
    told, await host.one()
    """
    assert await value(code, host=Host()) == (["CancelledError", "SystemExit", "CancelledError"], 1)


async def test_calls_cancelled_as_soon_as_made_are_forgotten() -> None:
    burst = """
    pairs = [call(n, "later", {"t": [60]}) + framed(["k", n]) for n in range(10_000, 11_500)]
    door.conn.sendall(b"".join([*(call(n, "one") for n in range(9_000, 9_070)), *pairs]))
    await host.one(), await asyncio.wait_for(host.one(), 10)
    """
    assert await value(RAW, burst, host=Host()) == (1, 1)


async def test_a_burst_of_calls_leaves_others_their_turn() -> None:
    host = Host()
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    limits = Limits(wall_s=PATIENCE_S, cpu_s=PATIENCE_S, host_calls=20_000)
    async with Runtime({"host": host}, limits=limits) as rt, Runtime({"host": Host()}, limits=PATIENT) as other:
        (await rt.execute(RAW)).unwrap()
        (await other.execute("await host.one()")).unwrap()
        code = "door.conn.sendall(b''.join(call(n, 'one') for n in range(100_000, 110_000)))\nawait host.one()"
        spinning = asyncio.create_task(turn())
        burst = asyncio.create_task(rt.execute(code))
        assert (await other.execute("[await host.one() for _ in range(20)]")).unwrap() == [1] * 20
        assert (await burst).unwrap() == 1
        spinning.cancel()
    assert host.served == 10_001
    assert turns > 10_000 // 64


async def test_calls_within_calls_go_deep() -> None:
    async def down(function: Any, n: int) -> int:
        return 0 if n == 0 else 1 + await function(n - 1)

    code = "async def back(n):\n    return await down(back, n)\nawait down(back, 100)"
    assert await value(code, down=down) == 100


# the guest waits for an answer where it stands


async def test_timers_and_tasks_run_while_calls_are_made_in_a_row() -> None:
    code = """
    import asyncio
    ticks = 0
    async def tick():
        global ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1
    task = asyncio.create_task(tick())
    fired = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, fired.set)
    while not fired.is_set():
        await host.one()
    task.cancel()
    ticks > 0
    """
    assert await value(code, host=Host()) is True


async def test_a_call_of_the_host_may_cancel_the_call_it_belongs_to() -> None:
    class Caller:
        async def call(self, function: Any) -> str:
            await function.call_async()
            await asyncio.Event().wait()
            return "never"

    code = """
    import asyncio
    async def work():
        me = asyncio.current_task()
        try:
            await caller.call(lambda: me.cancel() and None)
        except asyncio.CancelledError:
            return "cancelled"
    await asyncio.create_task(work()), await host.one()
    """
    assert await value(code, host=Host(), caller=Caller()) == ("cancelled", 1)


async def test_a_thread_that_python_does_not_know_of_wakes_the_loop() -> None:
    code = """
    import asyncio, time, _thread
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    _thread.start_new_thread(lambda: (time.sleep(0.05), loop.call_soon_threadsafe(future.set_result, 5)), ())
    await host.one(), await future, await host.one()
    """
    assert await value(code, host=Host()) == (1, 5, 1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
async def test_an_eager_task_of_the_guest_does_not_hold_up_the_one_that_made_it() -> None:
    code = """
    import asyncio
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    task = asyncio.create_task(host.wait())
    await host.wake()
    await task
    """
    assert await value(code, host=Host()) == "woken"


# children forked ahead


async def test_children_have_a_tmp_of_their_own_and_no_descriptor_of_the_zygote() -> None:
    look = """
    import os
    before = os.listdir('/tmp')
    open('/tmp/mine', 'w').write('x')
    def is_open(fd):
        try:
            return bool(os.fstat(fd))
        except OSError:
            return False
    before, [fd for fd in range(4, 256) if is_open(fd)], sorted(os.listdir('/proc')), os.listdir('/proc/self')
    """
    async with Runtime(limits=PATIENT) as first, Runtime(limits=PATIENT) as second:
        for rt in (first, second):
            seen = (await rt.execute(dedent(look))).unwrap()
            assert seen[0] == []
            assert len(seen[1]) <= 1, "at most the loop's own poller"
            assert seen[2:] == (["meminfo", "self"], ["maps"])
        (told,) = [o.unwrap() for o in await outcomes("open('/proc/self/maps').read().splitlines()")]
    assert len(told) == 1
    assert told[0].endswith("[stack]")


async def test_a_zygote_keeps_no_descriptor_of_its_children() -> None:
    counts: list[int] = []
    for _ in range(12):
        async with Runtime(limits=PATIENT) as rt:
            (await rt.execute("1")).unwrap()
        counts.append(sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in _zygotes()))
    assert max(counts[6:]) <= max(counts[:6])


def _zygotes() -> list[int]:
    """The children of this process that run the zygote."""
    found: list[int] = []
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        if "zygote" in Path(f"/proc/{pid}/cmdline").read_text():
            found.append(int(pid))
    return found


async def test_what_rules_say_of_a_function_and_an_operator_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Post:
        def send(self, to: str = "x") -> str:
            return to

        __getitem__ = send

    post, decided = Post(), list[str]()
    scope = Scope({"post": post, "send": post.send, "double": abs})
    for number in range(9):
        scope.declare(f"post.part{number}", read_only=True)
    scope.declare("post.sent", ask=True)
    covers = Rule.covers

    def counted(rule: Rule, titles: tuple[str, ...]) -> bool:
        decided.append(rule.pattern)
        return covers(rule, titles)

    monkeypatch.setattr(Rule, "covers", counted)
    async with Runtime(scope, limits=PATIENT) as rt:
        for again in (False, True):
            decided.clear()
            assert (await rt.execute("post['a'], send('b'), double(-3)")).unwrap() == ("a", "b", 3)
            assert bool(decided) is not again
