"""Functions of the guest in the hands of host code."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
from tests.cells import PATIENCE_S, PATIENT, eventually, failure, value

from cellwright import GuestFunction, Limits, Runtime
from cellwright.errors import CodeError, GuestGone, TimeLimit, UsageError


class Bus:
    """Calls its listeners when something happens."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []

    def on(self, listener: Any) -> None:
        self.listeners.append(listener)

    def off(self, listener: Any) -> None:
        self.listeners.remove(listener)

    def emit(self, *args: Any, **kwargs: Any) -> list[Any]:
        return [listener(*args, **kwargs) for listener in self.listeners]


def apply(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


async def apply_async(function: Any, *args: Any) -> Any:
    return await function(*args)


async def test_a_guest_lambda_is_a_key_function() -> None:
    def ordered(items: list[Any], key: Any = None) -> list[Any]:
        return sorted(items, key=key)

    assert await value("ordered(['bbb', 'a', 'cc'], key=lambda s: len(s))", ordered=ordered) == ["a", "cc", "bbb"]
    assert await value("ordered(['bbb', 'a', 'cc'], key=len)", ordered=ordered) == ["a", "cc", "bbb"]


async def test_arguments_keywords_objects_and_results_cross_in_both_directions() -> None:
    bus = Bus()
    code = """
    seen = []
    def listener(a, *rest, k=None):
        seen.append((a, rest, k, a is bus))
        return {'got': rest, 'bus': bus}
    bus.on(listener)
    result = bus.emit(bus, 1, [2], k='x')
    seen[0][1:], result[0]['got'], result[0]['bus'] is bus
    """
    assert await value(code, bus=bus) == (((1, [2]), "x", True), (1, [2]), True)


async def test_a_method_of_a_guest_object_can_be_called_back() -> None:
    code = """
    class Counter:
        n = 0
        def add(self, by):
            self.n += by
            return self.n
    counter = Counter()
    apply(counter.add, 3), apply(counter.add, 4), counter.n
    """
    assert await value(code, apply=apply) == (3, 7, 7)


async def test_a_guest_function_handed_back_to_the_guest_is_the_original() -> None:
    def same(x: Any) -> Any:
        return x

    assert await value("f = lambda: 1\nsame(f) is f, same([f])[0] is f", same=same) == (True, True)


async def test_the_same_guest_function_is_the_same_to_the_host_so_a_listener_can_be_removed() -> None:
    bus = Bus()
    await value("f = lambda: 1\nbus.on(f)\nbus.off(f)", bus=bus)
    assert bus.listeners == []


async def test_the_host_sees_the_functions_name() -> None:
    bus = Bus()
    await value("def on_change(): pass\nbus.on(on_change)", bus=bus)
    assert bus.listeners[0].__name__ == "on_change"
    assert "on_change" in repr(bus.listeners[0])
    assert isinstance(bus.listeners[0], GuestFunction)


async def test_an_event_handler_is_called_in_a_later_cell() -> None:
    bus = Bus()
    cells = "log = []\nbus.on(lambda x: log.append(x))", "bus.emit(1); bus.emit(2)", "log"
    assert await value(*cells, bus=bus) == [1, 2]


async def test_an_event_handler_is_called_between_cells_from_another_host_thread() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}, limits=PATIENT) as rt:
        (await rt.execute("log = []\nbus.on(lambda x: log.append(x) or len(log))")).unwrap()
        assert await asyncio.to_thread(bus.emit, "a") == [1]
        assert await asyncio.to_thread(bus.emit, "b") == [2]
        assert (await rt.execute("log")).unwrap() == ["a", "b"]


async def test_an_event_handler_is_called_between_cells_from_the_loop_with_call_async() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}, limits=PATIENT) as rt:
        (await rt.execute("bus.on(lambda x: x * 2)")).unwrap()
        async with asyncio.timeout(PATIENCE_S):
            assert await bus.listeners[0].call_async(21) == 42


async def test_an_event_handler_is_called_while_a_cell_waits_for_something_else() -> None:
    bus = Bus()
    fired = asyncio.Event()

    async def wait() -> str:
        await fired.wait()
        return "waited"

    async with Runtime({"bus": bus, "wait": wait}, limits=PATIENT) as rt:
        (await rt.execute("log = []\nbus.on(log.append)")).unwrap()
        cell = asyncio.create_task(rt.execute("await wait(), list(log)"))
        await asyncio.to_thread(bus.emit, "early")
        fired.set()
        assert (await cell).unwrap() == ("waited", ["early"])


async def test_calling_a_sync_guest_function_on_the_loop_is_refused_with_the_way_out() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}) as rt:
        (await rt.execute("bus.on(lambda: 1)")).unwrap()
        with pytest.raises(UsageError, match="call_async"):
            bus.listeners[0]()


