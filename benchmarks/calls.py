"""A host call from inside a cell, beside 64 bytes thrown to another Python process and back."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager

from benchmarks.processes import leaves, placed
from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Limits, Runtime

ASYNC_TARGET, SYNC_TARGET = 4.0, 8.0
SIZE = 64  # about what a call with two small numbers is on the wire

ECHO = f"""
import socket, sys
conn = socket.socket(fileno=int(sys.argv[1]))
while ball := conn.recv({SIZE}):
    conn.sendall(ball)
"""

CELL = """
import time
async def timed(times):
    took = []
    for _ in range(times):
        began = time.perf_counter()
        {call}
        took.append(time.perf_counter() - began)
    return took
await timed({times})
"""


class Calculator:
    def add(self, a: int, b: int) -> int:
        return a + b

    async def add_soon(self, a: int, b: int) -> int:
        return a + b


async def measure(run: Run) -> list[Check]:
    """With the two sides on a core each, as on a machine that has nothing else to do, and with both on one.

    Left to itself the scheduler does now this, now that: a figure would say more about its mood than about a call. A
    message to another core has to wake it, and so the throw itself is some four times dearer there.
    """
    cores = sorted(os.sched_getaffinity(0))
    found: list[Check] = []
    with _echo(await run.python()) as (conn, echo):
        async with Runtime({"calc": Calculator()}, limits=Limits(host_calls=10 * run.count(400, 50))) as rt:
            (await rt.execute("1")).unwrap()
            others = [echo, *leaves(os.getpid())]
            if len(cores) > 1:
                with placed(others, cores[0], cores[1]):
                    found += await _placement(run, rt, conn, "two cores", (ASYNC_TARGET, SYNC_TARGET))
            with placed(others, cores[0], cores[0]):
                found += await _placement(run, rt, conn, "one core", (ASYNC_TARGET, SYNC_TARGET))
    return found


async def _placement(
    run: Run, rt: Runtime, conn: socket.socket, where: str, targets: tuple[float, float]
) -> list[Check]:
    block = run.count(400, 50)
    pings: list[float] = []
    waits: list[float] = []
    blocks: list[float] = []
    for _ in run.rounds(f"host calls, {where}", 30, 2):
        pings += _pings(conn, block)
        waits += (await rt.execute(CELL.format(call="await calc.add_soon(1, 2)", times=block))).unwrap()
        blocks += (await rt.execute(CELL.format(call="calc.add(1, 2)", times=block))).unwrap()
    lines = (
        (f"async host call, {where}", waits, targets[0]),
        (f"sync host call, {where}", blocks, targets[1]),
    )
    return [
        Check(
            subject="host calls",
            what=what,
            against=f"{SIZE} bytes to a process and back",
            ours=median(own),
            theirs=median(pings),
            value=median(own) / median(pings),
            target=target,
            samples=len(own),
        )
        for what, own, target in lines
    ]


@contextmanager
def _echo(python: str) -> Generator[tuple[socket.socket, int]]:
    ours, theirs = socket.socketpair()
    with ours:
        argv = [python, "-I", "-S", "-c", ECHO, str(theirs.fileno())]
        process = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
        theirs.close()
        try:
            yield ours, process.pid
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            process.wait()


def _pings(conn: socket.socket, times: int) -> list[float]:
    ball = os.urandom(SIZE)
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        conn.sendall(ball)
        conn.recv(SIZE)
        took.append(time.perf_counter() - began)
    return took
