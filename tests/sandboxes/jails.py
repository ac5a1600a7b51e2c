"""Runs a piece of code in a jailed child and gives its answer, below the level of cells and interpreters."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellwright.sandboxes import zygotes
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright.sandboxes.jail import JailPlan
from cellwright.sandboxes.zygotes import Child, Zygote

PYTHON = Path(sys.executable).resolve()
ENTRY = Path(__file__).parent / "jailed"
PLAN = JailPlan(python=PYTHON, site=(ENTRY,), preload=("run_code",))
WITH_PACKAGES = replace(PLAN, site=(ENTRY, Path(sys.prefix, "lib", f"python3.{sys.version_info[1]}", "site-packages")))
ANSWER_S = 60.0


@asynccontextmanager
async def started(plan: JailPlan = PLAN) -> AsyncGenerator[Zygote]:
    zygote = await zygotes.acquire(plan)
    try:
        yield zygote
    finally:
        await zygotes.release(zygote)
        await zygotes.end_idle()


class Jailed:
    """One child that runs `code`."""

    def __init__(self, zygote: Zygote, workspace: Path, code: str, limits: Limits | None = None) -> None:
        if (uid := guest_uid()) is not None:
            os.chown(workspace, uid, uid)
        self.conn, theirs = socket.socketpair()
        self.conn.setblocking(False)
        self.output, writer = os.pipe()
        self.child: Child = zygote.spawn(
            conn=theirs, output=writer, workspace=workspace, limits=limits or Limits(), entry="run_code", code=code
        )

    async def line(self) -> bytes:
        """What it sends next; empty at its end."""
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(loop.sock_recv(self.conn, 1 << 16), ANSWER_S)

    async def close(self) -> int:
        """Its wait status."""
        self.conn.close()
        os.close(self.output)
        return await asyncio.wait_for(self.child.exited, ANSWER_S)


async def told(code: str, workspace: Path, limits: Limits | None = None, plan: JailPlan = PLAN) -> dict[str, Any]:
    """What the code left in `answer`, or its error."""
    async with started(plan) as zygote:
        jailed = Jailed(zygote, workspace, code, limits)
        line = await jailed.line()
        if not line:
            os.set_blocking(jailed.output, False)
            status = await asyncio.wait_for(jailed.child.exited, ANSWER_S)
            return {"died": status, "output": os.read(jailed.output, 1 << 16).decode()}
        await jailed.close()
        return json.loads(line)