async def test_host_and_guest_call_each_other_as_deep_as_they_like() -> None:
    def down(n: int, back: Any) -> int:
        return 0 if n == 0 else 1 + back(n - 1)

    code = "def back(n):\n    return 1 + down(n, back)\ndown(10, back)"
    assert await value(code, down=down) == 20


async def test_a_callback_may_make_async_host_calls_when_it_is_async() -> None:
    async def fetch(x: int) -> int:
        await asyncio.sleep(0)
        return x * 10

    code = """
    async def handler(x):
        return await fetch(x) + 1
    await apply_async(handler, 4)
    """
    assert await value(code, fetch=fetch, apply_async=apply_async) == 41


async def test_async_callbacks_run_at_once_when_the_host_gathers_them() -> None:
    async def both(function: Any) -> list[Any]:
        return list(await asyncio.gather(*map(function, "ab")))

    code = """
    import asyncio
    inside, full = [], asyncio.Event()
    async def meet(name):
        inside.append(name)
        if len(inside) == 2:
            full.set()
        await full.wait()
        return name
    await both(meet)
    """
    assert await value(code, both=both) == ["a", "b"]


async def test_an_async_guest_function_is_known_as_one_to_the_host() -> None:
    def kinds(*functions: Any) -> list[bool]:
        return [asyncio.iscoroutinefunction(f) for f in functions]  # pyright: ignore[reportDeprecated] -- inspect's needs 3.12

    assert await value("async def a(): pass\ndef b(): pass\nkinds(a, b)", kinds=kinds) == [True, False]


async def test_a_sync_host_function_given_an_async_guest_function_gets_a_coroutine_for_its_loop() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}, limits=PATIENT) as rt:
        (await rt.execute("async def later(x):\n    return x + 1\nbus.on(later)")).unwrap()
        async with asyncio.timeout(PATIENCE_S):
            assert await bus.listeners[0](1) == 2


async def test_a_thread_bound_object_is_usable_from_inside_a_callback() -> None:
    class Database:
        """Opens its connection on the thread of its first call, and sqlite3 holds it to that thread."""

        def __init__(self) -> None:
            self.connection: sqlite3.Connection | None = None

        def query(self, sql: str) -> list[Any]:
            self.connection = self.connection or sqlite3.connect(":memory:")
            return self.connection.execute(sql).fetchall()

        def transaction(self, work: Any) -> Any:
            self.query("begin")
            result = work(self)
            self.query("commit")
            return result

    code = """
    def work(d):
        d.query('create table t (x)')
        d.query('insert into t values (1)')
        return d.transaction.__name__, db.query('select x from t')
    db.transaction(work), db.query('select count(*) from t')
    """
    assert await value(code, db=Database()) == (("transaction", [(1,)]), [(1,)])


async def test_nested_calls_are_served_on_the_thread_that_waits() -> None:
    threads: list[int] = []

    def outer(back: Any) -> None:
        threads.append(threading.get_ident())
        back()
        threads.append(threading.get_ident())

    def inner() -> None:
        threads.append(threading.get_ident())

    await value("outer(lambda: inner())", outer=outer, inner=inner)
    assert len(set(threads)) == 1
    assert len(threads) == 3


@pytest.mark.parametrize(
    ("raised", "caught"),
    [
        ("LookupError('x')", LookupError),
        ("KeyError('x')", KeyError),
        ("ValueError('x')", ValueError),
        ("OSError(2, 'no file')", FileNotFoundError),
        ("ZeroDivisionError('x')", ArithmeticError),
        ("TypeError('x')", TypeError),
    ],
)
async def test_a_builtin_exception_of_a_callback_is_raised_in_host_code(raised: str, caught: type[Exception]) -> None:
    seen: list[BaseException] = []

    def attempt(function: Any) -> str:
        try:
            function()
        except caught as error:
            seen.append(error)
            return "caught"
        return "not caught"

    code = f"def bad():\n    raise {raised}\nattempt(bad)"
    assert await value(code, attempt=attempt) == "caught"
    assert type(seen[0]).__module__ == "builtins"


async def test_an_exception_class_of_the_guests_own_is_its_builtin_base_to_the_host() -> None:
    seen: list[BaseException] = []

    def attempt(function: Any) -> None:
        try:
            function()
        except Exception as error:
            seen.append(error)

    code = """
    class Mine(LookupError): pass
    class Plain(Exception): pass
    def bad(): raise Mine('told')
    def worse(): raise Plain('told')
    attempt(bad)
    attempt(worse)
    """
    await value(code, attempt=attempt)
    assert isinstance(seen[0], LookupError)
    assert "Mine" in str(seen[0])
    assert "told" in str(seen[0])
    assert isinstance(seen[1], CodeError)
    assert (seen[1].type, seen[1].message) == ("Plain", "told")


