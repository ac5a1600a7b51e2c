"""`ScopeSearch`: what is in scope, found by words and shown as text. Nothing needs to be open for it."""

from __future__ import annotations

import asyncio

from cellwright.catalog import Catalog, SearchHit


class ScopeSearch:
    """The part of a `Runtime` that only reads its catalog."""

    catalog: Catalog

    async def search(self, query: str, limit: int = 8) -> tuple[SearchHit, ...]:
        """What in scope fits the words of `query`, the best first: names, signatures, one sentence each."""
        return await asyncio.to_thread(self.catalog.search, query, limit)

    async def show(self, name: str, *, budget: int | None = None) -> str:
        """The stub of a name in scope, or of one that only calls lead to (`Contact.save`), as `.pyi` text.

        A function has its docs, an object or a class its members. With a `budget` in characters, the stub is cut to
        that, or has the classes that it needs too, as many as fit. No code of the developer's runs for it.
        """
        return await asyncio.to_thread(self.catalog.show, name, budget)
