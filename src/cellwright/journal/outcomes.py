"""An `Outcome` as a cell's row keeps it, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cellwright import errors
from cellwright.doors import Host
from cellwright.errors import CodeError, Crashed, GuestError, UsageError
from cellwright.journal.call_rows import in_memory
from cellwright.sandboxes import GONE, CallRecord, GuestValue, Interpreter, OnEvent, Outcome
from cellwright.store import CellRow
from cellwright_guest.wire import Packed


def packed_value(value: object, packed: Packed | None) -> Packed | None:
    """What a cell came to: as it was packed, or what is told of a value that stayed in the guest."""
    if isinstance(value, GuestValue):
        return Packed({"stays": [value.type, value.text]}, [])
    return packed


def told_error(error: GuestError | None) -> dict[str, object]:
    if error is None:
        return {}
    told: dict[str, object] = {"class": type(error).__name__, "text": str(error)}
    if isinstance(error, CodeError):
        told |= {"type": error.type, "message": error.message, "line": error.line}
    return told


def error_of(told: dict[str, Any]) -> GuestError | None:
    if not told:
        return None
    name, text = told.get("class", ""), told.get("text", "")
    if name == "CodeError":
        return CodeError(text, type=told.get("type", ""), message=told.get("message", ""), line=told.get("line"))
    kind: Any = getattr(errors, str(name), GuestError)
    return kind(text) if isinstance(kind, type) and issubclass(kind, GuestError) else GuestError(text)


async def outcome_in(interpreter: Interpreter, row: CellRow, seed: bytes, on_event: OnEvent | None = None) -> Outcome:
    """Run a cell. That its guest ended by itself after the cell before is an outcome, too."""
    try:
        return await interpreter.run(row.number, row.code, on_event, at=row.at, seed=seed)
    except UsageError:
        if interpreter.alive:
            raise
    return Outcome(cell=row.number, error=Crashed(f"the guest had ended before the cell began. {GONE}"))


async def cell_in_memory(row: CellRow) -> CellRow:
    """The row with its value. A large one is read from the store, in a thread."""
    return row if row.value is None else replace(row, value=await in_memory(row.value))


def outcome_of(row: CellRow, host: Host) -> Outcome:
    """What came of a cell, as its row tells it."""
    return Outcome(
        cell=row.number,
        value=None if row.value is None else _value(row.value, host),
        stdout=row.stdout,
        error=error_of(row.error),
        calls=tuple(CallRecord(name=n, duration_s=d, error=e) for n, d, e in row.calls),
        rung=row.rung,
        duration_s=row.duration_s,
    )


def with_error(outcome: Outcome, text: str) -> Outcome:
    """The same with another text of its error."""
    kind: Any = type(outcome.error)
    return replace(outcome, error=kind(text))


def _value(packed: Packed, host: Host) -> object:
    match packed.tree:
        case {"stays": [str(kind), str(text)]}:
            return GuestValue(type=kind, text=text)
        case _:
            return host.value(packed)
