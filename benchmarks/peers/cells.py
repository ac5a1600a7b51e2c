"""The code that every contestant runs. Clocks are read inside, where all of them have `time`."""

from __future__ import annotations

FIRST = "1+1"


def calls(expression: str, times: int) -> str:
    """Seconds for each of many host calls."""
    return f"""
import time
began = time.perf_counter()
for _ in range({times}):
    {expression}
(time.perf_counter() - began) / {times}
"""


def fib(n: int) -> str:
    """Seconds for fib(n), the plain recursive way."""
    return f"""
import time
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
began = time.perf_counter()
fib({n})
time.perf_counter() - began
"""


def add(a: int, b: int) -> int:
    """The host function that is called."""
    return a + b
