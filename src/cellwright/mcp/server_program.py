"""A server that runs as our child process: JSON lines on its pipes, its stderr line by line to a listener.

It is a transport for the SDK, as the SDK's own `stdio_client` is, and also tells how the program ended. The program
leads a process group, and the whole group ends with the connection.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

GRACE_S = 1.0  # after its stdin is closed, and again after SIGTERM
_EXIT_S = 0.5  # for the process to end after its stdout closed
_LINE_BYTES = 64 << 20
_LOG_CHARACTERS = 2000
_CHUNK = 1 << 16
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Lines = MemoryObjectSendStream[SessionMessage | Exception]


class ServerProgram:
    """One run of a server's program. `ended` says how it ended, "" until that is known."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: str | None, on_line: Callable[[str], None]
    ) -> None:
        self._command = tuple(command)
        self._env = dict(env)
        self._cwd = cwd
        self._on_line = on_line
        self._last: deque[str] = deque(maxlen=3)
        self.ended = ""

    @property
    def last_words(self) -> str:
        """The last lines on its stderr: they usually say why it did not start."""
        return " / ".join(line.strip() for line in self._last if line.strip())

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[Any, None]:
        """The streams for the SDK's client. The program runs while they are open."""
        process = await self._start()
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        logs = asyncio.ensure_future(self._read_stderr(process))
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._receive, process, incoming)
                group.start_soon(self._send, process, outgoing, incoming)
                try:
                    yield read, write
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._stop(process)
                    group.cancel_scope.cancel()
        finally:
            _signal(process, signal.SIGKILL)  # also if the task was cancelled while it stopped the program
            logs.cancel()
            for stream in (incoming, read, write, outgoing):
                stream.close()
            _close(process)

    async def _start(self) -> asyncio.subprocess.Process:
        _check_directory(self._cwd)
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=get_default_environment() | self._env,
            cwd=self._cwd,
            start_new_session=True,
        )

    async def _receive(self, process: asyncio.subprocess.Process, incoming: Lines) -> None:
        assert process.stdout is not None
        with suppress(*_GONE):
            rest = bytearray()
            while chunk := await process.stdout.read(_CHUNK):
                *lines, last = (bytes(rest) + chunk if b"\n" in chunk else chunk).split(b"\n")
                if b"\n" in chunk:
                    rest = bytearray(last)
                else:
                    rest += last
                for line in lines:
                    await self._deliver(line, incoming)
                if len(rest) > _LINE_BYTES:
                    self.ended = f"sent a message of more than {_LINE_BYTES >> 20} MB"
                    break
        if await _exit_within(process, _EXIT_S) and not self.ended:
            self.ended = _exit_text(process.returncode)
        self.ended = self.ended or "closed its output"
        incoming.close()

    async def _deliver(self, line: bytes, incoming: Lines) -> None:
        if not line.strip():
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._log_line(line)  # a print to the wrong stream does not cost the connection
            return
        await incoming.send(SessionMessage(message))

    async def _send(self, process: asyncio.subprocess.Process, outgoing: Any, incoming: Lines) -> None:
        assert process.stdin is not None
        try:
            async for sent in outgoing:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
        except _GONE:
            # The program may be alive and read no more: without this a request would wait for ever.
            with suppress(*_GONE):
                await anyio.sleep(_EXIT_S)
            self.ended = self.ended or "closed its input"
            incoming.close()

    async def _read_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        rest = b""
        while chunk := await process.stderr.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._log_line(line)
            if len(rest) > _LINE_BYTES:
                rest = rest[-_LOG_CHARACTERS:]
        if rest:
            self._log_line(rest)

    def _log_line(self, line: bytes) -> None:
        text = line[: 4 * _LOG_CHARACTERS].decode(errors="replace").rstrip("\r")[:_LOG_CHARACTERS]
        if text.strip():
            self._last.append(text)
            self._on_line(text)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Close its stdin, as the protocol says; then SIGTERM, then SIGKILL, each after `GRACE_S`."""
        assert process.stdin is not None
        with suppress(*_GONE, RuntimeError):
            process.stdin.close()
        if not await _exit_within(process, GRACE_S):
            _signal(process, signal.SIGTERM)
            if not await _exit_within(process, GRACE_S):
                _signal(process, signal.SIGKILL)
                await _exit_within(process, GRACE_S)
        _signal(process, signal.SIGTERM)  # the processes that it started and left behind
        if process.returncode is not None and not self.ended:
            self.ended = _exit_text(process.returncode)


def _check_directory(cwd: str | None) -> None:
    if cwd is not None and not os.path.isdir(cwd):  # else the error would say that the program is missing
        raise OSError(errno.ENOTDIR, f"its directory {cwd} is not there")


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"ended ({signal.Signals(-code).name})"
    return f"ended (exit {code})"


async def _exit_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it ends within that time. Not `wait()`, which also waits for pipes that a grandchild may hold open."""
    deadline = anyio.current_time() + seconds
    while process.returncode is None:
        if anyio.current_time() >= deadline:
            return False
        await anyio.sleep(0.01)
    return True


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)  # it leads its group, so that is the group's id too


def _close(process: asyncio.subprocess.Process) -> None:
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:  # else Python warns later about a pipe that a grandchild holds open
        with suppress(PermissionError, ProcessLookupError):
            transport.close()
