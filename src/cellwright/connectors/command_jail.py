"""One run of a program in a jail of its own: no network, no files but the machine's programs and its own directory.

The jail is that of the process sandbox, and may start programs. It knows nothing of options or help.
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
class ProgramResult:
    """The result of a run. `files` are those that it wrote; `cut`: it printed more than is kept."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    cut: bool = False


class CommandJail:
    """Runs programs, each in a guest and a directory of its own. `limits` bind one run."""

    def __init__(self, limits: Limits) -> None:
        if limits.processes < 1:
            raise UsageError("Limits(processes=0) starts no program; give at least 1")
        self._limits = limits
        self._sandbox: ProcessSandbox | None = None
        self._opening = asyncio.Lock()

    async def run(
        self, argv: Sequence[str], given: bytes = b"", files: Mapping[str, bytes] | None = None
    ) -> ProgramResult:
        sandbox = await self._ready()
        workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
        try:
            there = Files(workspace, most_bytes=FILE_BYTES)
            for path, content in (files or {}).items():
                await there.write(path, content)
            # less than the jail has, so that the result says how the program ended
            seconds = max(self._limits.wall_s - 1.0, self._limits.wall_s / 2)
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
            return ProgramResult(
                exit_code=code, stdout=stdout, stderr=stderr, files=await _written(there, files or {}), cut=cut
            )
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
    """The files that are new or changed. Too many files, or one that is too large, are an error: none is left out."""
    found: dict[str, bytes] = {}
    for entry in await files.list(most=FILES):
        if entry.is_dir:
            continue
        content = await files.read(entry.path)
        if given.get(entry.path) != content:
            found[entry.path] = content
    return found
