"""Entries and summaries as a database has them: columns, and bodies that `codec` makes. Knows no database.

An entry is a kind, a number or a path, and a body. A cell and a turn have their number instead of a row's cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from types import NoneType
from typing import Any, Literal

from cellwright.errors import UsageError
from cellwright.store.codec import (
    CELLS,
    CHECKPOINTS,
    DECISIONS,
    NOTES,
    QUESTIONS,
    TURNS,
    Body,
    Fetch,
    Large,
    checked,
    filler,
)
from cellwright.store.row_codec import LONG_BODY, row_body, row_of
from cellwright.store.rows import (
    CellRow,
    Change,
    Checkpoint,
    DroppedCheckpoint,
    EntryChange,
    JournalEntry,
    LeaseHolder,
    Note,
    Question,
    Row,
    Summary,
    TurnRow,
)

Kind = Literal["row", "cell", "turn", "note"]
Raw = tuple[Any, str, Body]  # cell, path, body: as a database gives them


def stored(change: EntryChange, large: Large) -> tuple[Kind, int, str, Body]:
    """Kind, cell or number, path and body of an entry."""
    match change:
        case Row():
            return "row", change.cell, change.path, row_body(change, large)
        case CellRow():
            return "cell", change.number, "", CELLS.body(change, large)
        case TurnRow():
            return "turn", change.number, "", TURNS.body(change, large)
        case Note():
            return "note", 0, "", NOTES.body(change, large)
        case _:
            raise UsageError(f"a journal keeps rows, cells, turns and notes; this is a {type(change).__name__}")


def change_of(kind: str, raw: Raw, fetch: Fetch) -> EntryChange:
    """The change that `stored` was given."""
    cell, path, body = raw
    match kind:
        case "row":
            return row_of(int(cell), path, body, fetch)
        case "cell":
            return cell_of(int(cell), body, fetch)
        case "turn":
            return TURNS.of_body(body, int(cell), fetch=fetch)
        case "note":
            return NOTES.of_body(body, fetch=fetch)
        case _:
            raise ValueError(f"an entry of the kind {kind!r:.50}")


def cell_of(number: int, body: Body, fetch: Fetch) -> CellRow:
    cell = CELLS.of_body(body, number, fetch=fetch)
    check_error(cell.error)
    return cell


def check_error(error: Mapping[str, object]) -> None:
    """`ValueError` where an error of a cell is not as a guest gives it."""
    texts = [error[name] for name in ("class", "text", "type", "message") if name in error]
    if not all(type(text) is str for text in texts) or type(error.get("line")) not in (int, NoneType):
        raise ValueError("an error of another shape")


def entry_of(place: tuple[str, int, int, float], kind: str, raw: Raw, fetch: Fetch) -> JournalEntry:
    """An entry; its place is session, number, parent and time."""
    session, number, parent, at = place
    if (type(number), type(parent)) != (int, int) or type(at) not in (float, int):
        raise ValueError("an entry of another shape")
    return JournalEntry(session=session, number=number, parent=parent, at=at, change=change_of(kind, raw, fetch))


def parts_of(change: Change, large: Large) -> tuple[str, int, str, Body]:
    """Kind, cell or number, path and body of a change; of one that is no entry, the body alone."""
    match change:
        case Checkpoint():
            if change.content:
                large[change.digest] = checked(change.digest, change.content)
            return "", 0, "", CHECKPOINTS.body(change)
        case Question():
            return "", 0, "", QUESTIONS.body(change)
        case DroppedCheckpoint():
            return "", 0, "", ""
        case _:
            return stored(change, large)


def question_of(body: Body, decision: Body | None) -> Question:
    return QUESTIONS.of_body(body, None if decision is None else DECISIONS.of_body(decision))


# Many entries: the last of those with the same key counts, instead of the first.


def rows_of(entries: Iterable[tuple[int, Raw]], fetch: Fetch, again: Callable[[int], Body]) -> list[Row]:
    """As they were first written. `again` reads the body of an entry by its key, which stands before each here."""
    last: dict[tuple[Any, str], Body | Row] = {}
    for key, (cell, path, body) in entries:
        long = len(body) >= LONG_BODY  # then at once, so that its body need not be held
        last[cell, path] = row_of(int(cell), path, body, fetch, partial(again, key)) if long else body
    return [
        found if isinstance(found, Row) else row_of(int(cell), path, found, fetch)
        for (cell, path), found in last.items()
    ]


def cells_of(entries: Iterable[Raw], fetch: Fetch) -> list[CellRow]:
    """By number."""
    last = {int(number): body for number, _, body in entries}
    return [cell_of(number, last[number], fetch) for number in sorted(last)]


def turns_of(entries: Iterable[Raw], fetch: Fetch) -> list[TurnRow]:
    """By number."""
    last = {int(number): body for number, _, body in entries}
    return [TURNS.of_body(last[number], number, fetch=fetch) for number in sorted(last)]


def notes_of(entries: Iterable[Raw], fetch: Fetch) -> list[Note]:
    """As they were written."""
    return [NOTES.of_body(body, fetch=fetch) for _, _, body in entries]


# Columns of a session.

SUMMARY = tuple(field.name for field in fields(Summary) if field.name != "holder")
_fill_summary = filler(Summary, (*SUMMARY, "holder"))


def summary_of(columns: Sequence[Any], text: Callable[[Any], str], holder: LeaseHolder | None = None) -> Summary:
    """Of the columns `SUMMARY`. `text` is how the database gives texts."""
    id, title, state, created, updated, turns, cells, entries, name, agent, parent, cell, entry, child_of = columns
    name, shown = text(name), "waiting" if state == "asking" else state
    return _fill_summary(
        (text(id), name or text(title), shown, created, updated, turns, cells, entries, name, text(agent))
        + (text(parent or ""), int(cell), int(entry), text(child_of or ""), holder)
    )


def holder_of(text: Callable[[Any], str], machine: Any, process: Any, started: Any, name: Any) -> LeaseHolder:
    return LeaseHolder(machine=text(machine), process=int(process), started=text(started), name=text(name))
