"""smolagents' LocalPythonExecutor: walks the syntax tree in the host's own process."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from importlib import import_module
from typing import Any

from benchmarks.peers import cells
from benchmarks.peers.contestant import live_memory, repeated, serve

module: Any = import_module("smolagents.local_python_executor")


def opened(_: ExitStack | None = None) -> Any:
    executor = module.LocalPythonExecutor([], additional_functions={"add": cells.add}, timeout_seconds=120)
    executor.send_tools({})
    assert executor(cells.FIRST).output == 2
    return executor


warm = cache(opened)
serve(
    "smolagents",
    {
        "start": repeated(opened),
        "eval": repeated(lambda: warm()(cells.FIRST)),
        "call": lambda times: [warm()(cells.calls("add(1, 2)", times)).output],
        "fib": lambda n: [warm()(cells.fib(n)).output],
        "memory": live_memory(opened),
    },
)
