"""An API on 127.0.0.1 that answers as a test says and keeps what it was asked. Bytes for bytes: broken answers too."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request, as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = bytes | Callable[[Asked], bytes] | None  # None: it never answers


def reply(body: Any = None, status: int = 200, media: str = "application/json", **headers: str) -> bytes:
    """A whole answer; `retry_after="1"` is a header. Text and bytes go as they are, all else as JSON."""
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    raw = b"" if body is None else raw
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(raw)}", "connection: close"]
    lines += [f"content-type: {media}"] if raw and media else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


class Upstream:
    """`on` says what a path is answered with, one answer after another; the last one again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._answers: dict[str, list[Answer]] = {}
        self._held = asyncio.Event()

    def on(self, path: str, *answers: Answer) -> None:
        self._answers[path] = list(answers)

    def free(self) -> None:
        """End every answer that is held back."""
        self._held.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not reader.at_eof():
                asked = await _read(reader)
                if asked is None:
                    break
                self.asked.append(asked)
                answers = self._answers.get(asked.path, [reply({"message": "no such path"}, 404)])
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if answer is None:
                    await self._held.wait()
                    break
                writer.write(answer if isinstance(answer, bytes) else answer(asked))
                await writer.drain()
                break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    first = (await reader.readline()).decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while line := (await reader.readline()).decode("utf-8").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method=first[0], target=first[1], headers=headers, body=body)


@asynccontextmanager
async def upstream(tls: ssl.SSLContext | None = None) -> AsyncGenerator[Upstream]:
    made = Upstream()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    made.url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
    try:
        yield made
    finally:
        made.free()
        server.close()
