"""A server that says that it offers something else: heard, and told in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from cellwright.mcp.book import Book
from cellwright.mcp.link import Link

_LOST = 5  # subscriptions in a row that end without having told anything
_PAUSE_S = 1.0
_ANSWER_S = 5.0
_NAMED = 8


async def follow(link: Link, changed: Callable[[], Awaitable[None]]) -> None:
    """Await `changed` whenever the server says so, for as long as the link lasts."""
    while not link.ended:
        await link.changed.wait()
        link.changed.clear()
        try:
            await changed()
        except (MCPError, TimeoutError, ValidationError, RuntimeError):
            continue  # the next call tells what is wrong with this connection


async def listening(link: Link) -> asyncio.Task[None] | None:
    """Since 2026 a server tells of changes only those who asked to be told: a task that did; None where none is needed.

    It is listening when this returns, so what is asked afterwards misses no change.
    """
    if not link.modern:
        return None
    heard = asyncio.Event()
    task = asyncio.create_task(_listen(link, heard))
    task.add_done_callback(lambda _: heard.set())
    try:
        async with asyncio.timeout(_ANSWER_S):
            await heard.wait()
    except TimeoutError:
        pass  # it may come later; then everything is asked again
    except BaseException:
        task.cancel()
        raise
    return task


async def _listen(link: Link, heard: asyncio.Event) -> None:
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
                if heard.is_set():
                    link.changed.set()  # what happened meanwhile was told to nobody
                heard.set()
                async for _ in events:
                    lost = 0
                    link.changed.set()
        except (MCPError, SubscriptionLost, TimeoutError):
            pass
        lost += 1
        await asyncio.sleep(_PAUSE_S)


def told_changes(before: Book, after: Book) -> str:
    """`offers new: a, b; no more: c; otherwise than before: d`"""
    new = [path for path in after.plans if path not in before.plans]
    gone = [path for path in before.plans if path not in after.plans]
    other = [path for path in after.plans if path in before.plans and after.find(path) != before.find(path)]
    parts = [
        f"{how} {_some(paths)}" for how, paths in (("new:", new), ("no more:", gone), ("changed:", other)) if paths
    ]
    return f"offers other things ({'; '.join(parts)})" if parts else "tells other things of itself"


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
