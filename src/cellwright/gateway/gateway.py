"""`Gateway`: what is behind the two tools, for any number of clients. It knows no protocol.

>>> async with Gateway(opened, Options(read_only=True)) as gateway:
...     found = await gateway.search("create an issue")
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from cellwright.catalog import Catalog, SearchHit, catalog_functions
from cellwright.errors import NotInScope, UsageError
from cellwright.gateway.cell_answers import CHARS, show_function
from cellwright.gateway.client_cells import ClientQuestion
from cellwright.gateway.client_sessions import ClientSession, ClientSessions
from cellwright.gateway.policy_rules import apply_policy, operations
from cellwright.gateway.source_openers import OpenedSource, close_sources
from cellwright.guard import FlowMode, Policy
from cellwright.runtime import Runtime
from cellwright.sandboxes import Limits
from cellwright.scope import Scope, surface_of

OWN = ("search", "show")
_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*(\(\))?")
LONGEST = 1_000  # characters of a query
SPACES = 30  # namespaces of one source in a listing


@dataclass(frozen=True, kw_only=True)
class GatewaySettings:
    """How a gateway serves. `check` None is "strict" if the type checker is installed."""

    policy: Policy = field(default_factory=Policy)
    read_only: bool = False
    check: Literal["off", "warn", "strict"] | None = None
    limits: Limits = field(default_factory=lambda: Limits(wall_s=60.0, cpu_s=60.0))
    packages: Path | list[str] | None = None
    max_tokens: int = 4_000
    idle_s: float = 1_800.0
    sessions: int = 100
    flow: FlowMode | None = None
    audit: str | Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchReply:
    """The reply to a search: hits, or the stub or listing that was asked for."""

    text: str
    hits: tuple[SearchHit, ...] = ()


class Gateway:
    """Sources, one catalog over them, and an interpreter for each client. An async context manager."""

    def __init__(self, opened: Sequence[OpenedSource], options: GatewaySettings | None = None) -> None:
        self.options = options or GatewaySettings()
        self.opened = tuple(opened)
        self.scope = Scope({one.name: one.value for one in opened})
        self.catalog = Catalog(self.scope)
        self.sources: Mapping[str, int] = {}
        self._keys: Mapping[str, str] | None = None
        room, most, idle_s = self.options.max_tokens * CHARS, self.options.sessions, self.options.idle_s
        self.sessions = ClientSessions(self._runtime, most=most, idle_s=idle_s, limit=room)

    async def __aenter__(self) -> Gateway:
        if self.options.read_only:
            self.scope.declare("*", read_only=True)
        fixed = [one.name for one in self.opened if one.kind in ("openapi", "command")]
        policy = self.options.policy
        await asyncio.to_thread(apply_policy, policy, self.scope, keep=OWN, fixed=fixed)
        await self.refresh()
        return self

    async def refresh(self) -> None:
        """Count the operations again if a source has changed."""
        surfaces = ((name, surface_of(value)) for name, value in self.scope.names())
        keys = {name: surface.key if surface is not None else "" for name, surface in surfaces}
        if keys == self._keys:
            return
        self._keys = keys
        self.sources = await asyncio.to_thread(self._counted)

    async def elicit(self, server: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Pass an upstream's question on to the client whose code is calling it; None if that is not exactly one."""
        calling = [cell for cell in self.sessions.running() if cell.is_calling(server)]
        if len(calling) != 1:
            return None
        said = await calling[0].ask(ClientQuestion(text=f"{server} asks: {message}", schema=schema))
        return None if isinstance(said, str) else said

    async def __aexit__(self, *_: object) -> None:
        await self.sessions.close()
        await close_sources(self.opened)

    def _counted(self) -> dict[str, int]:
        """The number of operations of each source that code may call."""
        policy, read_only = self.options.policy, self.options.read_only
        return {
            one.name: sum(
                1 for asked in operations(self.scope, one.name)
                if (asked.reads or not read_only) and policy.mildest(asked) != "deny"
            )
            for one in self.opened
        }  # fmt: skip

    # search

    async def search(self, query: str, limit: int = 8) -> SearchReply:
        """Operations by what they do, the stub of a name, or, for an empty query, all sources."""
        await self.refresh()
        words = query.strip()[:LONGEST]
        if not words:
            return SearchReply(text=await asyncio.to_thread(self.listing))
        if _NAME.fullmatch(words) and ("." in words or words in self.sources or words[:1].isupper()):
            try:
                budget = self.options.max_tokens * CHARS
                name = words.removesuffix("()")
                return SearchReply(text=await asyncio.to_thread(self.catalog.show, name, budget))
            except NotInScope as error:
                near = await asyncio.to_thread(self.catalog.search, words.replace(".", " "), limit)
                return SearchReply(text="\n".join([f"{error}.", *map(str, near)]), hits=near)
        hits = await asyncio.to_thread(self.catalog.search, words, limit)
        if not hits:
            return SearchReply(text=f"Nothing found for {words[:100]!r}. {await asyncio.to_thread(self.listing)}")
        return SearchReply(text=self._fitted(hits), hits=hits)

    def _fitted(self, hits: tuple[SearchHit, ...]) -> str:
        room, told = self.options.max_tokens * CHARS, list[str]()
        for hit in hits:
            room -= len(str(hit)) + 1
            if room < 0 and told:
                told.append(f"… {len(hits) - len(told)} more; search again with a smaller limit or other words")
                break
            told.append(str(hit))
        return "\n".join(told)

    def listing(self) -> str:
        """Each source with its number of operations and its namespaces."""
        lines = ["Sources (search for what you need, or give a dotted name for its stub):"]
        for one in self.opened:
            surface = surface_of(self.scope.get(one.name))
            seen = self.catalog.offer.upstreams.get(one.name)
            spaces = [name for name, operation in seen.below("") if operation is None] if seen is not None else []
            more = f", and {len(spaces) - SPACES} more" if len(spaces) > SPACES else ""
            below = f": {', '.join(spaces[:SPACES])}{more}" if spaces else ""
            about = surface.about("") if surface is not None else ""
            count = self.sources.get(one.name, 0)
            lines.append(f"{one.name} ({count:,} operation{'s' * (count != 1)}){below}")
            lines += [f"    {about.splitlines()[0][:200]}"] if about.strip() else []
        return "\n".join(lines)

    # execute

    @property
    def check(self) -> Literal["off", "warn", "strict"]:
        if self.options.check is None:
            return "strict" if find_spec("ty") is not None else "off"
        if self.options.check != "off" and find_spec("ty") is None:
            raise UsageError(f"--check {self.options.check} needs the type checker; install cellwright[check]")
        return self.options.check

    def _runtime(self, live: ClientSession) -> Runtime:
        """A client's interpreter, with `search` and `show` of its own."""
        functions = catalog_functions(self.catalog, budget=self.options.max_tokens * CHARS)

        own: dict[str, Any] = {"search": functions["search"], "show": show_function(functions["show"], live.outputs)}
        options = self.options
        return Runtime(
            self.scope.extended(own),
            packages=options.packages,
            limits=options.limits,
            check=self.check,
            approve=live.approve,
            policy=options.policy,
            user=live.client.user,
            flow=options.flow,
            audit=options.audit,
        )
