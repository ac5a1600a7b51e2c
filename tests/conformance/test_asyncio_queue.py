"""`asyncio` objects of the host's loop, shared by a task of the host and code of the guest."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.cells import PATIENCE_S, value


async def test_a_host_task_produces_and_the_guest_consumes() -> None:
    queue: asyncio.Queue[int | None] = asyncio.Queue(maxsize=2)

    async def produce() -> None:
        for i in range(6):
            await queue.put(i)
        await queue.put(None)

    producer = asyncio.create_task(produce())
    code = """
        got = []
        while (item := await queue.get()) is not None:
            got.append(item * 10)
            queue.task_done()
        got
    """
    assert await value(code, queue=queue) == [0, 10, 20, 30, 40, 50]
    await asyncio.wait_for(producer, PATIENCE_S)


async def test_the_guest_produces_and_a_host_task_consumes() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)
    got: list[Any] = []

    async def consume() -> None:
        while (item := await queue.get()) != "end":
            got.append(item)

    consumer = asyncio.create_task(consume())
    await value("for i in range(5):\n    await queue.put({'i': i})\nawait queue.put('end')", queue=queue)
    await asyncio.wait_for(consumer, PATIENCE_S)
    assert got == [{"i": i} for i in range(5)]


async def test_workers_in_the_guest_share_a_queue_of_the_host() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    code = """
        import asyncio
        done = []
        async def worker(name):
            while True:
                done.append(await queue.get())
                queue.task_done()
        workers = [asyncio.create_task(worker(n)) for n in "abc"]
        for i in range(9):
            queue.put_nowait(i)
        await queue.join()
        for w in workers:
            w.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        sorted(done), queue.empty(), queue.qsize()
    """
    assert await value(code, queue=queue) == (list(range(9)), True, 0)
    queue.put_nowait(1)  # nothing of the guest is left waiting in it
    assert queue.qsize() == 1


async def test_empty_full_and_timed_out_are_the_exceptions_that_they_are() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
    code = """
        import asyncio
        told = []
        try:
            queue.get_nowait()
        except asyncio.QueueEmpty:
            told.append("empty")
        queue.put_nowait(1)
        try:
            queue.put_nowait(2)
        except asyncio.QueueFull:
            told.append("full")
        try:
            await asyncio.wait_for(queue.put(3), 0.01)
        except TimeoutError:
            told.append("late")
        told, queue.get_nowait()
    """
    assert await value(code, queue=queue) == (["empty", "full", "late"], 1)


async def test_an_event_set_by_the_guest_wakes_the_host_and_the_other_way_round() -> None:
    ready, answered = asyncio.Event(), asyncio.Event()

    async def answer() -> None:
        await ready.wait()
        answered.set()

    host = asyncio.create_task(answer())
    code = "before = ready.is_set()\nready.set()\nbefore, await answered.wait(), answered.is_set()"
    assert await value(code, ready=ready, answered=answered) == (False, True, True)
    await asyncio.wait_for(host, PATIENCE_S)


async def test_a_lock_is_an_async_context_manager_for_both_sides() -> None:
    lock = asyncio.Lock()
    order: list[str] = []
    await lock.acquire()

    async def leave() -> None:
        order.append("host")
        lock.release()

    code = """
        held = lock.locked()
        note("asks")
        async with lock:
            note("guest")
            inside = lock.locked()
        held, inside, lock.locked()
    """

    def note(word: str) -> None:
        order.append(word)
        if word == "asks":
            loop.call_soon_threadsafe(lambda: pending.append(asyncio.ensure_future(leave())))

    pending: list[asyncio.Future[None]] = []
    loop = asyncio.get_running_loop()
    assert await value(code, lock=lock, note=note) == (True, True, False)
    assert order == ["asks", "host", "guest"]


async def test_semaphores_conditions_and_futures_work() -> None:
    semaphore, condition = asyncio.Semaphore(1), asyncio.Condition()
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.01, future.set_result, "done")
    code = """
        async with semaphore:
            full = semaphore.locked()
        async with condition:
            condition.notify_all()
        full, await future, future.done(), future.result()
    """
    assert await value(code, semaphore=semaphore, condition=condition, future=future) == (True, "done", True, "done")


async def test_a_task_of_the_host_can_be_awaited_and_is_not_cancelled() -> None:
    async def quick() -> int:
        return 7

    task = asyncio.create_task(quick())
    assert await value("hasattr(task, 'cancel'), await task", task=task) == (False, 7)
