"""A host to be killed: starts a zygote with two children, prints their pids, and waits. Run as a program by a test."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.sandboxes.jails import PLAN, Jailed, started


async def main() -> None:
    async with started() as zygote:
        jailed = [Jailed(zygote, Path(sys.argv[1]), "while True: pass") for _ in range(2)]
        print(zygote.pid, *[await one.child.pid() for one in jailed], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    assert PLAN.preload
    asyncio.run(main())
