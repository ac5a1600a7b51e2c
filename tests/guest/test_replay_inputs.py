"""The same messages in the same order: the guest asks for the same, in the same order, and prints the same.

Each program is played live, with answers in an order that is drawn, and again three times at another pace.
"""

from __future__ import annotations

from textwrap import dedent

import pytest
from tests.guest import scripted

PROGRAMS: dict[str, tuple[str, ...]] = {
    "gather with follow-ups": (
        """
        import asyncio
        async def two(i):
            first = await aget(i)
            return await aget(first * 10)
        await asyncio.gather(*(two(i) for i in range(8)))
        """,
    ),
    "as completed": (
        """
        import asyncio
        got = []
        for one in asyncio.as_completed([aget(i) for i in range(6)]):
            got.append(await aget([await one, len(got)]))
        got
        """,
    ),
    "timeouts that fire and that do not": (
        """
        import asyncio, time
        async def bounded(call, s):
            try:
                async with asyncio.timeout(s):
                    return await call
            except TimeoutError:
                return await aget("late")
        [
            await asyncio.gather(*(bounded(aget(i), 0.02) for i in range(6)), bounded(slow(1), 2), bounded(slow(2), 1)),
            await asyncio.wait_for(aget(5), 30),
            time.monotonic(),
        ]
        """,
    ),
    "cancelled tasks": (
        """
        import asyncio
        async def work(i):
            try:
                return await aget(i) + await aget(i)
            except asyncio.CancelledError:
                get(["gone", i])
                raise
        tasks = [asyncio.create_task(work(i)) for i in range(8)]
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        said = await asyncio.gather(*tasks, return_exceptions=True)
        [repr(one) for one in said]
        """,
        "await aget('after')",
    ),
    "a failure cancels its group": (
        """
        import asyncio
        try:
            async with asyncio.TaskGroup() as group:
                for i in range(4):
                    group.create_task(aget(i))
                group.create_task(fail("no"))
                group.create_task(slow(1))
        except* ValueError as errors:
            said = [str(error) for error in errors.exceptions]
        said
        """,
    ),
    "sleeps": (
        """
        import asyncio, time
        async def nap(s):
            await asyncio.sleep(s)
            order.append(s)
            return await aget(s)
        order = []
        await asyncio.gather(*(nap(s) for s in (0.3, 0.1, 0.2, 0.1, 0)))
        time.sleep(0.5)
        time.sleep(0)
        [order, time.time()]
        """,
    ),
    "callbacks": (
        """
        import asyncio
        def plain(x):
            return get(x) + 1
        async def awaited(x):
            a, b = await asyncio.gather(aget(x), aget(x + 1))
            return a + b + get(0)
        class Tool:
            def method(self, x):
                return callback(plain)[0]
        [callback(plain), callback(awaited), callback(Tool().method)]
        """,
        "await asyncio.gather(acallback(plain), acallback(awaited), acallback(Tool().method), aget(3))",
        "[callback(plain), await acallback(plain)]",
    ),
    "async generators": (
        """
        import asyncio
        async def numbers(n):
            for i in range(n):
                yield await aget(i)
        async def nested(n):
            async for i in numbers(n):
                await asyncio.sleep(0.01)
                yield i
        async def broken():
            async for i in numbers(5):
                if i == 2:
                    break
            return i
        [[i async for i in nested(3)], await broken(), await aget(1)]
        """,
    ),
    "a loop of the cell's own": (
        """
        import asyncio
        async def main(n):
            await asyncio.sleep(0.1)
            try:
                await asyncio.wait_for(slow(1), 1)
            except TimeoutError:
                pass
            return await asyncio.gather(*(aget(i) for i in range(n)))
        [asyncio.run(main(2)), asyncio.run(main(3)), get(1)]
        """,
        "[asyncio.run(main(1)), await aget(2)]",
    ),
    "tasks that outlive their cell": (
        """
        import asyncio
        async def ticking():
            for i in range(5):
                await asyncio.sleep(0.5)
                ticks.append(await aget(i))
        ticks = []
        task = asyncio.create_task(ticking())
        await aget(0)
        """,
        "get(1)",
        "await asyncio.sleep(1.2); len(ticks)",
        "other = asyncio.create_task(aget(9))",
        "await task; [ticks, await other]",
    ),
    "spinning": (
        """
        import asyncio, time
        async def work():
            return await aget(1)
        task = asyncio.create_task(work())
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        end = time.time() + 0.3
        while time.time() < end:
            await asyncio.sleep(0)
            turns += 1
        [turns, task.result(), time.time() - end]
        """,
    ),
    "clocks and chance": (
        """
        import datetime, random, secrets, tempfile, time, uuid, os
        def all_of_it():
            return [
                time.time(), time.time_ns(), time.monotonic(), time.perf_counter_ns(), time.process_time(),
                time.clock_gettime(time.CLOCK_MONOTONIC), list(time.localtime()), time.ctime(), time.strftime("%c"),
                str(datetime.datetime.now()), str(datetime.datetime.now(datetime.timezone.utc)),
                str(datetime.date.today()), str(datetime.datetime.today()),
                random.random(), random.sample(range(100), 5), random.Random().random(), random.SystemRandom().random(),
                random.gauss(0, 1), secrets.token_hex(8), str(uuid.uuid4()), str(uuid.uuid1()), os.urandom(5).hex(),
                tempfile.mktemp(), os.getrandom(4).hex(),
            ]
        all_of_it()
        """,
        "random.seed(); [await aget(one) for one in all_of_it()]",
    ),
    "sync calls while answers are under way": (
        """
        import asyncio
        async def mixed(i):
            a = await aget(i)
            b = get(a)
            c = callback(lambda x: get([x, i]))
            return [a, b, c, await aget(i)]
        await asyncio.gather(*(mixed(i) for i in range(5)), acallback(lambda x: get(x)))
        """,
    ),
    "a semaphore and a queue": (
        """
        import asyncio
        async def producer(queue):
            for i in range(10):
                await queue.put(await aget(i))
        async def consumer(queue, name):
            while True:
                i = await queue.get()
                await aget([name, i])
                queue.task_done()
        queue = asyncio.Queue(3)
        workers = [asyncio.create_task(consumer(queue, name)) for name in "abc"]
        await producer(queue)
        await queue.join()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        limit = asyncio.Semaphore(2)
        async def limited(i):
            async with limit:
                return await aget(i)
        await asyncio.gather(*(limited(i) for i in range(6)))
        """,
    ),
}


