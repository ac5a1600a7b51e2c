"""Running cells against live objects, which is what most tests do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from textwrap import dedent
from typing import Any

from cellwright import Limits, Outcome, Runtime, Scope
from cellwright.errors import CodeError

PATIENCE_S = 20.0  # how long a test waits for what must happen; nothing asserts on how long it took
PATIENT = Limits(wall_s=PATIENCE_S, cpu_s=PATIENCE_S)
ENDS_LOOPS = Limits(wall_s=PATIENCE_S, cpu_s=0.5)  # an endless loop ends; other cells do not, however busy the machine
# The interpreter may be anywhere: the directories that lead to it are in the guest's root, and hold nothing else.
BESIDE = """
import os, sys
def beside(place, *ways):
    'What is at a place but for the ways to what the jail shows.'
    ways = (sys.base_prefix, *ways)
    if place in ways or not os.path.isdir(place):
        return []
    found = []
    for path in (os.path.join(place, name) for name in os.listdir(place)):
        led = any(f'{way}/'.startswith(f'{path}/') for way in ways)
        found += beside(path, *ways) if led else [path]
    return found
"""


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it holds, and not forever: for what no event tells."""
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110  there is no event
            await asyncio.sleep(0.001)


async def outcomes(*cells: str, **names: Any) -> list[Outcome]:
    """What came of each cell, run one after the other in one session with these names in scope."""
    async with Runtime(names, limits=PATIENT) as rt:
        return [await rt.execute(dedent(cell)) for cell in cells]


async def value(*cells: str, **names: Any) -> Any:
    """The value of the last cell; the error of the first that failed is raised."""
    return [outcome.unwrap() for outcome in await outcomes(*cells, **names)][-1]


async def written(*cells: str, **names: Any) -> Any:
    """The value of the last cell, where cells may set attributes and items of all that is in scope."""
    scope = Scope(names)
    scope.declare("*", writable=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        return [(await rt.execute(dedent(cell))).unwrap() for cell in cells][-1]


async def failure(*cells: str, **names: Any) -> CodeError:
    """The error that the last cell raised."""
    *earlier, last = await outcomes(*cells, **names)
    for outcome in earlier:
        outcome.unwrap()
    assert isinstance(last.error, CodeError), f"not an error of the cell's own code: {last!r}"
    return last.error


async def said(rt: Runtime, code: str) -> str:
    """The value of a cell as text, or the last line of its error."""
    outcome = await rt.execute(code)
    return str(outcome.value) if outcome.ok else str(outcome.error).splitlines()[-1]
