"""`async def` stays `async def`: awaiting, overlapping, cancelling, timing out, across the boundary."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator
from textwrap import dedent
from typing import Any

from tests.cells import PATIENCE_S, PATIENT, failure, value

from cellwright import Runtime, Scope


class Meeting:
    """`arrive` returns only when `wanted` callers are inside at once: no overlap, no answer."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.inside = 0
        self.full = asyncio.Event()

    async def arrive(self, name: str = "") -> str:
        self.inside += 1
        if self.inside == self.wanted:
            self.full.set()
        await self.full.wait()
        return name


class Slow:
    """Never ends by itself."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def forever(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def is_started(self) -> None:
        await self.started.wait()

    async def echo(self, x: Any = None) -> Any:
        return x


async def seen(event: asyncio.Event) -> bool:
    async with asyncio.timeout(PATIENCE_S):
        return await event.wait()


async def test_top_level_await_gives_the_hosts_value() -> None:
    assert await value("await slow.echo([1, 2])", slow=Slow()) == [1, 2]


async def test_an_async_host_function_is_awaited_like_a_method() -> None:
    async def double(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    assert await value("await double(x=4)", double=double) == 8


async def test_gathered_calls_overlap_on_the_host() -> None:
    code = "import asyncio\nawait asyncio.gather(*(meeting.arrive(str(i)) for i in range(20)))"
    assert await value(code, meeting=Meeting(20)) == [str(i) for i in range(20)]


async def test_calls_in_tasks_and_task_groups_overlap() -> None:
    code = """
    import asyncio
    task = asyncio.create_task(meeting.arrive('task'))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(meeting.arrive(n)) for n in 'ab']
    [await task, *(t.result() for t in tasks)]
    """
    assert await value(code, meeting=Meeting(3)) == ["task", "a", "b"]


async def test_as_completed_gives_answers_in_the_order_in_which_the_host_gave_them() -> None:
    gates = {name: asyncio.Event() for name in "abc"}

    async def wait_for(name: str) -> str:
        await gates[name].wait()
        return name

    async def open_gate(name: str) -> None:
        gates[name].set()

    code = """
    import asyncio
    tasks = [asyncio.create_task(wait_for(n)) for n in 'abc']
    order = []
    async def note(task):
        order.append(await task)
    notes = [asyncio.create_task(note(t)) for t in tasks]
    for n, task in (('c', notes[2]), ('a', notes[0]), ('b', notes[1])):
        await open_gate(n)
        await task
    order
    """
    assert await value(code, wait_for=wait_for, open_gate=open_gate) == ["c", "a", "b"]


async def test_cancelling_a_guest_task_cancels_the_host_call() -> None:
    slow = Slow()
    code = """
    import asyncio
    task = asyncio.create_task(slow.forever())
    await slow.is_started()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        told = 'cancelled'
    told
    """
    async with Runtime({"slow": slow}, limits=PATIENT) as rt:
        assert (await rt.execute(dedent(code))).unwrap() == "cancelled"
        assert await seen(slow.cancelled)
        assert (await rt.execute("await slow.echo(1)")).unwrap() == 1


async def test_a_guest_timeout_cancels_the_host_call_and_the_session_goes_on() -> None:
    slow = Slow()
    code = """
    import asyncio
    try:
        async with asyncio.timeout(0.01):
            await slow.forever()
    except TimeoutError:
        told = 'timed out'
    try:
        await asyncio.wait_for(slow.forever(), 0.01)
    except asyncio.TimeoutError:
        told += ' twice'
    told
    """
    async with Runtime({"slow": slow}, limits=PATIENT) as rt:
        assert (await rt.execute(dedent(code))).unwrap() == "timed out twice"
        assert await seen(slow.cancelled)
        assert (await rt.execute("await slow.echo(2)")).unwrap() == 2


async def test_a_cancelled_error_of_the_host_is_told_to_the_guest() -> None:
    async def gives_up() -> None:
        raise asyncio.CancelledError

    code = """
    import asyncio
    try:
        await gives_up()
    except asyncio.CancelledError:
        told = 'cancelled'
    told
    """
    assert await value(code, gives_up=gives_up) == "cancelled"


async def test_asyncio_run_works_inside_a_cell_as_in_a_script() -> None:
    code = """
    import asyncio
    async def main():
        return await asyncio.gather(meeting.arrive('a'), meeting.arrive('b'))
    asyncio.run(main())
    """
    assert await value(code, "await slow.echo('after')", meeting=Meeting(2), slow=Slow()) == "after"
    assert await value(code, meeting=Meeting(2)) == ["a", "b"]


async def test_run_until_complete_on_a_new_loop_works_inside_a_cell() -> None:
    code = "import asyncio\nloop = asyncio.new_event_loop()\nloop.run_until_complete(slow.echo(3))"
    assert await value(code, slow=Slow()) == 3


async def test_asyncio_of_the_guest_alone_works() -> None:
    code = """
    import asyncio
    queue = asyncio.Queue()
    async def produce():
        for i in range(3):
            await queue.put(i)
            await asyncio.sleep(0)
    async def consume():
        return [await queue.get() for _ in range(3)]
    _, got = await asyncio.gather(produce(), consume())
    lock = asyncio.Lock()
    async with lock:
        got.append(await asyncio.to_thread(lambda: 'thread'))
    got
    """
    assert await value(code) == [0, 1, 2, "thread"]


async def test_a_task_left_running_goes_on_in_the_next_cell() -> None:
    meeting = Meeting(2)
    cells = (
        "import asyncio\ntask = asyncio.create_task(meeting.arrive('early'))",
        "await meeting.arrive('late'), await task",
    )
    assert await value(*cells, meeting=meeting) == ("late", "early")


class Session:
    """An async context manager and an async iterable."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.made = 0

    async def __aenter__(self) -> Session:
        self.log.append("enter")
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append((kind, str(error), trace))
        return kind is KeyError

    async def __aiter__(self) -> AsyncIterator[int]:
        for i in range(3):
            yield i

    async def stream(self) -> AsyncIterator[int]:
        """A million items, if somebody wants them."""
        for i in range(1_000_000):
            self.made += 1
            yield i

    async def broken(self) -> AsyncIterator[int]:
        yield 1
        raise LookupError("no more")