@pytest.mark.parametrize(
    "burst", [pytest.param(False, id="one by one", marks=pytest.mark.slow), pytest.param(True, id="in bursts")]
)
@pytest.mark.parametrize(
    "program", [pytest.param(name, marks=pytest.mark.slow if name == "spinning" else ()) for name in PROGRAMS]
)
def test_a_guest_that_gets_the_same_messages_says_the_same(program: str, burst: bool) -> None:
    played = scripted.same(*map(dedent, PROGRAMS[program]), order=len(program), burst=burst)
    assert [one[2] for one in played.said if one[0] == "d"] == ["value"] * len(PROGRAMS[program])


@pytest.mark.parametrize("order", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 9))])
def test_calls_have_the_same_paths_and_arguments_whatever_the_order_of_their_answers(order: int) -> None:
    cell = dedent(PROGRAMS["gather with follow-ups"][0])
    first, other = scripted.play(cell), scripted.play(cell, order=order, burst=True)
    assert sorted(map(str, first.calls)) == sorted(map(str, other.calls))


@pytest.mark.parametrize("order", range(6))
def test_threads_that_call_the_host_have_paths_of_their_own(order: int) -> None:
    cell = """
    import asyncio, threading
    from concurrent.futures import ThreadPoolExecutor
    def work(i):
        return get(get(i) + 1)
    found = await asyncio.gather(*(asyncio.to_thread(work, i) for i in range(5)))
    with ThreadPoolExecutor(3) as pool:
        found += pool.map(work, range(5))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    found
    """
    played = scripted.play(dedent(cell), order=order, burst=order % 2 == 1)
    assert played.values == [[1, 2, 3, 4, 5] * 2]
    tasks = [[f"1.{i + 1}#{n + 1}", "call", [i + n]] for i in range(5) for n in range(2)]
    pool = [[f"1~{i + 1}#{n + 1}", "call", [i + n]] for i in range(5) for n in range(2)]
    plain = [[f"1~{i + 6}#{n + 1}", "call", [i + n]] for i in range(3) for n in range(2)]
    assert sorted(map(str, played.calls)) == sorted(map(str, tasks + pool + plain))


def test_a_guest_without_a_journal_has_its_own_clock_and_chance_and_names_no_paths() -> None:
    cell = """
    import asyncio, random, time, datetime
    before = time.monotonic()
    await asyncio.sleep(0.01)
    time.sleep(0.01)
    elapsed = time.monotonic() - before
    [elapsed >= 0.02, time.time(), datetime.datetime.now().timestamp(), random.random(), get(1), await aget(2)]
    """
    one, other = (scripted.play(dedent(cell), journaled=False) for _ in range(2))
    assert [path for path, _, _ in one.calls] == ["plain#1", "plain#2"]
    for value in (one.values[0], other.values[0]):
        assert value[0] is True
        assert value[1] > scripted.START + 1e7
        assert abs(value[1] - value[2]) < 60
    assert one.values[0][3] != other.values[0][3]
