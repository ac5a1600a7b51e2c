"""Sessions that are closed leave no thread and no descriptor, however they came to their end."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cellwright import Runtime
from cellwright.errors import CellwrightError, UsageError
from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")
MANY = 20


def _threads() -> int:
    """Those of sessions; the pool that asyncio makes for the loop stays."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def _is_as_before(threads: int, descriptors: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if _threads() <= threads and _descriptors() <= descriptors:
            return True
        await asyncio.sleep(0.02)
    return False


async def _closed(store: str, name: str) -> None:
    async with Runtime(store=store, session=name) as rt:
        (await rt.execute("open('made', 'w').write('x')")).unwrap()
    assert (await replay(name, store=store)).same


async def _died(store: str, name: str) -> None:
    async with Runtime(store=store, session=name) as rt:
        await rt.execute("import os\nos._exit(1)")


async def _refused(store: str, name: str) -> None:
    with suppress(CellwrightError):
        async with Runtime(store=store, session="taken"):
            pass
    with pytest.raises(UsageError):
        async with Runtime(store=store, session="taken"):
            raise AssertionError("it opened")


@pytest.mark.parametrize("way", [_closed, _died, _refused], ids=["closed", "died", "refused"])
async def test_no_thread_and_no_descriptor_is_left(way: Callable[[str, str], Awaitable[None]], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'agents.db'}"
    async with Runtime():  # keeps the zygote
        await way(store, "first")
        gc.collect()
        gc.disable()  # what is left is not to be tidied up by chance
        try:
            threads, descriptors = _threads(), _descriptors()
            for n in range(MANY):
                await way(store, f"s{n}")
            assert await _is_as_before(threads, descriptors), [thread.name for thread in threading.enumerate()]
        finally:
            gc.enable()
