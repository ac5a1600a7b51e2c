"""`@operation` and what its facts do."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from tests.cells import PATIENCE_S, PATIENT, value

from cellwright import Runtime, Scope, operation
from cellwright.errors import UsageError


async def test_an_operation_stays_the_function_it_was() -> None:
    @operation(idempotent=True, direct=True, timeout_s=10)
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    assert add(1) == 3
    assert add.__doc__ == "Adds."
    assert await value("add(1, b=5), add.__doc__", add=add) == (6, "Adds.")


async def test_an_async_operation_stays_async() -> None:
    @operation(reads=True)
    async def get() -> int:
        return 1

    assert inspect.iscoroutinefunction(get)
    assert await value("await get()", get=get) == 1


class Slow:
    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    @operation(timeout_s=0.02)
    async def marked(self) -> None:
        await self.declared()

    async def declared(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


@pytest.mark.parametrize("name", ["marked", "declared"])
async def test_an_operation_that_takes_longer_than_its_timeout_is_cancelled_and_told(name: str) -> None:
    slow = Slow()
    scope = Scope({"slow": slow})
    scope.declare("slow.declared", timeout_s=0.02)
    async with Runtime(scope, limits=PATIENT) as rt:
        code = f"try:\n    await slow.{name}()\nexcept TimeoutError as error:\n    told = str(error)\ntold"
        told = (await rt.execute(code)).unwrap()
        assert name in told
        assert "0.02" in told
        async with asyncio.timeout(PATIENCE_S):
            await slow.cancelled.wait()
        assert (await rt.execute("1 + 1")).unwrap() == 2


def test_a_wrong_fact_is_told_when_it_is_said() -> None:
    with pytest.raises(UsageError, match="timeout_s"):
        operation(timeout_s=0)
    wrong: Any = "pool"
    with pytest.raises(UsageError, match="thread"):
        operation(thread=wrong)


async def test_facts_of_a_bound_function_can_be_declared_by_its_name() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    scope = Scope({"forever": forever})
    scope.declare("forever", timeout_s=0.02)
    async with Runtime(scope, limits=PATIENT) as rt:
        code = "try:\n    await forever()\nexcept TimeoutError:\n    told = 'late'\ntold"
        assert (await rt.execute(code)).unwrap() == "late"
