"""A gateway from the opening of its sources to its end, served over stdio or over HTTP.

stdout belongs to the protocol; messages to people go to `say`.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from cellwright.errors import CellwrightError, PlatformError
from cellwright.gateway.gateway import Gateway, GatewaySettings
from cellwright.gateway.gateway_server import GatewayServer
from cellwright.gateway.source_openers import Find, Say, open_sources
from cellwright.gateway.sources import FailedSource, GatewaySource
from cellwright.gateway.stdio_streams import claimed
from cellwright.gateway.web import WebOptions, bound_socket, web_app
from cellwright.short_texts import one_line


class NothingOpen(PlatformError):
    """No source could be opened; the reason for each was reported."""


async def open_gateway(
    sources: Sequence[GatewaySource], options: GatewaySettings, *, find: Find, say: Say
) -> tuple[Gateway, list[FailedSource]]:
    """A gateway with all sources that can be opened, and those that cannot; NothingOpen if none can."""
    made: list[Gateway] = []

    async def elicit(server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return await made[0].elicit(server, message, schema) if made else None

    opened, failed = await open_sources(sources, find=find, say=say, elicit=elicit)
    if not opened:
        raise NothingOpen("no source could be opened")
    gateway = Gateway(opened, options)
    made.append(gateway)
    try:
        await gateway.__aenter__()
    except BaseException:
        await close_gateway(gateway)
        raise
    return gateway, failed


async def close_gateway(gateway: Gateway) -> None:
    await gateway.__aexit__(None, None, None)


@asynccontextmanager
async def _served(
    sources: Sequence[GatewaySource], options: GatewaySettings, *, find: Find, say: Say, web: bool
) -> AsyncGenerator[tuple[GatewayServer, asyncio.Task[Gateway]]]:
    """The tools at once, and the gateway when it is open: a client's handshake does not wait for the sources."""

    async def only() -> Gateway:
        gateway = (await open_gateway(sources, options, find=find, say=say))[0]
        if web:  # nobody looks at a server's first cell: where none can run, the server ends with the reason
            try:
                await gateway.sessions.warm(only)
                await gateway.sessions.drop(only)
            except BaseException:
                await close_gateway(gateway)
                raise
        return gateway

    opening = asyncio.ensure_future(only())

    async def ready() -> Gateway:
        return await asyncio.shield(opening)

    served = GatewayServer(ready, sessions=web)
    try:
        yield served, opening
    finally:
        await served.close()
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            await close_gateway(opening.result())


async def serve_stdio(sources: Sequence[GatewaySource], options: GatewaySettings, *, find: Find, say: Say) -> None:
    """Serve one client until stdin ends."""
    from mcp.server.stdio import stdio_server

    async with _served(sources, options, find=find, say=say, web=False) as (served, opening):
        server = served.server()

        async def serve() -> None:
            async with claimed() as streams, stdio_server(**streams) as (reads, writes):
                await server.run(reads, writes, server.create_initialization_options())

        _end_by_signal()
        serving = asyncio.ensure_future(serve())
        warming = asyncio.ensure_future(_warm(opening, say))
        try:
            await _until_one_fails(serving, opening, serving.cancel)
        finally:
            warming.cancel()
            await asyncio.wait([warming])


async def _warm(opening: asyncio.Task[Gateway], say: Say) -> None:
    """Open the interpreter of the only client while its model still thinks."""
    await asyncio.wait([opening])
    if opening.cancelled() or opening.exception() is not None:
        return
    say(f"serving {', '.join(opening.result().sources)} over stdio")
    try:
        await opening.result().sessions.warm("stdio")
    except CellwrightError as error:  # the first cell meets it again, and reports it to the client
        say(one_line(str(error)))


async def serve_http(
    sources: Sequence[GatewaySource], options: GatewaySettings, web: WebOptions, *, find: Find, say: Say
) -> None:
    """Serve until a signal ends it."""
    import uvicorn

    listening = bound_socket(web)
    _end_by_signal()  # uvicorn ends first, and then passes the signal on
    try:
        web = replace(web, port=listening.getsockname()[1])
        async with _served(sources, options, find=find, say=say, web=True) as (served, opening):

            async def drop(key: object) -> None:
                await (await asyncio.shield(opening)).sessions.drop(key)

            app = web_app(served.server(), web, drop, opening.done)
            config = uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                proxy_headers=bool(web.public_url),  # without a proxy, a request's own header must not name its address
                timeout_graceful_shutdown=5,
            )
            say(f"serving {web.url}")
            server = uvicorn.Server(config)

            def stop() -> None:
                server.should_exit = True  # cancelled, it would log a traceback

            await _until_one_fails(asyncio.ensure_future(server.serve([listening])), opening, stop)
    finally:
        listening.close()


def _end_by_signal() -> None:
    """SIGTERM cancels this task, so that everything is closed in order."""
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    if me is not None and threading.current_thread() is threading.main_thread():  # no other thread may set it
        signal.signal(signal.SIGTERM, lambda number, frame: loop.call_soon_threadsafe(me.cancel))


async def _until_one_fails(
    serving: asyncio.Future[None], opening: asyncio.Task[Gateway], stop: Callable[[], object]
) -> None:
    """Serve to the end, or `stop` at once if the gateway cannot be opened."""
    try:
        await asyncio.wait([serving, opening], return_when=asyncio.FIRST_COMPLETED)
        if not serving.done() and opening.exception() is not None:
            stop()
            await asyncio.wait([serving], timeout=5)
            opening.result()
        await serving
    finally:
        serving.cancel()
        await asyncio.wait([serving], timeout=5)
