"""`MCP`: a server as scope. Its tools are typed functions, its resources and prompts objects below them.

>>> async with await MCP.open("npx -y @modelcontextprotocol/server-everything") as everything:
...     async with Runtime(scope={"everything": everything}) as rt:
...         await rt.execute("everything.echo('hello')")
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from cellwright.connectors import Redactor, make_root
from cellwright.doors import Model
from cellwright.errors import UpstreamGone, UpstreamMissing, UsageError
from cellwright.mcp.client_callbacks import OnElicit
from cellwright.mcp.learned_results import LearnedResults
from cellwright.mcp.link import LinkOptions, McpLink, Reconnector
from cellwright.mcp.mcp_caller import CallClocks, McpCaller
from cellwright.mcp.mcp_oauth import Auth, auth_of
from cellwright.mcp.plan_runner import OnProgress, PlanRunner, RecordClasses
from cellwright.mcp.sdk_errors import reason
from cellwright.mcp.server_inventory import ServerInventory, read_inventory
from cellwright.mcp.server_surface import ServerSurface
from cellwright.mcp.servers import McpServer, default_name, server_of
from cellwright.redaction import SHORTEST, bare_key, is_secret_setting, keys_in_command, keys_in_url
from cellwright.scope import Surface

Say = Callable[[str], None]


class MCP:
    """A connector. Bind it, or its `root`, in a scope. All of it lives on the event loop that it was opened on.

    `MCP.open` takes:

    server           a command line or its words, a URL, an entry of an `mcpServers` file, or a server object
    name             the server's name in errors; guest code uses the name that it is bound to
    env, cwd         of a program; without `env` its environment is a minimal one
    headers, auth    of a URL. `auth` is "env:NAME", "file:PATH", "command:…", a `Secret`, or `OAuth(…)`
    timeout_s        for one call (60). Time that a person or a model is asked does not count; progress starts it anew
    on_elicit        answers the server's questions to a person: (server, message, schema) -> answer, None to decline
    sample           the model for a server that asks one; without it the server is told that there is none
    on_progress      (tool, progress, total, message)
    on_log           gets lines: the server's log messages, and what its program writes to stderr
    on_change        gets sentences: the server was started again, it offers other tools
    roots            file:// URIs that the server may read
    cache            whether types learned from results are kept in a file
    mode             "legacy" for a server that fails when it is asked for the newest protocol
    """

    def __init__(
        self, name: str, server: McpServer, options: LinkOptions, clocks: CallClocks, learned: LearnedResults
    ) -> None:
        self.name = name
        self.server = server
        self._options = options
        self._learned = learned
        self._learned_before = learned.before()
        self._records = RecordClasses(name)
        self._live = LiveSurface(ServerSurface(name, ServerInventory(), self._learned_before))
        self._reconnector = Reconnector(name, lambda: McpLink(server, options), self._opened, self._changed)
        caller = McpCaller(name, self._reconnector, clocks, options.redactor)
        self._runner = PlanRunner(name, caller, self._records, learned, options.redactor)
        self._on_change: Say | None = None
        self._following: list[asyncio.Task[None]] = []
        self._root: Any = None

    @classmethod
    async def open(
        cls,
        server: str | Sequence[str] | Mapping[str, Any] | McpServer | Any,
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Auth = None,
        timeout_s: float | None = None,
        start_timeout_s: float = 60.0,
        on_elicit: OnElicit | None = None,
        sample: Model | None = None,
        on_progress: OnProgress | None = None,
        on_log: Say | None = None,
        on_change: Say | None = None,
        roots: Sequence[str] = (),
        cache: bool = True,
        mode: str = "auto",
    ) -> MCP:
        """Connect to a server; UpstreamGone or UpstreamRefused in one line if it cannot be reached."""
        target = server_of(server)
        if target.problem:
            raise UsageError(f"{name or 'this server'}: {target.problem}")
        env, headers = {**target.env, **(env or {})}, {**target.headers, **(headers or {})}
        target = replace(target, env=env, cwd=cwd or target.cwd, headers=headers)
        title = name or default_name(target)
        redactor, clocks = redactor_of(target), CallClocks()

        def log(line: str) -> None:
            if on_log is not None:  # through the loop: it reports a listener that fails, and the server goes on
                asyncio.get_running_loop().call_soon(on_log, f"{title}: {redactor.words(line)}")

        options = LinkOptions(
            name=title,
            auth=auth_of(auth, target.url, redactor),
            on_elicit=on_elicit,
            sample=sample,
            roots=tuple(roots),
            mode=mode,
            start_timeout_s=start_timeout_s,
            log=log,
            listens=on_log is not None,
            waiting=clocks.waiting,
            redactor=redactor,
        )
        learned = LearnedResults.of_server(title) if cache else LearnedResults(None)
        connector = cls(title, target, options, clocks, learned)
        connector._on_change = on_change
        connector._runner.timeout_s = timeout_s or target.timeout_s or connector._runner.timeout_s
        connector._runner.on_progress = on_progress
        try:
            await connector._reconnector.link()
        except BaseException:
            await connector.close()
            raise
        return connector

    @property
    def surface(self) -> Surface:
        """What the server offers now. Always the same object; its `key` changes when the server's lists do."""
        return cast("Surface", self._live)

    @property
    def root(self) -> Any:
        if self._root is None:
            self._root = make_root(self.name, self.surface, self.call)
        return self._root

    @property
    def instructions(self) -> str:
        """The server's description of itself."""
        return self._live.current.inventory.instructions

    @property
    def skipped(self) -> tuple[str, ...]:
        """The malformed entries of the server's lists, each with the reason."""
        return self._live.current.inventory.skipped

    def alias(self, name: str) -> str | None:
        """The path of a tool by the name that other clients have for it: `mcp__server__tool`."""
        return self._live.current.alias(name)

    def plain_tools(self) -> list[dict[str, Any]]:
        """The tools as the server defines them: to count what they would take in a prompt."""
        tools = self._live.current.inventory.tools
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]

    async def call(self, path: str, arguments: Mapping[str, Any]) -> Any:
        """Call the operation at a path of the surface, with arguments by name."""
        plan = self._live.current.plans.get(path)
        if plan is None:
            raise UpstreamMissing(f"{self.name} does not offer {path!r}, or not any more; search() finds what it has")
        return await self._runner.run(plan, dict(arguments))

    async def refresh(self) -> None:
        """Read the server's lists again, without waiting for it to report a change."""
        await self._read_lists(await self._reconnector.link())

    async def close(self) -> None:
        """End the connection, and the program if there is one. Running calls fail."""
        self._stop_following()
        await self._reconnector.close()
        await asyncio.to_thread(self._learned.save)

    async def __aenter__(self) -> MCP:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _opened(self, link: McpLink) -> None:
        """Read the lists of a new connection before any call uses it."""
        first = not self._live.current.plans
        self._stop_following()
        try:
            async with asyncio.timeout(self._options.start_timeout_s):
                task = await subscribe(link)
                self._following += [task] if task is not None else []
                await self._read_lists(link, quiet=first)
        except (MCPError, TimeoutError, ValidationError, RuntimeError) as error:
            text = f"{self.name} ({self.server.title}) does not tell its tools: {reason(error)}"
            raise UpstreamGone(self._options.redactor.words(text)) from None
        self._following.append(asyncio.create_task(follow(link, lambda: self._read_lists(link))))

    def _stop_following(self) -> None:
        while self._following:
            self._following.pop().cancel()

    async def _read_lists(self, link: McpLink, *, quiet: bool = False) -> None:
        surface = ServerSurface(self.name, await read_inventory(link.client), self._learned_before)
        before, self._live.current = self._live.current, surface
        self._records.add(surface.records)
        if not quiet and surface.key != before.key:
            self._changed(f"{self.name} {changes_text(before, surface)}")

    def _changed(self, text: str) -> None:
        if self._on_change is not None:
            asyncio.get_running_loop().call_soon(self._on_change, self._options.redactor.words(text))


