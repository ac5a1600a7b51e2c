"""Lists in pages: `for issue in github.issues.list(…)` fetches a page when the items of the page before are used up.

It knows how a page leads to the next. It sends nothing itself: `PagedItems` gets a function that fetches a page.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cellwright.errors import UpstreamError, UsageError
from cellwright.openapi.api_client import joined_url
from cellwright.openapi.operation_plan import OperationPlan
from cellwright.openapi.spec_content import origin
from cellwright.schemas import as_object
from cellwright.scope import Record

MOST = 10_000
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^,;=]+(?:=(?:\"[^\"]*\"|[^,;\"]*))?)*)")
_REL = re.compile(r";\s*rel\s*=([^;,]*)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageStep:
    """Which page: the call's arguments, or a whole URL in their place."""

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""
    number: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiPage:
    """A page: as JSON, with its records, and what leads to the next page."""

    plain: Any
    read: Any
    link: str = ""  # its Link header
    url: str = ""  # where it came from


Fetch = Callable[[PageStep], Awaitable[ApiPage]]


class PagedItems:
    """Items of an API's list. Iterating fetches the pages after the first. Each `for` starts at the first item."""

    __slots__ = ("_fetch", "_first", "_loop", "_plan", "_start", "_title")
    __cellwright_crosses__ = True

    def __init__(self, title: str, plan: OperationPlan, arguments: Mapping[str, Any], fetch: Fetch) -> None:
        self._title = title
        self._plan = plan
        self._fetch = fetch
        self._start = PageStep(arguments=arguments)
        self._first: ApiPage | None = None
        self._loop = asyncio.get_running_loop()

    def __iter__(self) -> PageIterator:
        return PageIterator(self._title, self._plan, self._page, self._start, self._loop)

    def __aiter__(self) -> PageIterator:
        return iter(self)

    def __repr__(self) -> str:
        return f"<items of {self._title}; iterate over them>"

    async def _page(self, step: PageStep) -> ApiPage:
        if step is not self._start:
            return await self._fetch(step)
        if self._first is None:
            self._first = await self._fetch(step)
        return self._first


async def begin_paging(title: str, plan: OperationPlan, arguments: Mapping[str, Any], fetch: Fetch) -> PagedItems:
    """A list with its first page: an error in the call is raised by the call, and not by the iteration."""
    made = PagedItems(title, plan, arguments, fetch)
    await made.__aiter__()._fill()  # pyright: ignore[reportPrivateUsage]  guest code is not to see it on a list
    return made


