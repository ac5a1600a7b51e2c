"""Many sessions alive at once: what an idle one takes, what a thousand take, whether the last opens like the first."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager

from benchmarks.peers.throng import raise_descriptors
from benchmarks.processes import available, leaves, pss, pss_of_tree
from benchmarks.results import Check
from benchmarks.run import Run, median, started
from cellwright import Runtime

IDLE_MB, CROWD_GB, SLOWDOWN = 2.5, 3.0, 1.5
EDGE = 50


async def measure(run: Run) -> list[Check]:
    try:
        return [await _idle(run), *await _crowd(run)]
    except PermissionError:
        run.say("memory is not measured: the kernel shows that of guests to root only")
        return []


async def _idle(run: Run) -> Check:
    with _sleeper(await run.python()) as sleeper:
        async with AsyncExitStack() as stack:
            for _ in run.rounds("idle sessions", 100, 5):
                await _enter(stack)
            guests = [float(pss(pid)) for pid in leaves(os.getpid()) if pid != sleeper]  # and one that is being made
            plain = pss(sleeper)
    return Check(
        subject="memory",
        what=f"PSS of an idle session, median of {len(guests) - 1}",
        against="idle `python -I -S`",
        ours=median(guests),
        theirs=plain,
        unit="B",
        value=median(guests) / 1e6,
        measure="MB",
        target=IDLE_MB,
        samples=len(guests),
    )


@contextmanager
def _sleeper(python: str) -> Generator[int]:
    process = subprocess.Popen([python, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


async def _crowd(run: Run) -> list[Check]:
    raise_descriptors()
    python = await run.python()
    times: list[float] = []
    pythons: list[float] = []  # started in between: what the machine does meanwhile slows these too
    before, free = pss("self"), available()
    async with AsyncExitStack() as stack:
        times.append(await _enter(stack))  # starts the zygote
        for _ in run.rounds("sessions that stay open", 999, 9):
            times.append(await _enter(stack))
            pythons.append(started(python, "-I", "-S", "-c", "pass"))
        total, used = pss_of_tree(), free - available()
        edge = min(EDGE, len(times) // 2 - 1)
        first, last = median(times[1 : edge + 1]), median(times[-edge:])
        slower = median(pythons[-edge:]) / median(pythons[:edge])
    alive = len(times)
    return [
        Check(
            subject="memory",
            what=f"PSS of {alive:,} live sessions, zygote and host growth",
            against="`MemAvailable`, with kernel memory",
            ours=total - before,
            theirs=used,
            unit="B",
            value=(total - before) / 1e9,
            measure="GB",
            target=CROWD_GB,
            samples=1,
        ),
        Check(
            subject="opening",
            what=f"open the last {edge} of {alive:,} open sessions",
            against=f"the first {edge}",
            ours=last,
            theirs=first,
            value=last / first,
            target=SLOWDOWN,
            samples=edge,
            note=f"bare `python` meanwhile {slower:.2f} ×",
        ),
    ]


async def _enter(stack: AsyncExitStack) -> float:
    began = time.perf_counter()
    rt = await stack.enter_async_context(Runtime())
    outcome = await rt.execute("1+1")
    took = time.perf_counter() - began
    assert outcome.value == 2
    return took
