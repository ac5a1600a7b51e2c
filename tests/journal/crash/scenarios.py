"""What the crash tests run: cells whose values do not depend on how often their process died.

A call whose outcome is unknown is settled as a person would: look whether it happened, and make it again if not.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

PRELUDE = """
import asyncio, collections, datetime, os, random, secrets, time, uuid

def is_unknown(error):
    return type(error).__name__ == "OutcomeUnknown"

def is_lost(error):
    # an iterator of the host does not outlive its process; and whether the step under way was made is not known
    return is_unknown(error) or type(error).__name__ == "HandleLost"

VALUES = {"add": "added", "send": "sent"}

async def sure(call, name, what, *more):
    for attempt in range(9):
        try:
            return await call(what, *more)
        except Exception as error:
            if not is_unknown(error):
                raise
            await desk.unknown(str(error))
            if await desk.happened(name, [what]):
                return f"{VALUES[name]} {what}"

async def send(what, delay=0):
    return await sure(desk.send, "send", what, delay)

async def add(what):
    async def call(what):
        return desk.add(what)
    return await sure(call, "add", what)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Cells, of which the last one's value tells. `free` names effects that need not all be there.

    Those of a call that makes several, of which a death may leave some; and those whose arguments tell of a race.
    """

    cells: tuple[str, ...]
    free: frozenset[str] = frozenset()
    compare_files: bool = True


def _scenario(*cells: str, free: str = "", compare_files: bool = True) -> Scenario:
    told = (PRELUDE, *(dedent(cell) for cell in cells))
    return Scenario(cells=told, free=frozenset(free.split()), compare_files=compare_files)


SCENARIOS: dict[str, Scenario] = {
    "effects one after the other": _scenario(
        """
        got = []
        for i in range(3):
            got.append(await add(i))
            open("log.txt", "a").write(f"{i}\\n")
            got.append(await send(f"s{i}"))
        print(got)
        """,
        "got.append(await add('last')); got, open('log.txt').read()",
        "(got, open('log.txt').read())",
    ),
    "gathered calls with follow-ups": _scenario(
        """
        async def chain(i):
            first = await send(f"a{i}", (7 * i) % 5)
            second = await desk.look(first, (3 * i) % 4)
            return await send(f"b{i} {second}", (5 * i) % 3)
        got = await asyncio.gather(*(chain(i) for i in range(4)))
        """,
        "(got, await send('after'))",
    ),
    "as completed": _scenario(
        """
        order, kept = [], []
        for one in asyncio.as_completed([send(f"c{i}", (4 - i) * 2) for i in range(4)]):
            answer = await one
            order.append(answer)
            kept.append(await send(f"{len(order)} of {answer}"))
        # the order is a race; what follows from it must fit it
        fits = kept == [f"sent {n} of {answer}" for n, answer in enumerate(order, 1)]
        """,
        "assert len(await desk.done()) == len(order) * 2\n(fits, sorted(order))",
        free="send",
    ),
    "timeouts that fire and that do not": _scenario(
        """
        async def bounded(call, seconds):
            try:
                async with asyncio.timeout(seconds):
                    return await call
            except TimeoutError:
                return await send("late")
        one = await bounded(send("slow", 60_000), 0.02)
        two = await bounded(send("quick", 1), 30)
        try:
            three = await asyncio.wait_for(desk.look("never", 60_000), 0.01)
        except TimeoutError:
            three = "timed out"
        """,
        "(one, two, three, await add('after'))",
    ),
    "a cancelled task": _scenario(
        """
        ended = []
        async def work(i):
            try:
                return await send(f"slow {i}", 60_000)
            except asyncio.CancelledError:
                ended.append(i)
                desk.look_now(i)
                raise
        tasks = [asyncio.create_task(work(i)) for i in range(3)]
        await send("first", 1)
        tasks[1].cancel()
        await asyncio.wait([tasks[1]])
        await send("second", 1)
        for task in tasks:
            task.cancel()
        said = [type(one).__name__ for one in await asyncio.gather(*tasks, return_exceptions=True)]
        """,
        "(said, sorted(ended), ended[0])",
    ),
    "callbacks that call the host": _scenario(
        """
        seen = []
        def back(what):
            seen.append(what)
            return desk.look_now(what)
        async def aback(what):
            seen.append(what)
            return await send(["in", what])
        async def tried(call):
            try:
                return await call()
            except Exception as error:
                if not is_unknown(error):
                    raise
                await desk.unknown(str(error))
                return "unknown"
        async def sync():
            return desk.apply("x", back)
        one = await tried(sync)
        two = await tried(lambda: desk.aapply("y", aback))
        """,
        """
        # an effect in doubt is not made again, so what it gave is not known; what the callbacks did is
        def right(got, *wanted):
            return got == "unknown" or got == ["applied", *wanted]
        (right(one, "seen x", "seen ['x']"), right(two, "sent ['in', 'y']", "sent ['in', ['y']]"))
        """,
        free="apply aapply send",
    ),
    "the host iterates a guest generator": _scenario(
        """
        made = []
        def rows(n):
            for i in range(n):
                made.append(i)
                yield desk.look_now(i)
        try:
            one = desk.each("bulk", rows(4))
        except Exception as error:
            if not is_unknown(error):
                raise
            await desk.unknown(str(error))
            one = "unknown"
        """,
        "(one in (4, 'unknown'), made == list(range(len(made))), one == 'unknown' or len(made) == 4)",
        free="insert",
    ),
    "the guest iterates a host generator": _scenario(
        """
        got = []
        try:
            for page in desk.pages(5):
                got.append(page)
                await add(page)
        except Exception as error:
            assert is_lost(error), error
            got.append("lost")
        """,
        """
        async def rest():
            after = []
            async for page in desk.apages(3):
                after.append(page)
            return after
        try:
            more = await rest()
        except Exception as error:
            assert is_lost(error), error
            more = "lost"
        """,
        "(got in [[*range(n), 'lost'] for n in range(6)] + [[0, 1, 2, 3, 4]], more in ('lost', [0, 1, 2]))",
        free="add",
    ),
    "workers on a queue": _scenario(
        """
        queue, out = asyncio.Queue(), []
        async def worker(name):
            while True:
                item = await queue.get()
                out.append(await send(item, (3 * item) % 4))
                queue.task_done()
        for i in range(6):
            queue.put_nowait(i)
        crew = [asyncio.create_task(worker(n)) for n in range(3)]
        await queue.join()
        for one in crew:
            one.cancel()
        len(out)
        """,
        "sorted(out)",
    ),
    "a background task over cells": _scenario(
        """
        ticks = []
        async def ticking():
            for i in range(4):
                ticks.append(await send(f"tick {i}", 3))
        task = asyncio.create_task(ticking())
        """,
        "first = await add('between')",
        "await send('slower', 8)",
        "await task\n(ticks, first)",
    ),
    "calls in threads": _scenario(
        """
        # threads take their answers in any order: only what does not depend on it comes out the same
        async def one(i):
            first = await asyncio.to_thread(desk.put_now, f"t{i}")
            return await asyncio.to_thread(desk.put_now, f"then {first}")
        got = await asyncio.gather(*(one(i) for i in range(3)))
        """,
        "(got, await add('after'))",
    ),
    "clock and chance in arguments": _scenario(
        """
        ids = []
        for make in (uuid.uuid4, uuid.uuid1, time.time, random.random, secrets.token_hex, time.monotonic_ns):
            ids.append(str(make()))
            await send(ids[-1])
            time.sleep(0.001)
            await asyncio.sleep(0.001)
        ids.append(datetime.datetime.now().isoformat())
        await send(ids[-1])
        """,
        "(sorted(ids) == sorted(one[1] for one in await desk.done()), len(set(ids)))",
        free="send",
    ),
    "errors of the host": _scenario(
        """
        said = []
        for i in range(2):
            try:
                desk.refuse(i)
            except LookupError as error:
                said.append(str(error))
            except Exception as error:
                assert is_unknown(error), error
                await desk.unknown(str(error))
                said.append(f"no {i} here")
        await add("went on")
        """,
        "said",
        free="refuse",
    ),
    "large values and files": _scenario(
        """
        content = bytes(range(256)) * 800
        for attempt in range(9):
            try:
                back = desk.blob(content)
                break
            except Exception as error:
                assert is_unknown(error), error
                await desk.unknown(str(error))
                if await desk.happened("blob", [len(content)]):
                    back = content[::-1]
                    break
        os.makedirs("deep/er", exist_ok=True)
        with open("deep/er/log.bin", "ab") as file:
            file.write(back[:10])
            file.flush()
            await send("in the middle")
            file.write(back[-10:])
        os.rename("deep/er/log.bin", "deep/kept.bin")
        """,
        "open('deep/kept.bin', 'ab').write(b'more')",
        "(back == content[::-1], open('deep/kept.bin', 'rb').read(), os.listdir('deep/er'))",
    ),
    "an idempotent operation": _scenario(
        """
        got = [await desk.put(i, i) for i in range(2)]
        got += await asyncio.gather(*(desk.put(f"g{i}", 3 - i) for i in range(3)))
        """,
        "(got, await desk.put('last'))",
    ),
    "records that are used later": _scenario(
        """
        try:
            row = desk.row("oslo")
        except Exception as error:
            assert is_unknown(error), error
            await desk.unknown(str(error))
            row = desk.find("oslo")
        """,
        """
        async def rename(what):
            try:
                return row.rename(what)
            except Exception as error:
                assert is_unknown(error), error
                await desk.unknown(str(error))
                return f"oslo->{what}"
        names = [await rename("bergen"), row.name]
        """,
        "(names, await rename('tromsø'), row.name)",
        free="row rename",
    ),
    "cells that ask for nothing": _scenario(
        """
        out = []
        async def later():
            out.append(await send("late", 5))
            out.append(await send("later"))
        task = asyncio.create_task(later())
        """,
        "x = 1",
        "x += 1",
        "async def nothing(): pass\nawait nothing(); x += 1",
        "await task\n(out, x)",
    ),
    "callbacks between cells": _scenario(
        """
        seen = []
        def heard(what):
            seen.append([what, desk.look_now(what)])
            open("heard.txt", "a").write(what)
            return len(seen)
        open("heard.txt", "w").close()
        desk.listen(heard)
        x = 1
        """,
        "await desk.ring(['a', 'b', 'c'], 0); x = len(seen)",
        "before = len(seen); x += len(seen)\nfor i in range(100): await asyncio.sleep(0)\nlen(seen) >= before",
        "x += 1\nawait desk.ring(['d'], 3)",
        "await asyncio.sleep(0.01)",
        """
        # who listens does not outlive its process: how much was heard is a race
        heard_of, written = [what for what, _ in seen], open("heard.txt").read()
        print(len(written) >= 0)
        first = [what for what in heard_of if what != "d"]
        (first == sorted(first), all(said == f"seen {what}" for what, said in seen))
        """,
        compare_files=False,
    ),
    "many at once": _scenario(
        "got = await asyncio.gather(*(desk.look(i, (i * 7) % 20) for i in range(300)))",
        "sent = await asyncio.gather(*(send(i, (i * 3) % 5) for i in range(20)))",
        "(len(got), sent)",
    ),
}
