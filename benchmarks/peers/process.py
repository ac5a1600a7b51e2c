"""A subprocess a cell: `python -I -c`, its output read, without any sandbox and without a way back to the host."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.peers import cells
from benchmarks.peers.contestant import repeated, serve

PYTHON = str(getattr(sys, "_base_executable", sys.executable))


def execute(code: str) -> float:
    """The value of the last line, which is an expression."""
    body, _, last = code.strip().rpartition("\n")
    program = f"{body}\nprint({last})"
    done = subprocess.run([PYTHON, "-I", "-c", program], capture_output=True, check=True)
    return float(done.stdout)


serve("", {"start": repeated(lambda: execute(cells.FIRST)), "fib": lambda n: [execute(cells.fib(n))]})
