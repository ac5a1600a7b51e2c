"""Servers of the SDK behind a port of the loopback, in a thread, and what was asked of them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

Scope = MutableMapping[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass
class Asked:
    """One request: its method, its headers, and the method of the protocol in its body."""

    method: str
    path: str
    headers: dict[str, str]
    rpc: str = ""
    tool: str = ""


@dataclass
class Watch:
    """An app before another: notes requests, and answers with a status of its own where `refuse` gives one."""

    app: App
    refuse: Callable[[Asked], int] = lambda asked: 0
    seen: list[Asked] = field(default_factory=list[Asked])

    def calls(self, tool: str) -> int:
        return sum(asked.tool == tool for asked in self.seen)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        asked = Asked(scope["method"], scope["path"], headers)
        body = b""
        if asked.method == "POST":
            more = True
            while more:
                part = await receive()
                body += part.get("body", b"")
                more = part.get("more_body", False)
            _read(asked, body)
        self.seen.append(asked)
        status = self.refuse(asked)
        if status:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"refused"})
            return
        given = False

        async def again() -> Any:
            nonlocal given
            if given or asked.method != "POST":
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)


def _read(asked: Asked, body: bytes) -> None:
    try:
        message = json.loads(body)
        asked.rpc = message.get("method", "")
        asked.tool = message.get("params", {}).get("name", "") if asked.rpc == "tools/call" else ""
    except (ValueError, AttributeError):
        pass


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def hosted(app: App, port: int = 0) -> Generator[str]:
    """Serve an app until the block ends; gives its URL."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, lifespan="on")
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def started(sockets: Any = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        assert ready.wait(30)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        listener.close()
