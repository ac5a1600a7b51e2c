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
from toolwright import Limits, Runtime
from toolwright.journal import Journal, Row
from toolwright.sandboxes import Sandbox

SESSION = "s1"
LIMITS = Limits(wall_s=60, cpu_s=60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What is left of a session at its end, as far as it must not depend on how often it died."""

    cells: tuple[tuple[Any, ...], ...]
    value: Any
    files: dict[str, bytes]


async def live(journal: Journal, desk: Desk, cells: Sequence[str], workspace: Path, sandbox: Sandbox | None) -> None:
    """Runs to the end of the last cell, or until the journal fails."""
    options: dict[str, Any] = {"workspace": workspace, "limits": LIMITS, "sandbox": sandbox or "auto"}
    if SESSION in journal.sessions():
        rt = Runtime.resume(SESSION, store=journal, scope={"desk": desk}, **options)
    else:
        rt = Runtime({"desk": desk}, store=journal, session=SESSION, **options)
    async with rt:
        assert rt.restored is None or rt.restored.diverged is None, rt.restored
        assert rt.restored is None or not rt.restored.notes, rt.restored
        begun = len(journal.cells(SESSION))
        if begun:
            await rt.outcome()
        for code in cells[begun:]:
            await rt.execute(code)


def ending(journal: Journal, workspace: Path, scenario: Scenario) -> Ending:
    rows = journal.cells(SESSION)
    last = rows[-1]
    value = None if last.value is None else (last.value.tree, [bytes(blob) for blob in last.value.blobs])
    files = {str(p.relative_to(workspace)): p.read_bytes() for p in sorted(workspace.rglob("*")) if p.is_file()}
    cells = tuple((c.number, c.status, c.stdout, c.error) for c in rows)
    return Ending(cells=cells, value=value, files=files if scenario.compare_files else {})


def in_doubt(journal: Journal) -> set[str]:
    """The calls that had begun and not ended, by title, when a life ended."""
    if SESSION not in journal.sessions():
        return set()
    return {row.title for row in journal.rows(SESSION) if is_in_doubt(row)}


def is_in_doubt(row: Row) -> bool:
    return row.door == "host" and row.status == "started" and not row.reads


def check_effects(effects: Effects, wanted: Sequence[Effect], free: frozenset[str]) -> None:
    """Each effect of the unbroken run once; an idempotent one at least once, always under one key.

    Those that `free` names may be missing, or be others; not twice.
    """
    found = Counter(e.what for e in effects.read())
    names = {e.what: e for e in [*wanted, *effects.read()]}
    for what, count in found.items():
        assert count == 1 or names[what].idempotent, f"{what} happened {count} times"
    missing = {e.what for e in wanted if e.name not in free} - set(found)
    assert not missing, f"never happened: {missing}"
    keys: dict[str, set[str]] = {}
    for effect in effects.read():
        if effect.idempotent:
            keys.setdefault(effect.what, set()).add(effect.key)
    assert all(len(of_one) == 1 for of_one in keys.values()), keys
