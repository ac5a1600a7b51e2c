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
from cellwright.sandboxes.guest_network import ServedListener
from cellwright.sandboxes.interpreter import ProcessInterpreter
from cellwright.sandboxes.jail import NAMESPACES, STANDARD, JailPlan
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
        if opening.network is not None and self._plan.without & NAMESPACES:
            raise UsageError(
                f'the {self.rung} sandbox gives guests no network; give sandbox="process", or leave out network=…'
            )
        zygote = await self._zygote(opening.limits, network=opening.network is not None)
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
        interpreter = self._started(zygote, opening, group)
        self._open.add(interpreter)
        return interpreter

    def _started(self, zygote: zygotes.Zygote, opening: Opening, group: cgroup.Cgroup | None) -> ProcessInterpreter:
        ours, theirs = socket.socketpair()
        printed, output = os.pipe()
        line, listener_line = socket.socketpair() if opening.network is not None else (None, None)
        child = zygote.spawn(
            conn=theirs,
            output=output,
            workspace=opening.workspace.path,
            limits=opening.limits,
            scratch=opening.scratch.path if opening.scratch is not None else None,
            network=listener_line,
            certificate=opening.network.certificate if opening.network is not None else "",
        )
        bare = "mount" not in zygote.layers
        warm = max(memory_watch.held(zygote.pid))
        interpreter = ProcessInterpreter(
            child, ours, printed, opening, zygote.modules, group, self.rung, bare=bare, warm=warm
        )
        interpreter.on_end = self._open.discard
        if opening.network is not None and line is not None:
            served = ServedListener(line, opening.network, interpreter.requests)
            interpreter.on_end = lambda ended: (served.end(), self._open.discard(ended))[1]
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

    async def _zygote(self, limits: Limits, *, network: bool = False) -> zygotes.Zygote:
        plan = replace(self._plan, programs=limits.processes > 0, network=network)
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