async def test_async_with_enters_and_leaves_on_the_host() -> None:
    session = Session()
    assert await value("async with session as got:\n    same = got is session\nsame", session=session) is True
    assert session.log == ["enter", (None, "None", None)]


async def test_async_with_tells_the_host_of_the_error_and_may_swallow_it() -> None:
    session = Session()
    code = "async with session:\n    raise KeyError('k')\n'after'"
    assert await value(code, session=session) == "after"
    assert session.log[1] == (KeyError, "'k'", None)
    assert (await failure("async with session:\n    1 / 0", session=session)).type == "ZeroDivisionError"


async def test_async_for_reads_a_host_object_and_an_async_generator_lazily() -> None:
    session = Session()
    code = """
    got = [i async for i in session]
    async for i in session.stream():
        if i == 3:
            break
    got, i
    """
    assert await value(code, session=session) == ([0, 1, 2], 3)
    assert session.made == 4


async def test_an_error_in_an_async_generator_reaches_the_loop_that_reads_it() -> None:
    code = """
    got = []
    try:
        async for i in session.broken():
            got.append(i)
    except LookupError as error:
        got.append(str(error))
    got
    """
    assert await value(code, session=Session()) == [1, "no more"]


async def test_an_asyncio_queue_of_the_host_works_from_the_guest() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)

    async def feed() -> None:
        for i in range(5):
            await queue.put(i)

    async with Runtime({"queue": queue}, limits=PATIENT) as rt:
        feeding = asyncio.create_task(feed())
        assert (await rt.execute("[await queue.get() for _ in range(5)]")).unwrap() == [0, 1, 2, 3, 4]
        await feeding
        assert (await rt.execute("queue.put_nowait(7); await queue.put(8); queue.qsize(), queue.full()")).unwrap() == (
            2,
            True,
        )
        error = (await rt.execute("queue.put_nowait(9)")).error
        assert error is not None
        assert "QueueFull" in str(error)
    assert [queue.get_nowait(), queue.get_nowait()] == [7, 8]


