"""`MCP`: a server as scope. Its tools are typed functions, its resources and prompts objects below them.

>>> async with await MCP.open("npx -y @modelcontextprotocol/server-everything") as everything:
...     async with Runtime(scope={"everything": everything}) as rt:
...         await rt.execute("everything.echo('hello')")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from cellwright.connectors import make_root
from cellwright.doors import Model
from cellwright.errors import UpstreamGone, UpstreamMissing, UsageError
from cellwright.mcp.asking import OnElicit
from cellwright.mcp.book import Book
from cellwright.mcp.calling import Caller
from cellwright.mcp.changes import follow, listening, told_changes
from cellwright.mcp.failures import reason
from cellwright.mcp.keeping import Keeper
from cellwright.mcp.lessons import Lessons
from cellwright.mcp.link import Link, Terms
from cellwright.mcp.listing import Listing, read_listing
from cellwright.mcp.oauth import Auth, auth_of
from cellwright.mcp.opening import default_name, lessons_path
from cellwright.mcp.patience import Patience
from cellwright.mcp.performing import OnProgress, Performer
from cellwright.mcp.records import Records
from cellwright.mcp.secrets import secrets_of
from cellwright.mcp.servers import Server, server_of
from cellwright.scope import Offered, Shape, Surface

Say = Callable[[str], None]


class MCP:
    """A connector. Bind it, or its `root`, in a scope. All of it lives on the event loop that it was opened on.

    `MCP.open` takes:

    server           a command line or its words, an URL, an entry of an `mcpServers` file, or a server object
    name             what it is called in errors; guest code uses the name that it is bound to
    env, cwd         of a program; its environment is else a minimal one
    headers, auth    of an URL. `auth` is "env:NAME", "file:PATH", "command:…", a `Secret`, or `OAuth(…)`
    timeout_s        for one call (60); time that a person or a model is asked does not count, progress starts anew
    on_elicit        asked when the server asks a person: (server, message, schema) -> answer, None to decline
    sample           the model for a server that asks one; without it the server is told that there is none
    on_progress      (tool, progress, total, message)
    on_log           lines: what the server logs, and what its program writes to stderr
    on_change        sentences: it was started again, it offers other tools
    roots            file:// URIs that the server may be told of
    cache            whether types learned from results are kept for the next time
    mode             "legacy" for a server that cannot bear to be asked for the newest protocol
    """

    def __init__(self, name: str, server: Server, terms: Terms, patience: Patience, lessons: Lessons) -> None:
        self.name = name
        self.server = server
        self._terms = terms
        self._lessons = lessons
        self._known = lessons.known()
        self._records = Records(name)
        self._live = LiveSurface(Book(name, Listing(), self._known))
        self._keeper = Keeper(name, lambda: Link(server, terms), self._opened, self._changed)
        self._caller = Caller(name, self._keeper, patience, terms.redactor)
        self._performer = Performer(name, self._caller, self._records, lessons, terms.redactor)
        self._on_change: Say | None = None
        self._following: list[asyncio.Task[None]] = []
        self._root: Any = None

    @classmethod
    async def open(
        cls,
        server: str | Sequence[str] | Mapping[str, Any] | Server | Any,
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
        """Connect to a server; UpstreamGone or UpstreamRefused in one line where that cannot be."""
        found = server_of(server)
        if found.problem:
            raise UsageError(f"{name or 'this server'}: {found.problem}")
        found = replace(
            found,
            env={**found.env, **(env or {})},
            cwd=cwd or found.cwd,
            headers={**found.headers, **(headers or {})},
        )
        called = name or default_name(found)
        redactor, patience = secrets_of(found), Patience()

        def log(line: str) -> None:
            if on_log is not None:  # by the loop, which hears of it when a listener fails; the server goes on
                asyncio.get_running_loop().call_soon(on_log, f"{called}: {redactor.text(line)}")

        terms = Terms(
            name=called,
            auth=auth_of(auth, found.url, redactor),
            on_elicit=on_elicit,
            sample=sample,
            roots=tuple(roots),
            mode=mode,
            start_timeout_s=start_timeout_s,
            log=log,
            listens=on_log is not None,
            waiting=patience.waiting,
            redactor=redactor,
        )
        made = cls(called, found, terms, patience, Lessons(lessons_path(called) if cache else None))
        made._on_change = on_change
        made._performer.timeout_s = timeout_s or found.timeout_s or made._performer.timeout_s
        made._performer.on_progress = on_progress
        try:
            await made._keeper.link()
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def surface(self) -> Surface:
        """What the server offers now. The same object for ever, whose `key` changes when the server does."""
        return self._live

    @property
    def root(self) -> Any:
        if self._root is None:
            self._root = make_root(self.name, self._live, self.call)
        return self._root

    @property
    def instructions(self) -> str:
        """What the server says of itself."""
        return self._live.book.listing.instructions

    @property
    def skipped(self) -> tuple[str, ...]:
        """What the server lists and cannot be used, each with the reason."""
        return self._live.book.listing.skipped

    def alias(self, name: str) -> str | None:
        """The path of a tool by the name that other clients have for it: `mcp__server__tool`."""
        return self._live.book.alias(name)

    def plain_tools(self) -> list[dict[str, Any]]:
        """The tools as the server defines them, for whoever counts what they take in a prompt."""
        return [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in self._live.book.listing.tools
        ]

    async def call(self, path: str, arguments: Mapping[str, Any]) -> Any:
        """Call what stands at a path of the surface; arguments by name."""
        plan = self._live.book.plans.get(path)
        if plan is None:
            raise UpstreamMissing(f"{self.name} does not offer {path!r}, or not any more; search() finds what it has")
        return await self._performer.perform(plan, dict(arguments))

    async def refresh(self) -> None:
        """Ask the server what it offers, without waiting for it to say that this changed."""
        await self._relisted(await self._keeper.link())

    async def close(self) -> None:
        """End the connection, and the program where there is one. Calls under way fail."""
        self._stop_following()
        await self._keeper.close()
        await asyncio.to_thread(self._lessons.save)

    async def __aenter__(self) -> MCP:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _opened(self, link: Link) -> None:
        """A new connection: what it offers is asked before anybody uses it."""
        first = not self._live.book.plans
        self._stop_following()
        try:
            async with asyncio.timeout(self._terms.start_timeout_s):
                task = await listening(link)
                self._following += [task] if task is not None else []
                await self._listed(link, quiet=first)
        except (MCPError, TimeoutError, ValidationError, RuntimeError) as error:
            text = f"{self.name} ({self.server.title}) does not tell its tools: {reason(error)}"
            raise UpstreamGone(self._terms.redactor.text(text)) from None
        self._following.append(asyncio.create_task(follow(link, lambda: self._relisted(link))))

    def _stop_following(self) -> None:
        while self._following:
            self._following.pop().cancel()

    async def _relisted(self, link: Link) -> None:
        await self._listed(link, quiet=False)

    async def _listed(self, link: Link, *, quiet: bool) -> None:
        book = Book(self.name, await read_listing(link.client), self._known)
        before, self._live.book = self._live.book, book
        self._records.add(book.records)
        if not quiet and book.key != before.key:
            self._changed(f"{self.name} {told_changes(before, book)}")

    def _changed(self, text: str) -> None:
        if self._on_change is not None:
            asyncio.get_running_loop().call_soon(self._on_change, self._terms.redactor.text(text))


class LiveSurface:
    """The surface of the book that is there now."""

    def __init__(self, book: Book) -> None:
        self.book = book

    @property
    def key(self) -> str:
        return self.book.key

    def listed(self) -> Iterator[Offered]:
        return self.book.listed()

    def find(self, path: str) -> Offered | None:
        return self.book.find(path)

    def below(self, path: str) -> tuple[str, ...]:
        return self.book.below(path)

    def about(self, path: str) -> str:
        return self.book.about(path)

    def shape(self, name: str) -> Shape | None:
        return self.book.shape(name)

    def shapes(self) -> Iterator[str]:
        return self.book.shapes()

    def alias(self, name: str) -> str | None:
        return self.book.alias(name)
