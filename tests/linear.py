"""Whether the time that a text takes grows with its length, and not with the square of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from cellwright.errors import CellwrightError

TIMES = 16
TRIES = 3


async def check_linear(read: Callable[[str], Awaitable[Any] | Any], word: str, length: int = 4_000) -> None:
    """Read the word again and again, `length` characters and sixteen times as many. The square would be 256 times."""
    takes = 0.0
    short, long = (word * (n // len(word)) for n in (length, TIMES * length))
    least = max(min([await _cpu_s(read, short) for _ in range(TRIES)]), 0.000_2)  # less cannot be told from noise
    for _ in range(TRIES):
        takes = await _cpu_s(read, long)
        if takes < 5 * TIMES * least:
            return
    raise AssertionError(f"{word!r}: {least:.5f} s, and {takes:.5f} s for {TIMES} times as much")


async def _cpu_s(read: Callable[[str], Awaitable[Any] | Any], text: str) -> float:
    begun = time.thread_time()  # not the clock on the wall: other processes do not count
    with suppress(CellwrightError):
        made = read(text)
        if isawaitable(made):
            await made
    return time.thread_time() - begun
