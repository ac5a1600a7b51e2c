"""Runs a piece of code in a jailed child and gives its answer, below the level of cells and interpreters."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cellwright.sandboxes import Environment, LandlockSandbox, zygotes
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.guest_uid import guest_uid
from cellwright.sandboxes.jail import LANDLOCK_ABI, JailPlan
from cellwright.sandboxes.zygotes import Child, Zygote
from cellwright_guest import kernel

PYTHON = Path(sys.executable).resolve()
ENTRY = Path(__file__).parent / "jailed"
PLAN = JailPlan(python=PYTHON, site=(ENTRY,), preload=("run_code",))
WITH_PACKAGES = replace(PLAN, site=(ENTRY, Path(sys.prefix, "lib", f"python3.{sys.version_info[1]}", "site-packages")))
ANSWER_S = 60.0


def open_python() -> Path:
    """An interpreter that guests of another uid can read, where they have no root of their own."""
    for python in (PYTHON, Path("/usr/bin/python3").resolve()):
        if python.exists() and all(parent.stat().st_mode & 1 for parent in python.parents if os.getuid() == 0):
            ask = [python, "-c", "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))"]
            if subprocess.run(ask).returncode == 0:
                return python
    pytest.skip("no Python 3.11 to 3.13 here that other users can read")


@asynccontextmanager
async def landlock_sandbox() -> AsyncGenerator[LandlockSandbox]:
    if kernel.landlock_abi() < LANDLOCK_ABI:
        pytest.skip(f"needs Landlock's ABI {LANDLOCK_ABI}")
    sandbox = LandlockSandbox(Environment(python=open_python()))
    try:
        yield sandbox
    finally:
        await sandbox.close()


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
