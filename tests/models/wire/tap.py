"""What stands between a client and a server, on this machine: a tap that keeps each request, and a server by hand.

`Tap` passes everything on to aimock and keeps what it passed. `Canned` answers each request with given bytes, for what
aimock cannot say: a stream that ends early in good order, malformed arguments in Anthropic's protocol, no answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

LIMIT_S = 30

Server = TypeVar("Server", "Tap", "Canned")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One request as it went over the wire."""

    path: str
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    def raw(self, key: str) -> str:
        """The bytes of one field of the body, exactly as they were written."""
        start = self.text.index(f'"{key}":') + len(key) + 3
        start += len(self.text[start:]) - len(self.text[start:].lstrip())
        return self.text[start : json.JSONDecoder().raw_decode(self.text, start)[1]]


class Tap:
    """Listens at `url` and passes on to `port`; `rename` changes the beginning of a path on its way."""

    def __init__(self, port: int, rename: tuple[str, str] = ("", "")) -> None:
        self.sent: list[Sent] = []
        self.url = ""
        self._port = port
        self._rename = rename

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(LIMIT_S):
            head, sent = await heard(reader)
            self.sent.append(sent)
            line, _, rest = head.partition("\r\n")
            line = line.replace(f" {self._rename[0]}", f" {self._rename[1]}", 1)
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._port)
            up_writer.write(once(f"{line}\r\n{rest}") + sent.text.encode())
            writer.write(once((await up_reader.readuntil(b"\r\n\r\n")).decode()))
            while piece := await up_reader.read(65536):
                writer.write(piece)
                await writer.drain()
            up_writer.close()


def once(head: str) -> bytes:
    """The same head, of a connection that serves one request."""
    first, *lines = [line for line in head.split("\r\n") if not line.lower().startswith("connection:")]
    return "\r\n".join([first, "Connection: close", *lines]).encode()


class Canned:
    """Answers request number n with `answers[n]`, the last one again and again; None is no answer at all."""

    def __init__(self, *answers: bytes | None) -> None:
        self.sent: list[Sent] = []
        self.url = ""
        self.asked = asyncio.Event()
        self.left = asyncio.Event()  # a client that waited has gone
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(LIMIT_S):
            self.sent.append((await heard(reader))[1])
            self.asked.set()
            answer = self._answers[min(len(self.sent), len(self._answers)) - 1]
            if answer is None:
                await reader.read()
                self.left.set()
            else:
                writer.write(answer)
                await writer.drain()


async def heard(reader: asyncio.StreamReader) -> tuple[str, Sent]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
    text = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
    return head, Sent(path=line.split()[1], headers=headers, text=text)


@asynccontextmanager
async def listening(server: Server) -> AsyncGenerator[Server]:
    """The server, at its `url` while this lasts."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await server.serve(reader, writer)
        except (OSError, EOFError, TimeoutError):  # the client left
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()


def events(*pieces: str) -> bytes:
    """A stream of server-sent events that ends in good order."""
    body = "".join(pieces).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body
