"""Programs that are drawn: awaits, gathers, timeouts and cancels in any mixture, over the objects of the crash tests.

What one comes to does not depend on the order in which its calls are answered, or on how often its process died.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.journal.crash.scenarios import PRELUDE, Scenario

SLOW = 60_000

SHAPES = """
async def seq(*steps):
    return [await step() for step in steps]

async def together(*steps):
    return await asyncio.gather(*(step() for step in steps))

async def grouped(*steps):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(step()) for step in steps]
    return [task.result() for task in tasks]

async def completed(*steps):
    got = [await one for one in asyncio.as_completed([step() for step in steps])]
    return sorted(map(str, got))

async def late(slow, then):
    try:
        async with asyncio.timeout(0.003):
            return await slow()
    except TimeoutError:
        return ["late", await then()]

async def holds(step):
    return await asyncio.wait_for(step(), 60)

async def cancels(slow, step):
    task = asyncio.create_task(slow())
    got = await step()
    task.cancel()
    said = (await asyncio.gather(task, return_exceptions=True))[0]
    return [type(said).__name__, got]

async def first(*steps):
    tasks = [asyncio.create_task(step()) for step in steps]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return sorted(map(str, await asyncio.gather(*tasks)))

async def queued(*steps):
    queue, out = asyncio.Queue(), []
    async def worker():
        while True:
            step = await queue.get()
            out.append(str(await step()))
            queue.task_done()
    crew = [asyncio.create_task(worker()) for _ in range(2)]
    for step in steps:
        queue.put_nowait(step)
    await queue.join()
    for one in crew:
        one.cancel()
    return sorted(out)

async def slept(step):
    await asyncio.sleep(0.001)
    got = await step()
    time.sleep(0.001)
    return got

async def calling_back(what, step):
    async def back(given):
        return await step()
    return await desk.both(what, back)
"""

Step = Callable[["itertools.count[int]"], str]


def _leaf(kind: str, delay: int) -> Step:
    def text(numbers: itertools.count[int]) -> str:
        n = next(numbers)
        match kind:
            case "send":
                return f"(lambda: send('s{n}', {delay}))"
            case "add":
                return f"(lambda: add('a{n}'))"
            case "put":
                return f"(lambda: desk.put('p{n}', {delay}))"
            case _:
                return f"(lambda: desk.look({n}, {delay}))"

    return text


def _shape(name: str, steps: list[Step]) -> Step:
    def text(numbers: itertools.count[int]) -> str:
        inner = [step(numbers) for step in steps]
        match name:
            case "cancels":
                slow = f"(lambda: desk.look({next(numbers)}, {SLOW}))"
                return f"(lambda: cancels({slow}, {inner[0]}))"
            case "fires":
                slow = f"(lambda: desk.look({next(numbers)}, {SLOW}))"
                return f"(lambda: late({slow}, {inner[0]}))"
            case "holds" | "slept":
                return f"(lambda: {name}({inner[0]}))"
            case "calling_back":
                return f"(lambda: {name}({next(numbers)}, {inner[0]}))"
            case _:
                return f"(lambda: {name}({', '.join(inner)}))"

    return text


_LEAVES = st.builds(_leaf, st.sampled_from(["send", "add", "put", "look"]), st.integers(0, 4))
_NAMES = st.sampled_from(
    [
        *("seq", "together", "grouped", "completed", "fires", "holds"),
        *("cancels", "first", "queued", "slept", "calling_back"),
    ]
)


def _grow(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
    return st.builds(_shape, _NAMES, st.lists(steps, min_size=1, max_size=4))


_STEPS: st.SearchStrategy[Step] = st.recursive(_LEAVES, _grow, max_leaves=8)


def _scenario(cells: list[Step], later: Step) -> Scenario:
    numbers = itertools.count(1)
    told = [f"task = asyncio.create_task({later(numbers)}())\nNone"]
    told += [f"r{n} = await {cell(numbers)}()" for n, cell in enumerate(cells)]
    names = ", ".join(f"r{n}" for n in range(len(cells)))
    return Scenario(cells=(PRELUDE + SHAPES, *told, f"[await task, {names}]"))


def scenarios() -> st.SearchStrategy[Any]:
    """Some cells, and a task that runs beside them."""
    return st.builds(_scenario, st.lists(_STEPS, min_size=1, max_size=3), _STEPS)
