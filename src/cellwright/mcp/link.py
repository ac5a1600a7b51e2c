"""`McpLink`: one connection to a server, from its handshake to its end. `Reconnector`: another link when it is over.

The SDK's client must be entered and left in the same task, so each link has a task; calls may come from any task of the
loop. When the connection is over, `ended` says why. A link is opened once. A crashed program is started again, within
bounds. Neither class knows tools or calls.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
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
from cellwright.mcp.client_callbacks import ClientCallbacks, OnElicit, Waiting, roots
from cellwright.mcp.http import REQUEST_STATUS, RequestStatus, http_client, sse, streamable
from cellwright.mcp.sdk_errors import by_status, leaf, one_line, reason
from cellwright.mcp.server_program import ServerProgram
from cellwright.mcp.servers import McpServer

CLOSE_S = 4.0  # for an orderly end; then the task is cancelled, which ends the program too
RESTARTS, PERIOD_S = 3, 60.0  # a program is started again so often in so many seconds
_OLDER = (400, 404, 405)  # the answers of a server that has only the older transport
_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkOptions:
    """How a connection to a server is made."""

    name: str
    auth: httpx2.Auth | None = None
    on_elicit: OnElicit | None = None
    sample: Model | None = None
    roots: tuple[str, ...] = ()
    mode: str = "auto"  # "legacy" asks for no protocol version after 2025-11-25
    start_timeout_s: float = 60.0
    log: Callable[[str], None]
    listens: bool = False  # somebody reads the log
    waiting: Waiting
    redactor: Redactor


_UNHEARD = logging.NullHandler()


class McpLink:
    """`client` is the SDK's, and usable while `ended` is "". `changed` is set when the server's lists change."""

    def __init__(self, server: McpServer, options: LinkOptions) -> None:
        for name in ("mcp", "client"):  # without a handler, Python would print the SDK's warnings to stderr
            logging.getLogger(name).addHandler(_UNHEARD)  # the same each time: a logger keeps its handlers
        self.server = server
        self.ended = ""
        self.changed = asyncio.Event()
        self._options = options
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._status = RequestStatus()
        self._program: ServerProgram | None = None
        self._over_sse = False  # the older transport of HTTP
        self._task: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            raise UpstreamGone(f"{self._options.name} is not connected")
        return self._client

    @property
    def modern(self) -> bool:
        """Whether the protocol has no sessions that a server can lose (since 2026-07-28)."""
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def open(self) -> None:
        """Connect, or raise an error of one line and leave nothing behind."""
        # An empty context: this task outlives the call that needed the connection.
        self._task = asyncio.create_task(self._hold(), context=contextvars.Context())
        self._task.add_done_callback(self._finished)
        try:
            async with asyncio.timeout(self._options.start_timeout_s):
                await self._ready.wait()
        except TimeoutError:
            self.ended = f"was not ready within {self._options.start_timeout_s:g} s"
            await self.close()
        except BaseException:
            await self.close()
            raise
        if self.ended:
            raise self._failure()

    def _failure(self) -> Exception:
        text = f"{self._options.name} ({self.server.title}): {self.ended}"
        last = self._program.last_words if self._program is not None else ""
        text = self._options.redactor.words(f"{text}; its last words: {one_line(last, 300)}" if last else text)
        return by_status(text, self._status.status) if self._status.status in (401, 403) else UpstreamGone(text)

    def fail(self, why: str) -> None:
        """The connection cannot be used any more."""
        self.ended = self.ended or why
        self._over.set()

    async def settled(self) -> None:
        """Wait, within `CLOSE_S`, until `ended` says why the connection ended."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
        self.fail("closed the connection")

    async def close(self) -> None:
        """End the connection: in order where that works, else by cancelling its task."""
        self._over.set()
        task = self._task
        if task is None:
            return
        _, running = await asyncio.wait({task}, timeout=CLOSE_S if self._ready.is_set() else 0.0)
        if running:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_S)

    async def _hold(self) -> None:
        REQUEST_STATUS.set(self._status)
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
        return "was closed" if error is None else self._options.redactor.words(reason(error))

    async def _connected(self, stack: AsyncExitStack) -> Client:
        server = self.server
        if server.kind == "object":
            return await stack.enter_async_context(self._client_of(server.inside))
        if server.kind == "program":
            self._program = ServerProgram(server.command, env=server.env, cwd=server.cwd, on_line=self._options.log)
            return await stack.enter_async_context(self._client_of(self._watched(self._program.transport())))
        http = await stack.enter_async_context(http_client(server, self._options.auth, self._refused))
        first: Exception | None = None
        if server.kind != "sse":
            try:
                return await stack.enter_async_context(self._client_of(self._watched(streamable(server, http))))
            except (MCPError, ExceptionGroup) as error:
                if server.kind == "http" or self._status.status not in _OLDER or not isinstance(leaf(error), MCPError):
                    raise
                first = error
        self._status.status = 0
        self.ended = ""
        try:
            return await stack.enter_async_context(self._client_of(self._watched(sse(server, http), over_sse=True)))
        except (httpx2.HTTPError, MCPError, ExceptionGroup):
            if first is None:
                raise
            self.ended = ""
            raise first from None  # it has neither transport: the error of the usual one says more

    def _client_of(self, server: Any) -> Client:
        options = self._options
        callbacks = ClientCallbacks(options.name, options.waiting, options.log)
        return Client(
            server,
            mode=options.mode,
            elicitation_callback=callbacks.elicitation(options.on_elicit) if options.on_elicit is not None else None,
            sampling_callback=callbacks.sampling(options.sample) if options.sample is not None else None,
            list_roots_callback=roots(options.roots) if options.roots else None,
            logging_callback=self._logged if options.listens else None,
            log_level="info" if options.listens else None,
            message_handler=self._heard,
            client_info=types.Implementation(name="cellwright", version=version("cellwright")),
            cache=None,
        )

    async def _ask_for_logs(self, client: Client) -> None:
        if self._options.listens and not self.modern and client.server_capabilities.logging is not None:
            params = types.SetLevelRequestParams(level="info")
            try:
                await client.session.send_request(types.SetLevelRequest(params=params), types.EmptyResult)
            except MCPError:  # a server that logs, but has no level
                pass

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        said = params.data if isinstance(params.data, str) else repr(params.data)
        self._options.log(one_line(f"{params.level}: {f'{params.logger}: ' if params.logger else ''}{said}", 2000))

    async def _heard(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self.changed.set()

    def _refused(self, status: int) -> None:
        # The older transport reports no message that the server refused: its call would wait for ever.
        if self._over_sse:
            self.fail(f"answered {status}")

    @asynccontextmanager
    async def _watched(
        self, transport: AbstractAsyncContextManager[Any], *, over_sse: bool = False
    ) -> AsyncGenerator[Any, None]:
        """The transport. Its end is noted here before the calls that wait for an answer fail."""
        self._over_sse = over_sse

        def over() -> None:
            ended = self._program.ended if self._program is not None else ""
            self.fail(ended or "closed the connection")

        async with transport as (read, write):
            yield _WatchedStream(read, over), write


class _WatchedStream:
    """A stream of messages that calls `over` when it ends."""

    def __init__(self, inner: Any, over: Callable[[], None]) -> None:
        self._inner = inner
        self._over = over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._over()
            raise

    async def __aenter__(self) -> _WatchedStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._inner.aclose()


class Reconnector:
    """Gives a link that works. `opened` is awaited for each new link before a call gets it; `say` hears of restarts."""

    def __init__(
        self,
        name: str,
        make: Callable[[], McpLink],
        opened: Callable[[McpLink], Awaitable[None]],
        say: Callable[[str], None],
    ) -> None:
        self._name = name
        self._make = make
        self._opened = opened
        self._say = say
        self._link: McpLink | None = None
        self._restarts: deque[float] = deque(maxlen=RESTARTS)
        self._lock = asyncio.Lock()
        self._closed = False

    async def link(self) -> McpLink:
        """The link, or a new one where it has ended; UpstreamGone in one line if there is none to be had."""
        link = self._link
        if link is not None and not link.ended and not self._closed:
            return link
        async with self._lock:
            if self._closed:
                raise UpstreamGone(f"{self._name} is closed")
            if self._link is None:
                self._link = await self._open()
            elif self._link.ended:
                self._link = await self._replaced(self._link)
            return self._link

    async def _replaced(self, old: McpLink) -> McpLink:
        now = asyncio.get_running_loop().time()
        is_program = old.server.kind == "program"
        if is_program and len(self._restarts) == RESTARTS and now - self._restarts[0] < PERIOD_S:
            wait = PERIOD_S - (now - self._restarts[0])
            raise UpstreamGone(
                f"{self._name} {old.ended}; it was started again {RESTARTS} times within {PERIOD_S:g} s, "
                f"and is left alone for {wait:.0f} s more"
            )
        self._restarts.append(now)
        await old.close()
        done = "was started again" if is_program else "was connected to again"
        return await self._open(f"{self._name} {old.ended} and {done}")

    async def _open(self, news: str = "") -> McpLink:
        link = self._make()
        await link.open()
        if news:
            self._say(news)
        try:
            await self._opened(link)
        except BaseException:
            await link.close()
            raise
        return link

    async def close(self) -> None:
        self._closed = True
        if self._link is not None:
            await self._link.close()
