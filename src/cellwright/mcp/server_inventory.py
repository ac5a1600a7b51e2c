"""The lists of a server, read page by page: tools, resource templates, prompts; and whether it has resources.

A malformed entry costs no other: it is left out, and the inventory says why.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, ListToolsResult, Prompt, Resource, ResourceTemplate, Tool
from pydantic import BaseModel, ValidationError

from cellwright.mcp.sdk_errors import first_mistake
from cellwright.schemas import as_list, as_object, as_text

MOST_PAGES = 1000
MOST_ITEMS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerInventory:
    """`resources`: the server has some, or may have; they are read when code lists them.

    `skipped` are the malformed entries, each with the reason.
    """

    tools: tuple[Tool, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    resources: bool = False
    instructions: str = ""
    title: str = ""
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """One kind of list: how a page of it is requested, the key of the list in a page, and the class of its entries."""

    method: str
    key: str
    model: type[BaseModel]
    page: Callable[..., Awaitable[Any]]


async def read_inventory(client: Client) -> ServerInventory:
    """Read all lists of the server. A list that it announces and does not have is empty."""
    able = client.server_capabilities
    info = client.server_info
    skipped: list[str] = []
    tools = _Kind(method="tools/list", key="tools", model=Tool, page=client.list_tools)
    templates = _Kind(
        method="resources/templates/list",
        key="resourceTemplates",
        model=ResourceTemplate,
        page=client.list_resource_templates,
    )
    prompts = _Kind(method="prompts/list", key="prompts", model=Prompt, page=client.list_prompts)
    named = tuple(await _all(client, templates, skipped)) if able.resources is not None else ()
    # SDKs announce resources for servers that have none, so the first page is read.
    some = bool(named) or (able.resources is not None and await _any(client, _resources(client)))
    return ServerInventory(
        tools=tuple(
            await _all(client, tools, skipped) if able.tools is not None else await _unannounced(client, tools)
        ),
        templates=named,
        prompts=tuple(await _all(client, prompts, skipped)) if able.prompts is not None else (),
        resources=some,
        instructions=client.instructions or "",
        title=(info.title or info.name) if info is not None else "",
        skipped=tuple(skipped),
    )


async def list_resources(client: Client) -> list[Resource]:
    return await _all(client, _resources(client), [])


def _resources(client: Client) -> _Kind:
    return _Kind(method="resources/list", key="resources", model=Resource, page=client.list_resources)


async def _unannounced(client: Client, kind: _Kind) -> list[Any]:
    """A list that the server did not announce: some servers have it, the others answer with an error."""
    try:
        return await _all(client, kind, [])
    except MCPError:
        return []


async def _any(client: Client, kind: _Kind) -> bool:
    try:
        return bool((await _page(client, kind, None, []))[0])
    except MCPError:  # announced, but not listed: a resource may still be read by its URI
        return True


async def _all(client: Client, kind: _Kind, skipped: list[str]) -> list[Any]:
    entries: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        try:
            page, following = await _page(client, kind, cursor, skipped)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return entries
            raise
        entries += page
        if not following or following == cursor or len(entries) >= MOST_ITEMS:
            break
        cursor = following
    return entries


async def _page(client: Client, kind: _Kind, cursor: str | None, skipped: list[str]) -> tuple[list[Any], str | None]:
    try:
        got = await kind.page(cursor=cursor)
    except ValidationError:
        return await _salvaged(client, kind, cursor, skipped)
    snake = "resource_templates" if kind.key == "resourceTemplates" else kind.key
    return getattr(got, snake), got.next_cursor


async def _salvaged(client: Client, kind: _Kind, cursor: str | None, skipped: list[str]) -> tuple[list[Any], Any]:
    """A page with malformed entries, entry by entry. The SDK gives a whole page or none, so this goes below it."""
    session: Any = client.session
    data: dict[str, Any] = {"method": kind.method, "params": {"cursor": cursor} if cursor else {}}
    options: dict[str, Any] = {}
    session._stamp(data, options)
    raw = cast("dict[str, Any]", await session._dispatcher.send_raw_request(kind.method, data["params"], options))
    items: list[Any] = []
    for number, entry in enumerate(as_list(raw.get(kind.key)), start=1):
        try:
            items.append(kind.model.model_validate(entry, by_name=False))
        except ValidationError as error:
            name = as_object(entry).get("name") or f"number {number} of {kind.key}"
            skipped.append(f"{name!r:.100}: {first_mistake(error)}")
    if kind.model is Tool:  # the SDK's session checks results against the tools that were listed
        items = session._absorb_tool_listing(ListToolsResult(tools=items), complete=False).tools
    return items, as_text(raw.get("nextCursor")) or None
