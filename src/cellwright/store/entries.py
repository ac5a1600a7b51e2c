"""Entries as they are stored: a kind, a number or a path, and a body; and back. And what reading makes of many of them.

A row's `cell` and `path` are its own; a cell and a turn have their number in the place of `cell`. Knows no database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, get_args

from cellwright.errors import UsageError
from cellwright.store.encoding import (
    NUMBER,
    Body,
    Fetch,
    Large,
    cell_body,
    cell_of,
    dumps,
    facts_body,
    facts_of,
    filler,
    pack,
    require,
    restored,
    row_body,
    row_of,
    text_of,
    unpack,
)
from cellwright.store.rows import CellRow, Entry, Facts, Kept, Note, NoteKind, Row, TurnRow, TurnStatus
from cellwright_guest.wire import Packed

Kind = Literal["row", "cell", "turn", "note"]
Raw = tuple[Any, Any, Body]  # cell, path, body: as a database gives them
_NOTES = frozenset(get_args(NoteKind))
_TURN = (str, str, str, int, int)
_TURNS = frozenset(get_args(TurnStatus))
_TEXT = (str,)
_turn = filler(TurnRow)


def stored(change: Kept, large: Large) -> tuple[Kind, int, str, Body]:
    """Kind, cell or number, path, body."""
    match change:
        case Row():
            return "row", change.cell, change.path, row_body(change, large)
        case CellRow():
            return "cell", change.number, "", cell_body(change, large)
        case TurnRow():
            return "turn", change.number, "", _turn_body(change, large)
        case Note():
            return "note", 0, "", _note_body(change, large)
        case _:
            raise UsageError(f"a journal keeps rows, cells, turns and notes; this is a {type(change).__name__}")


def kept_of(kind: str, raw: Raw, fetch: Fetch) -> Kept:
    """What `stored` was given."""
    cell, path, body = raw
    match kind:
        case "row":
            return row_of(int(cell), restored(path), body, fetch)
        case "cell":
            return cell_of(int(cell), body, fetch)
        case "turn":
            return turn_of(int(cell), body, fetch)
        case "note":
            return note_of(body, fetch)
        case _:
            raise ValueError(f"an entry of the kind {kind!r:.50}")


def entry_of(place: tuple[str, int, int, float], kind: str, raw: Raw, fetch: Fetch) -> Entry:
    """An entry; its place is session, number, parent and time."""
    session, number, parent, at = place
    if (type(number), type(parent)) != (int, int) or type(at) not in NUMBER:
        raise ValueError("an entry of another shape")
    return Entry(session=session, number=number, parent=parent, at=at, change=kept_of(kind, raw, fetch))


def proven(change: Kept) -> Kept:
    """The same, as a store gives it back. For what a stranger wrote: raises what reading raises where it is none."""
    large: Large = {}
    kind, cell, path, body = stored(change, large)
    return kept_of(kind, (cell, path, body), large.__getitem__)


def proven_facts(facts: Facts) -> Facts:
    """The same for a session's facts."""
    large: Large = {}
    return facts_of(facts.id, facts_body(facts, large), large.__getitem__)


# many of them: the last of those with the same key, in the place of the first


def rows_of(found: Iterable[Raw], fetch: Fetch) -> list[Row]:
    """As they were first written."""
    last = {(cell, path): body for cell, path, body in found}
    return [row_of(int(cell), restored(path), body, fetch) for (cell, path), body in last.items()]


def cells_of(found: Iterable[Raw], fetch: Fetch) -> list[CellRow]:
    """By number."""
    last = {int(number): body for number, _, body in found}
    return [cell_of(number, last[number], fetch) for number in sorted(last)]


def turns_of(found: Iterable[Raw], fetch: Fetch) -> list[TurnRow]:
    """By number."""
    last = {int(number): body for number, _, body in found}
    return [turn_of(number, last[number], fetch) for number in sorted(last)]


def notes_of(found: Iterable[Raw], fetch: Fetch) -> list[Note]:
    """As they were written."""
    return [note_of(body, fetch) for _, _, body in found]


# turns and notes


def _turn_body(turn: TurnRow, large: Large) -> Body:
    texts = [pack(Packed(text, []), large) for text in (turn.task, turn.answer, turn.opened)]
    return dumps([*texts, turn.status, turn.at, turn.cell, turn.asked])


def turn_of(number: int, body: Body, fetch: Fetch) -> TurnRow:
    *parts, status, at, cell, asked = json.loads(body)
    task, answer, opened = (text_of(part, fetch) for part in parts)
    if tuple(map(type, (task, answer, opened, cell, asked))) != _TURN or status not in _TURNS or type(at) not in NUMBER:
        raise ValueError("a turn of another shape")
    return _turn((number, task, status, at, cell, asked, answer, opened))


def _note_body(note: Note, large: Large) -> Body:
    return dumps([note.kind, pack(Packed(note.text, []), large), note.who, note.about, note.at, note.what])


def note_of(body: Body, fetch: Fetch) -> Note:
    kind, text, who, about, at, what = json.loads(body)
    fields: dict[str, Any] = {"text": unpack(text, fetch).tree, "who": who, "about": about, "at": at, "what": what}
    require(fields, text=_TEXT, who=_TEXT, about=_TEXT, what=_TEXT, at=NUMBER)
    if kind not in _NOTES:
        raise ValueError(f"a note of the kind {kind!r:.50}")
    return Note(kind=kind, **fields)
