"""One connection to a server, from its handshake to its end, held by one task.

The SDK's client must be entered and left in the same task; calls may come from any task of the loop. When the
connection is over, `ended` says why, and a link is never opened twice: whoever holds it makes another.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cellwright.connectors import Redactor
from cellwright.doors import Model
from cellwright.errors import UpstreamGone
from cellwright.mcp.asking import OnElicit, Questions, Waiting, roots
from cellwright.mcp.failures import by_status, leaf, one_line, reason
from cellwright.mcp.http import SEEN, Seen, events, http_client, streamable
from cellwright.mcp.servers import Server
from cellwright.mcp.stdio import Program

CLOSE_S = 4.0  # for an orderly end; then the task is cancelled, which ends the program too
_OLDER = (400, 404, 405)  # what a server answers that only has the older transport
_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a connection is made with, besides its server."""

    name: str
    auth: httpx2.Auth | None = None
    on_elicit: OnElicit | None = None
    sample: Model | None = None
    roots: tuple[str, ...] = ()
    mode: str = "auto"  # "legacy" asks for no version after 2025-11-25
    start_timeout_s: float = 60.0
    log: Callable[[str], None]
    listens: bool = False  # somebody reads the log
    waiting: Waiting
    redactor: Redactor


class Link:
    """`client` is the SDK's, while `ended` is "". `changed` is set when the server offers something else."""

    def __init__(self, server: Server, terms: Terms) -> None:
        for name in ("mcp", "client"):  # what the SDK logs is for who set logging up, and else for nobody
            logging.getLogger(name).addHandler(logging.NullHandler())
        self.server = server
        self.ended = ""
        self.changed = asyncio.Event()
        self._terms = terms
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._seen = Seen()
        self._program: Program | None = None
        self._older = False  # over the older transport of HTTP
        self._task: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            raise UpstreamGone(f"{self._terms.name} is not connected")
        return self._client

    @property
    def modern(self) -> bool:
        """Whether each request stands for itself (2026-07-28), and no session can be lost."""
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def open(self) -> None:
        """Connect, or raise in one line why not. Nothing is left over then."""
        # An empty context: this task outlives the call that happens to need the connection.
        self._task = asyncio.create_task(self._hold(), context=contextvars.Context())
        self._task.add_done_callback(self._finished)
        try:
            async with asyncio.timeout(self._terms.start_timeout_s):
                await self._ready.wait()
        except TimeoutError:
            self.ended = f"was not ready within {self._terms.start_timeout_s:g} s"
            await self.close()
        except BaseException:
            await self.close()
            raise
        if self.ended:
            raise self._failure()

    def _failure(self) -> Exception:
        text = f"{self._terms.name} ({self.server.title}): {self.ended}"
        last = self._program.last_words if self._program is not None else ""
        text = self._terms.redactor.text(f"{text}; its last words: {one_line(last, 300)}" if last else text)
        return by_status(text, self._seen.status) if self._seen.status in (401, 403) else UpstreamGone(text)

    def fail(self, why: str) -> None:
        """This connection is of no more use."""
        self.ended = self.ended or why
        self._over.set()

    async def settled(self) -> None:
        """Wait until it is known why it ended, not for long."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
        self.fail("closed the connection")

    async def close(self) -> None:
        """End it, soon and for certain."""
        self._over.set()
        task = self._task
        if task is None:
            return
        _, running = await asyncio.wait({task}, timeout=CLOSE_S if self._ready.is_set() else 0.0)
        if running:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_S)

    async def _hold(self) -> None:
        SEEN.set(self._seen)
        async with AsyncExitStack() as stack:
            self._client = await self._connected(stack)
            await self._ask_for_logs(self._client)
            self._ready.set()
            await self._over.wait()

    def _finished(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if not self.ended:
            self.ended = self._why(error)
        self._over.set()
        self._ready.set()

    def _why(self, error: BaseException | None) -> str:
        if self._program is not None and self._program.ended:
            return self._program.ended
        return "was closed" if error is None else self._terms.redactor.text(reason(error))

    async def _connected(self, stack: AsyncExitStack) -> Client:
        server = self.server
        if server.kind == "object":
            return await stack.enter_async_context(self._made(server.inside))
        if server.kind == "program":
            self._program = Program(server.command, env=server.env, cwd=server.cwd, on_line=self._terms.log)
            return await stack.enter_async_context(self._made(self._watched(self._program.transport())))
        http = await stack.enter_async_context(http_client(server, self._terms.auth, self._refused))
        first: Exception | None = None
        if server.kind != "sse":
            try:
                return await stack.enter_async_context(self._made(self._watched(streamable(server, http))))
            except (MCPError, ExceptionGroup) as error:
                if server.kind == "http" or self._seen.status not in _OLDER or not isinstance(leaf(error), MCPError):
                    raise
                first = error
        self._seen.status = 0
        self.ended = ""
        try:
            return await stack.enter_async_context(self._made(self._watched(events(server, http), older=True)))
        except (httpx2.HTTPError, MCPError, ExceptionGroup):
            if first is None:
                raise
            self.ended = ""
            raise first from None  # it has neither transport: what the usual one said is worth more

    def _made(self, server: Any) -> Client:
        terms = self._terms
        questions = Questions(terms.name, terms.waiting, terms.log)
        return Client(
            server,
            mode=terms.mode,
            elicitation_callback=questions.elicitation(terms.on_elicit) if terms.on_elicit is not None else None,
            sampling_callback=questions.sampling(terms.sample) if terms.sample is not None else None,
            list_roots_callback=roots(terms.roots) if terms.roots else None,
            logging_callback=self._logged if terms.listens else None,
            log_level="info" if terms.listens else None,
            message_handler=self._heard,
            client_info=types.Implementation(name="cellwright", version=version("cellwright")),
            cache=None,
        )

    async def _ask_for_logs(self, client: Client) -> None:
        if self._terms.listens and not self.modern and client.server_capabilities.logging is not None:
            params = types.SetLevelRequestParams(level="info")
            try:
                await client.session.send_request(types.SetLevelRequest(params=params), types.EmptyResult)
            except MCPError:  # a server that logs and cannot be told how much
                pass

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        said = params.data if isinstance(params.data, str) else repr(params.data)
        self._terms.log(one_line(f"{params.level}: {f'{params.logger}: ' if params.logger else ''}{said}", 2000))

    async def _heard(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self.changed.set()

    def _refused(self, status: int) -> None:
        # The older transport tells nobody that a message was not taken: the call would wait for ever.
        if self._older:
            self.fail(f"answered {status}")

    @asynccontextmanager
    async def _watched(
        self, transport: AbstractAsyncContextManager[Any], *, older: bool = False
    ) -> AsyncGenerator[Any, None]:
        """The transport, and its end noted before anybody hears of it who waits for an answer."""
        self._older = older

        def over() -> None:
            ended = self._program.ended if self._program is not None else ""
            self.fail(ended or "closed the connection")

        async with transport as (read, write):
            yield _Watched(read, over), write


class _Watched:
    """A stream of messages that tells when it ends."""

    def __init__(self, inner: Any, over: Callable[[], None]) -> None:
        self._inner = inner
        self._over = over

    @property
    def last_context(self) -> contextvars.Context | None:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return await self._inner.receive()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._over()
            raise

    async def __aenter__(self) -> _Watched:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