def redactor_of(server: McpServer) -> Redactor:
    """Knows the keys that a server is given: by the names of variables, headers and options, and by their looks."""
    redactor = Redactor()
    named = (
        bare_key(value) for name, value in (*server.env.items(), *server.headers.items()) if is_secret_setting(name)
    )
    for value in (*named, *keys_in_command(server.command), *keys_in_url(server.url)):
        if len(value) >= SHORTEST:  # "true" is no key, and hiding it would spoil what the server says
            redactor.add(value)
    return redactor


class LiveSurface:
    """The surface of the server as it is now: `current` is replaced when the server's lists change."""

    def __init__(self, current: ServerSurface) -> None:
        self.current = current

    def docs(self) -> Mapping[str, str]:
        return self.current.docs()

    @property
    def key(self) -> str:
        return self.current.key

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current, name)


_LOST = 5  # subscriptions in a row that end without an event
_PAUSE_S = 1.0
_ANSWER_S = 5.0
_NAMED = 8


async def follow(link: McpLink, changed: Callable[[], Awaitable[None]]) -> None:
    """Await `changed` for each change that the server reports, until the link ends."""
    while not link.ended:
        await link.changed.wait()
        link.changed.clear()
        try:
            await changed()
        except (MCPError, TimeoutError, ValidationError, RuntimeError):
            continue  # the next call reports what is wrong with this connection


async def subscribe(link: McpLink) -> asyncio.Task[None] | None:
    """Since 2026 a server reports changes to subscribers only: the task of a subscription, None for older servers.

    The subscription holds when this returns, so that lists which are read afterwards miss no change.
    """
    if not link.modern:
        return None
    subscribed = asyncio.Event()
    task = asyncio.create_task(_listen(link, subscribed))
    task.add_done_callback(lambda _: subscribed.set())
    try:
        async with asyncio.timeout(_ANSWER_S):
            await subscribed.wait()
    except TimeoutError:
        pass  # it may come later; then all lists are read again
    except BaseException:
        task.cancel()
        raise
    return task


async def _listen(link: McpLink, subscribed: asyncio.Event) -> None:
    able = link.client.server_capabilities
    tools = able.tools is not None and bool(able.tools.list_changed)
    prompts = able.prompts is not None and bool(able.prompts.list_changed)
    resources = able.resources is not None and bool(able.resources.list_changed)
    if not (tools or prompts or resources):
        return
    lost = 0
    while not link.ended and lost < _LOST:
        try:
            async with link.client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as events:
                if subscribed.is_set():
                    link.changed.set()  # nobody heard of changes between the two subscriptions
                subscribed.set()
                async for _ in events:
                    lost = 0
                    link.changed.set()
        except (MCPError, SubscriptionLost, TimeoutError):
            pass
        lost += 1
        await asyncio.sleep(_PAUSE_S)


def changes_text(before: ServerSurface, after: ServerSurface) -> str:
    """`offers other things (new: a, b; no more: c; changed: d)`"""
    new = [path for path in after.plans if path not in before.plans]
    gone = [path for path in before.plans if path not in after.plans]
    other = [path for path in after.plans if path in before.plans and after.find(path) != before.find(path)]
    parts = [
        f"{how} {_some(paths)}" for how, paths in (("new:", new), ("no more:", gone), ("changed:", other)) if paths
    ]
    return f"offers other things ({'; '.join(parts)})" if parts else "tells other things of itself"


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
