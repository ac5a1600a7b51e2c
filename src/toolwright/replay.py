"""`replay`: a recorded session as an offline test. No network, no model, no host objects: the journal answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from toolwright.journal import CellRow, Journal, Repeated, open_journal, repeat
from toolwright.sandboxes import STANDARD, Limits, ProcessSandbox, Sandbox, environment
from toolwright.scope import Scope, ScopeHost
from toolwright.settings import Settings


async def replay(
    session: str,
    *,
    store: str | Path | Journal,
    sandbox: Sandbox | None = None,
    packages: Path | str | Sequence[str] | None = None,
    limits: Limits | None = None,
    on_cell: Callable[[CellRow], None] | None = None,
) -> Repeated:
    """Run a session's cells again, in a jail, each call answered from the journal; nothing is written to it.

    Gives `same`, or the first difference: the cell, the line, what is recorded, and what came instead.
    """
    journal = open_journal(store) if isinstance(store, str | Path) else store
    host = ScopeHost(Scope())
    chosen = sandbox
    try:
        journal.facts(session)  # told before anything is started
        if chosen is None:
            found = await environment(packages, cache=Settings.from_environment().cache_dir, progress=lambda line: None)
            chosen = ProcessSandbox(found, required=STANDARD)
        return await repeat(journal, session, chosen, host, limits, on_cell)
    finally:
        host.close()
        if sandbox is None and chosen is not None:
            await chosen.close()
        if isinstance(store, str | Path):
            journal.close()
