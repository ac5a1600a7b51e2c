"""`Divergence`: where a cell that was run again differs from its row: in what it did, its value, what it printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cellwright.errors import CodeError, WorkspaceLimit
from cellwright.journal.call_rows import call_of, key_of_value
from cellwright.journal.call_text import call_line
from cellwright.journal.outcomes import packed_value, told_error
from cellwright.sandboxes import TOO_FULL, Outcome
from cellwright.short_texts import printable
from cellwright.store import CellRow, Row
from cellwright_guest.wire import Packed

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # differs from process to process, and says nothing of the state
_SHOWN = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """Where a run that is repeated went another way: what the journal has, and what was asked instead."""

    cell: int
    line: int
    recorded: str
    asked: str

    def __str__(self) -> str:
        where = f"cell {self.cell}" + (f", line {self.line}" if self.line else "")
        return printable(f"{where}: recorded {self.recorded}, now {self.asked}")


def divergence_of(
    row: CellRow, outcome: Outcome, value: Packed | None, asked: Callable[[str], bool], rows: list[Row], upto: float
) -> Divergence | None:
    """How the run of a cell that came to its end differs from the recorded one, in what guest code can know of it.

    With what the guest did until the next cell began, after delivery `upto`. `value` is the value of the cell as it was
    packed; `asked` says whether the guest has made the call of a path.
    """
    mine = [r for r in rows if r.cell == row.number and r.door == "host" and not asked(r.path)]
    unasked = [r for r in mine if r.path in row.pending or (r.delivered is not None and r.delivered <= upto)]
    if unasked:
        first = min(unasked, key=lambda r: (r.delivered is None, r.delivered or 0))
        recorded = call_line(first.title, call_of(first))
        return Divergence(cell=row.number, line=first.line, recorded=recorded, asked="the end of the cell")
    if is_measured(told_error(outcome.error)):
        outcome = replace(outcome, error=None)
    was, now = _recorded_text(row), _outcome_text(outcome, value)
    if was != now and not (is_measured(row.error) and outcome.error is None):
        line = outcome.error.line or 0 if isinstance(outcome.error, CodeError) else 0
        return Divergence(cell=row.number, line=line, recorded=was[:_SHOWN], asked=now[:_SHOWN])
    return None


def is_measured(error: dict[str, object]) -> bool:
    """Whether it only says that the workspace was too large after the cell: the code came to its end, and knew nothing.

    When the host measures depends on the machine, and limits may be others now.
    """
    return error.get("class") == WorkspaceLimit.__name__ and str(error.get("text")).endswith(TOO_FULL)


def printed_otherwise(row: CellRow, outcome: Outcome) -> Divergence | None:
    """How what it printed differs: the first line that does."""
    was, now = (_ADDRESS.sub("", text).splitlines() for text in (row.stdout, outcome.stdout))
    for old, new in zip([*was, "nothing more"], [*now, "nothing more"], strict=False):
        if old != new:
            return Divergence(cell=row.number, line=0, recorded=f"print {old[:_SHOWN]!r}", asked=f"{new[:_SHOWN]!r}")
    return None


def _recorded_text(row: CellRow) -> str:
    if row.error:
        return _error_text(row.error)
    return "nothing" if row.value is None else _value_text(row.value)


def _outcome_text(outcome: Outcome, value: Packed | None) -> str:
    if outcome.error is not None:
        return _error_text(told_error(outcome.error))
    packed = packed_value(outcome.value, value)
    return "nothing" if packed is None else _value_text(packed)


def _error_text(told: dict[str, object]) -> str:
    if told.get("class") == "CodeError":
        return _ADDRESS.sub("", f"{told.get('type')}: {told.get('message')}")
    return str(told.get("class"))


def _value_text(packed: Packed) -> str:
    text = _ADDRESS.sub("", json.dumps(packed.tree))
    return text if not packed.blobs and len(text) < _SHOWN else f"{text[:100]}… ({key_of_value(packed)})"
