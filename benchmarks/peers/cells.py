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


def suspended(call: str) -> str:
    """Some state, ten host calls, and one more at which it stops; then their sum."""
    return f"""
kept = list(range(1000))
total = 0
for i in range(10):
    total = total + {call.format("i, 1")}
total + {call.format("len(kept), 0")}
"""


HELD = (1000, 0)  # the arguments of the call at which `suspended` stops
TOTAL = 1055  # and what it comes to


def numbered(call: str, i: int) -> str:
    """One cell of many."""
    return f"x{i} = [{i}] * 10\n{call.format(f'{i}, 1')}"


def add(a: int, b: int) -> int:
    """The host function that is called."""
    return a + b
