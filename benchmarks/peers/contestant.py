"""A contestant's side: reads tasks from standard input, does them, prints what it measured. Standard library only.

    {"task": "start", "size": 10}   →   {"figures": [0.0031, …]}

Tasks get a size and return figures, in seconds or bytes: how often for `start` and `eval`, how many sessions for
`memory`, how many calls for `call` and `call_async`, which number for `fib`. What is kept warm is made when first used.
A contestant that keeps files puts them into the directory that it is told on its command line, and leaves them there.

For sessions that last: how many calls for `kept_call`, how often for `suspend`, of how many cells for `bring_back`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from importlib import metadata
from typing import Any

from benchmarks.processes import pss_of_tree

Task = Callable[[int], list[float]]


def serve(distribution: str, tasks: dict[str, Task]) -> None:
    """Never returns: what a peer leaves for the interpreter's exit is not run."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a peer prints is not an answer
    version = metadata.version(distribution) if distribution else sys.version.split()[0]
    print(json.dumps({"version": version, "tasks": sorted(tasks)}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"figures": tasks[asked["task"]](asked["size"])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)


def directory() -> str:
    """Where files may be put. It is on a disk, and is removed by others."""
    return sys.argv[1]


def repeated(work: Callable[[], object]) -> Task:
    """Seconds for each time that `work` is done."""

    def task(times: int) -> list[float]:
        took: list[float] = []
        for _ in range(times):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
        return took

    return task


def repeated_on(runner: asyncio.Runner, work: Callable[[], Coroutine[Any, Any, object]]) -> Task:
    """The same for a coroutine, all of them in one run of the event loop."""

    async def together(times: int) -> list[float]:
        took: list[float] = []
        for _ in range(times):
            began = time.perf_counter()
            await work()
            took.append(time.perf_counter() - began)
        return took

    return lambda times: runner.run(together(times))


def opened(open_one: Callable[[ExitStack], object]) -> Task:
    """Seconds until each session is open and has given its first result. Closing it is not in them."""

    def task(times: int) -> list[float]:
        took: list[float] = []
        for _ in range(times):
            with ExitStack() as stack:
                began = time.perf_counter()
                open_one(stack)
                took.append(time.perf_counter() - began)
        return took

    return task


def live_memory(open_one: Callable[[ExitStack], object]) -> Task:
    """Bytes that a live session adds to this process and all below it, the mean of many."""

    def task(sessions: int) -> list[float]:
        with ExitStack() as stack:
            before = pss_of_tree()
            kept = [open_one(stack) for _ in range(sessions)]
            return [(pss_of_tree() - before) / len(kept)]

    return task
