"""The process rung: full CPython, forked from a warm zygote into a kernel jail."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
from dataclasses import replace
from importlib import metadata

from cellwright.errors import IsolationMissing, UsageError
from cellwright.sandboxes import cgroup, memory_watch, zygotes
from cellwright.sandboxes.base import Limits, Opening
from cellwright.sandboxes.interpreter import ProcessInterpreter
from cellwright.sandboxes.jail import STANDARD, JailPlan
from cellwright.sandboxes.packages import Environment, versions


class ProcessSandbox:
    """Opens jailed interpreters of one environment. `required` is the operator's minimum of layers."""

    rung = "process"

    def __init__(
        self,
        environment: Environment,
        *,
        required: frozenset[str] = STANDARD,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._plan = JailPlan(
            python=environment.python,
            site=environment.site,
            preload=environment.preload,
            required=required,
            without=without,
        )
        self._held: list[zygotes.Zygote] = []
        self._open: set[ProcessInterpreter] = set()
        self._closed = False

    async def open(self, opening: Opening) -> ProcessInterpreter:
        if self._closed:
            raise UsageError("this sandbox is closed")
        zygote = await self._zygote(opening.limits)
        if opening.limits.processes and "mount" not in zygote.layers:
            raise IsolationMissing(
                f"Limits(processes={opening.limits.processes}): without the layer mount no program is started; give "
                "processes=0. `cellwright doctor` says how to add the layer"
            )
        group = None
        if opening.limits.processes or "cgroup" in self._plan.required:
            group = cgroup.create(opening.limits)
            if group is None and "cgroup" in self._plan.required:
                raise IsolationMissing("this machine does not give: cgroup. `cellwright doctor` says how to add it")
        ours, theirs = socket.socketpair()
        printed, output = os.pipe()
        child = zygote.spawn(
            conn=theirs,
            output=output,
            workspace=opening.workspace.path,
            limits=opening.limits,
            scratch=opening.scratch.path if opening.scratch is not None else None,
        )
        bare = "mount" not in zygote.layers
        warm = max(memory_watch.held(zygote.pid))
        interpreter = ProcessInterpreter(
            child, ours, printed, opening, zygote.modules, group, self.rung, bare=bare, warm=warm
        )
        self._open.add(interpreter)
        interpreter.on_end = self._open.discard
        return interpreter

    async def ready(self) -> None:
        """Start what guests are forked from. Raises `PlatformError` where this machine does not give the rung."""
        await self._zygote(Limits())

    async def pins(self) -> dict[str, str]:
        zygote = await self._zygote(Limits())
        return {
            "python": zygote.version,
            "packages": await asyncio.to_thread(versions, self._plan.site),
            "guest": metadata.version("cellwright"),
            "cpu": platform.machine(),
        }

    async def _zygote(self, limits: Limits) -> zygotes.Zygote:
        plan = replace(self._plan, programs=limits.processes > 0)
        dead = [zygote for zygote in self._held if not zygote.alive]
        self._held = [zygote for zygote in self._held if zygote.alive]
        for zygote in dead:
            await zygotes.release(zygote)
        for zygote in self._held:
            if zygote.plan == plan and zygote.alive:
                return zygote
        zygote = await zygotes.acquire(plan)
        self._held.append(zygote)
        return zygote

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(interpreter.close() for interpreter in list(self._open)))
        held, self._held = self._held, []
        for zygote in held:
            await zygotes.release(zygote)
