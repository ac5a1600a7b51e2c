"""One life of a session: open or resume it, carry on what was cut off, run the cells that are left.

The same for a process of its own and for a life inside a test; and what must be true of a session after its last life.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.journal.crash.desk import Desk, Effect, Effects
from tests.journal.crash.scenarios import Scenario

from cellwright import Limits, Runtime
from cellwright.store import Row, Store

SESSION = "s1"
LIMITS = Limits(wall_s=60, cpu_s=60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What is left of a session at its end, as far as it must not depend on how often it died."""

    cells: tuple[tuple[Any, ...], ...]
    value: Any
    files: dict[str, bytes]


async def live(journal: Store, desk: Desk, scenario: Scenario, workspace: Path) -> None:
    """Runs to the end of the last cell, or until the journal fails."""
    options: dict[str, Any] = {"workspace": workspace, "limits": LIMITS, "store": journal}
    known = SESSION in journal.sessions()
    doubts = in_doubt(journal) if known else Counter[str]()
    rt = (
        Runtime.resume(SESSION, scope={"desk": desk}, take_over=True, **options)
        if known
        else Runtime({"desk": desk}, session=SESSION, **options)
    )
    async with rt:
        if rt.restored is not None:
            assert rt.restored.diverged is None, rt.restored
            assert not rt.restored.notes, rt.restored
        begun = len(journal.cells(SESSION))
        if begun:
            await rt.outcome()
        for code in scenario.cells[begun:]:
            await rt.execute(code)
    told = Counter(text.partition("(")[0] for text in desk.told)
    assert told <= doubts, f"told that the outcome is unknown of {told}, and in doubt were {doubts}"


def in_doubt(journal: Store) -> Counter[str]:
    """The calls that had begun and not ended when a life did, by title; also those whose doubt was told since."""
    rows = [row for row in journal.rows(SESSION) if row.door == "host" and not row.reads]
    return Counter(r.title for r in rows if r.status == "started" or (r.status == "failed" and _is_doubt(r)))


def _is_doubt(row: Row) -> bool:
    return row.value is not None and "had begun when the process died" in repr(row.value.tree)


def ending(journal: Store, workspace: Path, scenario: Scenario) -> Ending:
    rows = journal.cells(SESSION)
    last = rows[-1]
    value = None if last.value is None else (last.value.tree, [bytes(blob) for blob in last.value.blobs])
    files = {str(p.relative_to(workspace)): p.read_bytes() for p in sorted(workspace.rglob("*")) if p.is_file()}
    cells = tuple((c.number, c.status, c.stdout, c.error) for c in rows)
    return Ending(cells=cells, value=value, files=files if scenario.compare_files else {})


def check_effects(effects: Effects, wanted: Sequence[Effect], free: frozenset[str]) -> None:
    """Each effect of the unbroken run once; an idempotent one at least once, always under one key.

    Those that `free` names may be missing, or be others; not twice.
    """
    happened = effects.read()
    found = Counter(e.what for e in happened)
    twice = {e.what for e in happened if found[e.what] > 1 and not e.idempotent}
    assert not twice, f"happened more than once: {twice}"
    missing = {e.what for e in wanted if e.name not in free} - set(found)
    assert not missing, f"never happened: {missing}"
    others = {e.what for e in happened if e.name not in free} - {e.what for e in wanted}
    assert not others, f"happened, and does not without a death: {others}"
    keys: dict[str, set[str]] = {}
    for effect in happened:
        keys.setdefault(effect.what, set()).add(effect.key)
    assert all(len(of_one) == 1 for of_one in keys.values()), f"under more than one key: {keys}"