async def test_an_exception_that_goes_through_the_host_comes_back_as_what_it_was() -> None:
    error = await failure("def bad():\n    raise KeyError('k')\napply(bad)", apply=apply)
    assert (error.type, error.message) == ("KeyError", "'k'")


async def test_what_exit_and_interrupt_do_in_a_callback_is_an_error_of_the_call() -> None:
    for code in ("raise SystemExit(3)", "raise KeyboardInterrupt"):
        cell = f"def bad():\n    {code}\ntry:\n    apply(bad)\nexcept Exception as error:\n    told = str(error)\ntold"
        assert code.split()[1].partition("(")[0] in await value(cell, apply=apply)


async def test_a_callback_result_that_cannot_cross_is_an_error_of_the_call_and_the_session_goes_on() -> None:
    code = "class Mine: pass\ntry:\n    apply(lambda: Mine())\nexcept TypeError as error:\n    told = str(error)\ntold"
    assert "cannot cross" in await value(code, apply=apply)
    assert await value(code, "1 + 1", apply=apply) == 2


async def test_a_function_whose_guest_was_closed_raises_guest_gone() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}) as rt:
        (await rt.execute("bus.on(lambda: 1)")).unwrap()
    with pytest.raises(GuestGone):
        await asyncio.to_thread(bus.emit)


async def test_a_function_whose_guest_crashed_raises_guest_gone_and_not_another_guests_function() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}) as rt:
        (await rt.execute("bus.on(lambda: 'old')")).unwrap()
        assert (await rt.execute("import os; os._exit(1)")).error is not None
        (await rt.execute("bus.on(lambda: 'new')")).unwrap()
        with pytest.raises(GuestGone):
            await asyncio.to_thread(bus.listeners[0])
        assert await asyncio.to_thread(bus.listeners[1]) == "new"


async def test_host_code_that_waits_for_a_callback_gets_guest_gone_when_the_guest_dies() -> None:
    ended: list[BaseException] = []
    told = threading.Event()

    def wait_for(function: Any) -> None:
        try:
            function()
        except GuestGone as error:
            ended.append(error)
            raise
        finally:
            told.set()

    async with Runtime({"wait_for": wait_for}, limits=PATIENT) as rt:
        out = await rt.execute("import os\nwait_for(lambda: os._exit(3))")
        assert "exit code 3" in str(out.error)
        assert await asyncio.to_thread(told.wait, PATIENCE_S)
        assert len(ended) == 1
        assert (await rt.execute("1 + 1")).unwrap() == 2


async def test_a_callback_that_never_returns_ends_with_the_cells_deadline() -> None:
    ended = threading.Event()

    def wait_for(function: Any) -> None:
        try:
            function()
        except GuestGone:
            ended.set()

    async with Runtime({"wait_for": wait_for}, limits=Limits(wall_s=0.3)) as rt:
        out = await rt.execute("def spin():\n    while True: pass\nwait_for(spin)")
        assert isinstance(out.error, TimeLimit)
        assert await asyncio.to_thread(ended.wait, PATIENCE_S)


async def test_a_callback_between_cells_that_never_returns_ends_too() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}, limits=Limits(wall_s=0.3)) as rt:
        (await rt.execute("def spin():\n    while True: pass\nbus.on(spin)")).unwrap()
        with pytest.raises(GuestGone):
            async with asyncio.timeout(PATIENCE_S):
                await bus.listeners[0].call_async()
        assert isinstance((await rt.execute("spin")).error, TimeLimit)  # what became of the names is told once
        assert (await rt.execute("1 + 1")).unwrap() == 2


async def test_many_callbacks_from_many_threads_all_get_their_own_answer() -> None:
    bus = Bus()
    async with Runtime({"bus": bus}, limits=PATIENT) as rt:
        (await rt.execute("bus.on(lambda x: x * 2)")).unwrap()
        answers = await asyncio.gather(*(asyncio.to_thread(bus.emit, i) for i in range(50)))
    assert answers == [[2 * i] for i in range(50)]


async def test_a_guest_function_is_let_go_in_the_guest_when_the_host_lets_go_of_it() -> None:
    bus = Bus()
    code = """
    import gc, weakref
    def make():
        def listener(): pass
        bus.on(listener)
        return weakref.ref(listener)
    ref = make()
    gc.collect()
    ref() is not None
    """
    async with Runtime({"bus": bus}, limits=PATIENT) as rt:
        assert (await rt.execute(dedent(code))).unwrap() is True
        bus.listeners.clear()

        async def let_go() -> bool:
            return (await rt.execute("gc.collect(); ref() is None")).unwrap()

        await eventually(let_go)
