"""stdin and stdout for the MCP SDK, on the event loop: a read that waits can be cancelled.

While they are used, descriptor 0 is empty and descriptor 1 is stderr: prints of this process and of its children do not
come between messages.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from cellwright.gateway.cell_answers import encodable

LONGEST = 64 * 1024 * 1024  # of one message
PARSE, INVALID = -32700, -32600


class StdoutWriter:
    """stdout."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "surrogatepass"))

    async def flush(self) -> None:
        await self._writer.drain()


class StdinLines:
    """The lines of stdin. A line that is no message is answered here: the SDK would drop it without a word."""

    def __init__(self, reader: asyncio.StreamReader, out: StdoutWriter) -> None:
        self._reader = reader
        self._out = out

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self._reader.readuntil()
            except asyncio.IncompleteReadError as error:
                line = error.partial
            except asyncio.LimitOverrunError as error:
                await self._skip(error.consumed)
                await self._refuse(None, f"a message has at most {LONGEST:,} bytes")
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace")
            wrong = _wrong(text) if text.strip() else None
            if wrong is not None:
                await self._refuse(*wrong)
            elif text.strip():
                yield text

    async def _skip(self, consumed: int) -> None:
        """The rest of a line that is too long."""
        while True:
            await self._reader.readexactly(consumed)
            try:
                await self._reader.readuntil()
            except asyncio.LimitOverrunError as error:
                consumed = error.consumed
            except asyncio.IncompleteReadError:
                return
            else:
                return

    async def _refuse(self, request: str | int | None, why: str) -> None:
        code = PARSE if request is None else INVALID
        message = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": f"no JSON-RPC message: {why}"}}
        await self._out.write(json.dumps(message) + "\n")
        await self._out.flush()


def _wrong(text: str) -> tuple[str | int | None, str] | None:
    """The id of the request and why the line is no message; None if it is one."""
    from mcp_types import jsonrpc_message_adapter
    from pydantic import ValidationError

    try:
        jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        found = _loaded(text)
        if isinstance(found, list):
            return None, "send one at a time"
        given: Any = cast("dict[str, Any]", found).get("id") if isinstance(found, dict) else None
        number = given if type(given) is int or (type(given) is str and encodable(given) == given) else None
        return number, str(error.errors(include_url=False, include_input=False)[0]["msg"])[:200]
    return None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@asynccontextmanager
async def claimed() -> AsyncGenerator[dict[str, Any]]:
    """Arguments for the SDK's `stdio_server`; none if these are files, which an event loop cannot wait for."""
    if not (_waits(0) and _waits(1)):
        yield {}
        return
    ours = [os.dup(0), os.dup(1)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    blocking = [os.get_blocking(number) for number in ours]
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(ours[0]), "rb", buffering=0)
    )
    writing, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(ours[1]), "wb", buffering=0)
    )
    out = StdoutWriter(asyncio.StreamWriter(writing, protocol, None, loop))
    try:
        yield {"stdin": StdinLines(reader, out), "stdout": out}
    finally:
        reading.close()
        writing.close()
        for number, (own, was) in enumerate(zip(ours, blocking, strict=True)):
            os.set_blocking(own, was)  # a terminal is shared with the shell, which needs it blocking
            os.dup2(own, number)
            os.close(own)


def _waits(number: int) -> bool:
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and os.isatty(number))
