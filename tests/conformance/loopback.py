"""A small web server on 127.0.0.1, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

TOKEN = "s3cret-token-of-the-host"


async def _echo(request: Request) -> Response:
    body = (await request.body()).decode()
    known = request.headers.get("authorization") == f"Bearer {TOKEN}"
    tag = request.headers.get("x-tag")
    found = {"method": request.method, "query": dict(request.query_params), "body": body, "known": known, "tag": tag}
    return JSONResponse(found)


async def _status(request: Request) -> Response:
    return PlainTextResponse("as asked", status_code=request.path_params["code"])


async def _lines(request: Request) -> Response:
    async def lines() -> AsyncIterator[str]:
        for i in range(5):
            yield f"line {i}\n"

    return StreamingResponse(lines(), media_type="text/plain")


async def _old(request: Request) -> Response:
    return RedirectResponse("/echo?moved=1")


APP = Starlette(
    routes=[
        Route("/echo", _echo, methods=["GET", "POST", "PUT", "DELETE"]),
        Route("/status/{code:int}", _status),
        Route("/lines", _lines),
        Route("/old", _old),
    ]
)


@contextmanager
def serving() -> Generator[str]:
    """The address of the server, as long as the block runs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(APP, log_level="error", lifespan="off"))
        listener.listen()  # from here on a request waits until the server answers
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