async def test_asyncio_primitives_of_the_host_are_touched_on_the_loop() -> None:
    event, lock = asyncio.Event(), asyncio.Lock()
    waiting = asyncio.create_task(event.wait())
    await asyncio.sleep(0)
    async with Runtime({"event": event, "lock": lock}, limits=PATIENT) as rt:
        assert (
            await rt.execute("event.set()\nasync with lock:\n    held = lock.locked()\nheld, event.is_set()")
        ).unwrap() == (
            True,
            True,
        )
        async with asyncio.timeout(PATIENCE_S):
            assert await waiting


async def test_a_future_of_the_host_can_be_awaited() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def settle() -> None:
        future.set_result(5)

    code = "import asyncio\ntask = asyncio.ensure_future(settle())\nawait future"
    assert await value(code, future=future, settle=settle) == 5


async def test_a_sync_function_that_returns_a_coroutine_gives_something_to_await() -> None:
    async def later(x: int) -> int:
        return x + 1

    def plain(x: int) -> Any:
        return later(x)

    assert await value("await plain(1)", plain=plain) == 2


async def test_thread_loop_runs_a_sync_function_on_the_event_loop() -> None:
    loops: list[Any] = []

    def touch() -> int:
        loops.append(asyncio.get_running_loop())
        return 1

    scope = Scope({"touch": touch})
    scope.declare("touch", thread="loop")
    async with Runtime(scope) as rt:
        assert (await rt.execute("touch()")).unwrap() == 1
    assert loops == [asyncio.get_running_loop()]


async def test_a_sync_call_does_not_stop_the_loop_of_the_host() -> None:
    import threading

    release = threading.Event()

    def block() -> bool:
        return release.wait(PATIENCE_S)

    async with Runtime({"block": block}, limits=PATIENT) as rt:
        cell = asyncio.create_task(rt.execute("block()"))
        async with Runtime({"x": 1}) as other:
            assert (await other.execute("x + 1")).unwrap() == 2
        release.set()
        assert (await cell).unwrap() is True


async def test_more_calls_in_flight_than_the_bound_are_refused_and_the_others_go_on() -> None:
    slow = Slow()
    code = """
    import asyncio
    tasks = [asyncio.create_task(slow.forever()) for _ in range(1010)]
    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in waiting:
        task.cancel()
    {type(task.exception()).__name__ for task in done}, len(waiting) >= 1000
    """
    async with Runtime({"slow": slow}, limits=PATIENT) as rt:
        assert (await rt.execute(dedent(code))).unwrap() == ({"CallLimit"}, True)
        assert (await rt.execute("await slow.echo(1)")).unwrap() == 1


async def test_a_cell_that_ends_with_tasks_under_way_does_not_wait_for_them() -> None:
    slow = Slow()
    async with Runtime({"slow": slow}, limits=PATIENT) as rt:
        code = "import asyncio\ntask = asyncio.create_task(slow.forever())\nawait slow.is_started()\n'ended'"
        assert (await rt.execute(code)).unwrap() == "ended"
        assert (await rt.execute("task.done()")).unwrap() is False
    assert await seen(slow.cancelled)


async def test_an_object_whose_call_is_async_is_awaited() -> None:
    class Tool:
        async def __call__(self, x: int) -> int:
            return x + 1

    code = "import inspect\nawait tool(1), await partial(), inspect.iscoroutinefunction(partial)"
    partial = functools.partial(Slow().echo, 5)
    assert await value(code, tool=Tool(), partial=partial) == (2, 5, True)


async def test_the_host_reads_an_async_generator_of_the_guest() -> None:
    async def collect(items: Any) -> list[Any]:
        return [item async for item in items]

    code = "async def numbers():\n    for i in range(3):\n        yield await slow.echo(i)\nawait collect(numbers())"
    assert await value(code, collect=collect, slow=Slow()) == [0, 1, 2]


async def test_an_async_guest_function_is_served_while_the_guest_blocks_in_a_sync_call() -> None:
    loop = asyncio.get_running_loop()

    def block_on(function: Any, x: int) -> Any:
        return asyncio.run_coroutine_threadsafe(function(x), loop).result(PATIENCE_S)

    code = "async def later(x):\n    return await slow.echo(x) + 1\nblock_on(later, 4)"
    assert await value(code, block_on=block_on, slow=Slow()) == 5
