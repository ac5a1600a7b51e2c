"""`search` and `show` as functions that guest code calls. Models read their docstrings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from cellwright.catalog.catalog import BUDGET, LIMIT, Catalog
from cellwright.errors import WrongArguments
from cellwright.scope import operation

NAMES = 20
ASKED = 1_000  # characters of a query or a name


class HasCatalog(Protocol):
    """A Runtime, or another object that has a catalog."""

    @property
    def catalog(self) -> Catalog: ...


def catalog_functions(of: Catalog | HasCatalog, *, budget: int = BUDGET) -> dict[str, Callable[..., Any]]:
    """`search` and `show`, to be bound into a scope by these names. `budget`: characters of one `show`."""
    catalog = of if isinstance(of, Catalog) else of.catalog

    @operation(reads=True, own=True, thread="task")
    async def search(query: str, limit: int = 8) -> str:
        """Find functions by what they do: `print(search("send an email"))`."""
        return await asyncio.to_thread(found_text, catalog, _text(query), limit)

    @operation(reads=True, own=True, thread="task")
    async def show(name: str) -> str:
        """The full signature, docs and types of a name: `print(show("crm.contacts.create"))`."""
        return await asyncio.to_thread(catalog.show, _text(name), budget)

    return {"search": search, "show": show}


def _text(given: object) -> str:
    """The text that guest code gave."""
    if type(given) is not str:
        raise WrongArguments(f"it takes a text, not {type(given).__name__}")
    if len(given) > ASKED:
        raise WrongArguments(f"a text of {len(given):,} characters; {ASKED:,} are enough")
    return given


def found_text(catalog: Catalog, query: str, limit: int = LIMIT) -> str:
    """The hits of a search as text; without any hit, the names in scope."""
    hits = catalog.search(query, limit)
    if hits:
        return "\n".join(map(str, hits))
    names = tuple(catalog.offer.names)
    more = f", and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return f"Nothing found for {query!r}. In scope: {', '.join(names[:NAMES]) or 'nothing'}{more}."
