"""Sessions that no guest ran: rows as a journal would have them."""

from __future__ import annotations

from typing import Any

from cellwright.store import CellRow, Change, Facts, Store, TurnRow
from cellwright_guest.wire import NOTHING


def facts(id: str, **more: Any) -> Facts:
    return Facts(id=id, created=1000.0, seed=b"s" * 32, pins={"python": "3"}, names=NOTHING, **more)


def cell(number: int, code: str, **more: Any) -> CellRow:
    given: dict[str, Any] = {"status": "done", "at": 1000.0 + number}
    return CellRow(number=number, code=code, **given | more)


def turn(number: int, task: str, **more: Any) -> TurnRow:
    given: dict[str, Any] = {"status": "done", "at": 1000.0 + number}
    return TurnRow(number=number, task=task, **given | more)


def session(store: Store, id: str, *changes: Change, **more: Any) -> None:
    claim = store.create(facts(id, **more))
    store.write(claim, *changes)
    store.release(claim)
