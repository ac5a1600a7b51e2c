"""Whether a cell that was run again came to the same: what it did, what it is worth, what it printed."""

from __future__ import annotations

import json
import re

from cellwright.errors import CodeError, TimeLimit
from cellwright.journal.keys import key_of_value
from cellwright.journal.life import Divergence, Life
from cellwright.journal.outcomes import packed_value, told_error
from cellwright.journal.story import call_of
from cellwright.journal.words import shown
from cellwright.sandboxes import Outcome
from cellwright.store import CellRow, Row
from cellwright_guest.wire import Packed

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # differs from process to process, and says nothing of the state
_SHOWN = 300


def divergence(row: CellRow, outcome: Outcome, life: Life, rows: list[Row], upto: float) -> Divergence | None:
    """How the run of a cell that came to its end differs from the recorded one, in what guest code can know of it.

    With what the guest did until the next cell began, after delivery `upto`.
    """
    mine = [r for r in rows if r.cell == row.number and r.door == "host" and not life.asked(r.path)]
    unasked = [r for r in mine if r.path in row.pending or (r.delivered is not None and r.delivered <= upto)]
    if unasked:
        first = min(unasked, key=lambda r: (r.delivered is None, r.delivered or 0))
        ended = "the time limit" if isinstance(outcome.error, TimeLimit) else "the end of the cell"
        asked = shown(first.title, call_of(first))
        return Divergence(cell=row.number, line=first.line, recorded=asked, asked=ended)
    was, now = _verdict(row), _told(outcome, life.value)
    if was != now:
        line = outcome.error.line or 0 if isinstance(outcome.error, CodeError) else 0
        return Divergence(cell=row.number, line=line, recorded=was[:_SHOWN], asked=now[:_SHOWN])
    return None


def printed_otherwise(row: CellRow, outcome: Outcome) -> Divergence | None:
    """How what it printed differs: the first line that does."""
    was, now = (_ADDRESS.sub("", text).splitlines() for text in (row.stdout, outcome.stdout))
    for old, new in zip([*was, "nothing more"], [*now, "nothing more"], strict=False):
        if old != new:
            return Divergence(cell=row.number, line=0, recorded=f"print {old[:_SHOWN]!r}", asked=f"{new[:_SHOWN]!r}")
    return None


def _verdict(row: CellRow) -> str:
    if row.error:
        return _error(row.error)
    return "nothing" if row.value is None else _value(row.value)


def _told(outcome: Outcome, value: Packed | None) -> str:
    if outcome.error is not None:
        return _error(told_error(outcome.error))
    packed = packed_value(outcome.value, value)
    return "nothing" if packed is None else _value(packed)


def _error(told: dict[str, object]) -> str:
    if told.get("class") == "CodeError":
        return _ADDRESS.sub("", f"{told.get('type')}: {told.get('message')}")
    return str(told.get("class"))


def _value(packed: Packed) -> str:
    text = _ADDRESS.sub("", json.dumps(packed.tree))
    return text if not packed.blobs and len(text) < _SHOWN else f"{text[:100]}… ({key_of_value(packed)})"