class PageIterator:
    """One iteration over a list, on the event loop or in another thread."""

    __cellwright_crosses__ = True

    def __init__(
        self, title: str, plan: OperationPlan, fetch: Fetch, start: PageStep, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._title = title
        self._plan = plan
        self._fetch = fetch
        self._step: PageStep | None = start
        self._held: deque[Any] = deque()
        self._seen: set[str] = set()
        self._last: Any = None
        self._stop: UpstreamError | None = None  # why there is no next page; raised when the items are used up
        self._loop = loop
        self._lock = asyncio.Lock()

    def __iter__(self) -> PageIterator:
        return self

    def __next__(self) -> Any:
        if not self._held and (self._step is not None or self._stop is not None):
            self._wait()
        if not self._held:
            raise StopIteration
        return self._held.popleft()

    def __aiter__(self) -> PageIterator:
        return self

    async def __anext__(self) -> Any:
        await self._fill()
        if not self._held:
            raise StopAsyncIteration
        return self._held.popleft()

    def __cellwright_ready__(self) -> int:
        """How many items can be had without waiting."""
        return len(self._held)

    def _wait(self) -> None:
        """Wait in another thread, while the event loop fetches."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            raise UsageError(f"{self._title}: more pages are fetched by the event loop that runs here; use `async for`")
        if self._loop.is_closed():
            raise UsageError(f"{self._title}: its event loop is closed, so no more pages can be fetched")
        asyncio.run_coroutine_threadsafe(self._fill(), self._loop).result()

    async def _fill(self) -> None:
        """Fetch until there is an item, or the end."""
        async with self._lock:
            while not self._held and self._step is not None:
                step, page = self._step, await self._fetch(self._step)
                self._held.extend(self._items(page))
                try:
                    self._step = self._after(step, page)
                except UpstreamError as error:
                    self._step, self._stop = None, error
            if not self._held and self._stop is not None:
                raise self._stop

    def _items(self, page: ApiPage) -> list[Any]:
        key = self._plan.pages.items if self._plan.pages is not None else ""
        found = dig(page.read, key)
        if found is None:
            return []
        if isinstance(found, list):
            return cast(list[Any], found)
        told = f"{key!r} of its page" if key else "its page"
        raise UpstreamError(f"{self._title}: {told} is no list but {type(found).__name__}", body=page.plain)

    def _after(self, step: PageStep, page: ApiPage) -> PageStep | None:
        pages = self._plan.pages
        if pages is None or (pages.more and not dig(page.plain, pages.more)):
            return None
        if step.number >= MOST:
            raise UpstreamError(f"{self._title}: the list has more than {MOST:,} pages; ask for less of it")
        count = len(self._held)
        match pages.how:
            case "link":
                return self._linked(step, page, dig(page.plain, pages.next) if pages.next else next_link(page.link))
            case "cursor":
                last = self._held[-1] if self._held else None
                cursor = dig(last, pages.item_key) if pages.item_key else dig(page.plain, pages.next)
                return self._with(step, cursor) if cursor not in (None, "", False) else None
            case "page":
                return self._counted(step, page, 1, first_of(self._plan, pages.by)) if count else None
            case "offset":
                return self._counted(step, page, count, 0) if count else None

    def _linked(self, step: PageStep, page: ApiPage, link: Any) -> PageStep | None:
        if not isinstance(link, str) or not link:
            return None
        url = joined_url(page.url, link)
        if origin(url) != origin(page.url):
            there = origin(url) or "no web address"
            raise UpstreamError(f"{self._title}: its next page is on another server ({there}); not followed")
        self._moves(url)
        return PageStep(arguments=step.arguments, url=url, number=step.number + 1)

    def _with(self, step: PageStep, cursor: Any) -> PageStep:
        self._moves(repr(cursor))
        return PageStep(arguments={**step.arguments, self._by: cursor}, number=step.number + 1)

    def _counted(self, step: PageStep, page: ApiPage, more: int, first: int) -> PageStep:
        if page.plain == self._last:
            raise UpstreamError(f"{self._title}: the same page came again; it does not heed {self._by!r}")
        self._last = page.plain
        given = step.arguments.get(self._by)
        at = int(given) if isinstance(given, int | str) and str(given).isdecimal() else first
        return PageStep(arguments={**step.arguments, self._by: at + more}, number=step.number + 1)

    @property
    def _by(self) -> str:
        return self._plan.pages.by if self._plan.pages is not None else ""

    def _moves(self, mark: str) -> None:
        if mark in self._seen:
            raise UpstreamError(f"{self._title}: its next page was already fetched; the list runs in a circle")
        self._seen.add(mark)


def dig(value: Any, key: str) -> Any:
    """The value under a key: the key itself (`@odata.nextLink`), or dots for depth; the value itself for ""."""
    if not key:
        return value
    if not isinstance(value, dict | Record):
        return None
    found: Any = cast(Any, value)
    if key in found:
        return found[key]
    head, _, rest = key.partition(".")
    return dig(found[head], rest) if rest and head in found else None


def next_link(header: str) -> str:
    """The URL that a Link header marks as next; "" where there is none."""
    for found in _LINK.finditer(header[:16_384]):
        if any("next" in rel[1].replace('"', " ").lower().split() for rel in _REL.finditer(found[2])):
            return found[1].strip()
    return ""


def first_of(plan: OperationPlan, by: str) -> int:
    """The number of an API's first page: 1, unless the description says that it counts from 0."""
    schema = next(
        (as_object(parameter.schema) for parameter in plan.parameters if parameter.name == by), as_object(None)
    )
    first = schema.get("default", schema.get("minimum"))
    return first if isinstance(first, int) and first in (0, 1) else 1
