"""Changes of a server's lists: its notifications, the subscription to them, and a sentence that tells what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from cellwright.mcp.link import McpLink
from cellwright.mcp.server_surface import ServerSurface

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
