"""Opening a jailed session to its first result, beside starting an interpreter. The zygote is warm, as in service."""

from __future__ import annotations

import asyncio
import time

from benchmarks.results import Check
from benchmarks.run import Run, median, started
from cellwright import Runtime
from cellwright.sandboxes import GUEST_UID, Opening, ProcessSandbox, Workspace, environment
from cellwright.scope import Scope, ScopeHost

TARGET = 0.4
BLOCK = 5
PAUSE_S = 0.02


async def measure(run: Run) -> list[Check]:
    python = await run.python()
    pythons: list[float] = []
    sessions: list[float] = []
    rested: list[float] = []
    bare: list[float] = []
    sandbox = ProcessSandbox(await environment(None, cache=run.cache))
    workspace = Workspace.create(None, GUEST_UID)
    try:
        async with Runtime():  # keeps the zygote
            for _ in run.rounds("opening a session", 24, 2):
                pythons += [started(python, "-I", "-S", "-c", "pass") for _ in range(BLOCK)]
                sessions += [await _session() for _ in range(BLOCK + 1)][1:]  # the first had a pause before it
                rested += [await _session(PAUSE_S) for _ in range(BLOCK)]
                bare += [await _bare(sandbox, workspace) for _ in range(BLOCK + 1)][1:]
    finally:
        await sandbox.close()
        workspace.remove()
    lines = {
        "open a `Runtime`, run `1+1`": sessions,
        f"the same after {PAUSE_S * 1000:.0f} ms idle": rested,
        "`Sandbox.open` and `1+1`, workspace exists": bare,
    }
    return [
        Check(
            subject="opening",
            what=what,
            against="`python -I -S -c pass`",
            ours=median(own),
            theirs=median(pythons),
            value=median(own) / median(pythons),
            target=TARGET if own is sessions else None,
            samples=len(own),
        )
        for what, own in lines.items()
    ]


async def _session(pause_s: float = 0.0) -> float:
    if pause_s:
        await asyncio.sleep(pause_s)
    began = time.perf_counter()
    async with Runtime() as rt:
        outcome = await rt.execute("1+1")
        took = time.perf_counter() - began
    assert outcome.value == 2
    return took


async def _bare(sandbox: ProcessSandbox, workspace: Workspace) -> float:
    host = ScopeHost(Scope({}))
    began = time.perf_counter()
    interpreter = await sandbox.open(Opening(host=host, workspace=workspace))
    outcome = await interpreter.run(1, "1+1")
    took = time.perf_counter() - began
    assert outcome.value == 2
    await interpreter.close()
    host.close()
    return took
