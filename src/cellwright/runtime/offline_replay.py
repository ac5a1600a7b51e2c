"""`replay` runs a session again without its objects; `run` is the one sync door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cellwright.guard import NetworkSandbox, SessionNetwork
from cellwright.journal import History, Repeated, repeat
from cellwright.runtime.open_session import named_sandbox
from cellwright.sandboxes import Limits, Sandbox
from cellwright.scope import Scope, ScopeHost
from cellwright.store import CellRow, Store, close_store, off_loop, opened_store

T = TypeVar("T")


async def replay(
    session: str,
    *,
    store: str | Path | Store,
    sandbox: Sandbox | None = None,
    packages: Path | str | Sequence[str] | None = None,
    limits: Limits | None = None,
    on_cell: Callable[[CellRow], None] | None = None,
) -> Repeated:
    """Run a session's cells again, in a jail, each call answered from the journal; nothing is written to it.

    Gives `same`, or the first difference: the cell, the line, what is recorded, and what came instead.
    """
    journal = await opened_store(str(store), make=False) if isinstance(store, str | Path) else store
    host = ScopeHost(Scope())
    chosen = sandbox
    try:
        await off_loop(journal, journal.facts, session)  # told before anything is started
        if chosen is None:
            chosen, _ = await named_sandbox("auto", packages)
        requests = await off_loop(journal, lambda: History(journal, session).requests)
        using = NetworkSandbox(chosen, SessionNetwork.of_requests(requests)) if requests else chosen
        return await repeat(journal, session, using, host, limits, on_cell)
    finally:
        host.close()
        if sandbox is None and chosen is not None:
            await chosen.close()
        if isinstance(store, str | Path):
            await close_store(journal)


def run(main: Coroutine[Any, Any, T]) -> T:
    """The one sync door: run a coroutine to its end, as `asyncio.run` does."""
    return asyncio.run(main)
