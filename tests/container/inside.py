"""What `make container` runs inside each container: a session, the demo's cells, a sample of attacks.

Prints one JSON object. The sandbox is the setting CELLWRIGHT_SANDBOX; nothing but the image's packages is needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(CLONE)]

from tests.attacks.harness import CELLS, Arena, escapes, read_attack, unexpected  # noqa: E402

from cellwright import Runtime  # noqa: E402
from cellwright.errors import PlatformError  # noqa: E402
from cellwright.sandboxes import Environment, LandlockSandbox  # noqa: E402
from cellwright.sandboxes.packages import host_python  # noqa: E402

OPENED, HELD = 30, 20
SAMPLE = (
    "read_absolute_paths read_environment read_process_files read_through_descriptors write_standard_library "
    "change_host_files meet_a_sibling signals_to_others trace_processes act_on_other_processes read_zygote_memory "
    "refused_kernel_interfaces namespaces mounts devices no_capabilities network_inet network_unix memory_bytes "
    "execute_from_memory objects_credentials_on_attributes"
).split()

NAMESPACED = ("no_capabilities", "execute_from_memory")  # the second is about what a guest's own root shows


def memory_mb() -> float:
    """Memory of the processes of this container, without the cache of files; 0 where its control group is not shown."""
    for file, name in (("memory/memory.stat", "total_rss"), ("memory.stat", "anon")):
        try:
            lines = Path("/sys/fs/cgroup", file).read_text().splitlines()
        except OSError:
            continue
        return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith(f"{name} "))
    return 0.0


async def opened() -> dict[str, Any]:
    began = time.perf_counter()
    async with Runtime() as first:
        assert (await first.execute("1 + 1")).value == 2
        first_ms = 1e3 * (time.perf_counter() - began)
        took: list[float] = []
        for _ in range(OPENED):
            began = time.perf_counter()
            async with Runtime() as rt:
                assert (await rt.execute("1 + 1")).value == 2
                took.append(1e3 * (time.perf_counter() - began))
        before = memory_mb()
        sessions = [await Runtime().__aenter__() for _ in range(HELD)]
        for rt in sessions:
            assert (await rt.execute("1 + 1")).value == 2
        held_mb = memory_mb() - before
        for rt in sessions:
            await rt.close()
    return {"first_ms": first_ms, "open_ms": statistics.median(took), "held_mb": held_mb}


def cells() -> str:
    """ "" where every cell of the demo went as it should."""
    done = subprocess.run(
        [sys.executable, CLONE / "examples" / "cells.py"], capture_output=True, text=True, timeout=120, cwd="/tmp"
    )
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-1500:]


async def attacked(rung: str) -> dict[str, str]:
    """What got out, by attack; "" where it was held."""
    landlock = rung == "landlock"
    found: dict[str, str] = {}
    async with Arena(LandlockSandbox(Environment(python=host_python())) if landlock else "process") as arena:
        for name in [name for name in SAMPLE if not (landlock and name in NAMESPACED)]:
            attack = read_attack(CELLS / f"{name}.py")
            try:
                evidence = await arena.run(attack)
                wrong = escapes(evidence, arena.canaries.texts()) or unexpected(attack, evidence.outcome)
                found[name] = str(wrong)[:500] if wrong else ""
            except AssertionError as error:
                found[name] = str(error)[:500]
    return found


async def main() -> dict[str, Any]:
    try:
        report = await opened()
    except PlatformError as error:
        return {"refused": str(error)}
    return report | {"cells": cells(), "attacks": await attacked(os.environ["CELLWRIGHT_SANDBOX"])}


if __name__ == "__main__":
    if os.getpid() == 1:  # the number that a guest has for itself, and attacks aim at the host's
        sys.exit(subprocess.call([sys.executable, *sys.argv]))
    print(json.dumps(asyncio.run(main())))
