"""`thread="task"`: an `async def` of the host that guest code calls without `await`."""

from __future__ import annotations

import asyncio

import pytest

from cellwright import Runtime, Scope, operation
from cellwright.errors import UsageError


class Line:
    """Calls that wait for each other: two must be under way at once."""

    def __init__(self) -> None:
        self.met = asyncio.Barrier(2)

    @operation(thread="task")
    async def meet(self) -> str:
        await self.met.wait()
        return "met"


async def test_it_is_called_without_await_and_two_of_them_overlap() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    found = list(pool.map(lambda _: line.meet(), range(2)))
found
"""
    async with Runtime({"line": Line()}) as rt:
        assert (await rt.execute(code)).value == ["met", "met"]
        assert "def meet() -> str" in (await rt.show("line.meet", budget=500)).replace("self", "")
        assert "async def" not in await rt.show("line.meet", budget=500)


def test_it_is_said_at_the_function_alone() -> None:
    with pytest.raises(UsageError, match=r'say it with @operation\(thread="task"\)'):
        Scope({"line": 1}).declare("line.*", thread="task")
