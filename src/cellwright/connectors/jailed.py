"""One run of a program in a jail of its own: no network, no files but the machine's programs and its own directory.

The jail is the process rung's, with leave to start programs. It knows nothing of options or help.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cellwright.errors import UsageError
from cellwright.sandboxes import GUEST_UID, STANDARD, Files, Limits, Opening, ProcessSandbox, Workspace, environment
from cellwright.scope import Scope, ScopeHost
from cellwright.settings import Settings

FILE_BYTES = 16 << 20
FILES = 200
_CELL = """
import subprocess
try:
    done = subprocess.run(argv, input=given, capture_output=True, timeout=seconds, cwd="/workspace")
    answer = [done.returncode, done.stdout[:most], done.stderr[:most], len(done.stdout) > most]
except FileNotFoundError:
    answer = [127, b"", ("no program " + argv[0] + " in the jail").encode(), False]
except subprocess.TimeoutExpired as late:
    answer = [124, (late.stdout or b"")[:most], f"it took longer than {seconds:g} s and was ended".encode(), False]
answer
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What came of a run. `files` are those that were written; `cut` says that there was more output."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    cut: bool = False


class Jail:
    """Runs programs, each in a guest and a directory of its own. `limits` bind one run."""

    def __init__(self, limits: Limits) -> None:
        if limits.processes < 1:
            raise UsageError("Limits(processes=0) starts no program; give at least 1")
        self._limits = limits
        self._sandbox: ProcessSandbox | None = None
        self._opening = asyncio.Lock()

    async def run(self, argv: Sequence[str], given: bytes = b"", files: Mapping[str, bytes] | None = None) -> Ran:
        sandbox = await self._ready()
        workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
        try:
            there = Files(workspace, most_bytes=FILE_BYTES)
            for path, content in (files or {}).items():
                await there.write(path, content)
            seconds = max(
                self._limits.wall_s - 1.0, self._limits.wall_s / 2
            )  # the program's end is told, not the jail's
            most = self._limits.output_kb << 10
            names = {"argv": list(argv), "given": given, "seconds": seconds, "most": most}
            host = ScopeHost(Scope(names))
            interpreter = await sandbox.open(Opening(host=host, limits=self._limits, workspace=workspace))
            try:
                outcome = await interpreter.run(1, _CELL)
            finally:
                await interpreter.close()
                host.close()
            code, stdout, stderr, cut = outcome.unwrap()
            return Ran(exit_code=code, stdout=stdout, stderr=stderr, files=await _written(there, files or {}), cut=cut)
        finally:
            await asyncio.to_thread(workspace.remove)

    async def _ready(self) -> ProcessSandbox:
        async with self._opening:
            if self._sandbox is None:
                cache = Settings.from_environment().cache_dir
                found = await environment(None, cache=cache, progress=lambda line: None)
                self._sandbox = ProcessSandbox(found, required=STANDARD)
            return self._sandbox

    async def close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()


async def _written(files: Files, given: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are new or changed. Too many, or one too large, is an error: nothing is left out in silence."""
    found: dict[str, bytes] = {}
    for entry in await files.list(most=FILES):
        if entry.is_dir:
            continue
        content = await files.read(entry.path)
        if given.get(entry.path) != content:
            found[entry.path] = content
    return found
