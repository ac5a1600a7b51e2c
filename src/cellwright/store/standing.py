"""How a session stands, as a list of sessions shows it: what each change that is written makes of that. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from cellwright.store.rows import CellRow, Change, Checkpoint, Dropped, Note, Row, TurnRow

TITLE = 80
_STATES = {"running": "running", "done": "done", "failed": "failed", "ended": "failed"}  # of a cell

LIVE = ("new", "running", "asking")  # when rows are written without a word to the list of sessions

Known = Callable[[Literal["cell", "turn"], int], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """`state` is one of a summary's, or "asking": it runs, and a question of it is not decided.

    `early` is the highest number of a cell that had a row before any cell of that number or more was written: rows of
    higher ones are found after their cells.
    """

    title: str = ""
    name: str = ""
    state: str = "new"
    turns: int = 0
    cells: int = 0
    early: int = 0


def in_short(text: str) -> str:
    """The first line that says something, of at most `TITLE` letters, all of which any screen can show or replace."""
    line = next((words for words in (" ".join(one.split()) for one in text[:4000].splitlines()) if words), "")
    line = line.encode("utf-8", "replace").decode()
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def counts(change: Change) -> bool:
    """Whether a list of sessions, or the search index, must be told of this change. Of most rows they need not."""
    return not isinstance(change, Row | Checkpoint | Dropped) or (isinstance(change, Row) and change.door == "model")


def after(before: Standing, change: Change, known: Known) -> Standing:
    """How it stands when this is written. `known` says whether there is a cell or turn of that number already."""
    match change:
        case TurnRow():
            turns = before.turns + (not known("turn", change.number))
            return replace(before, state=change.status, turns=turns, title=before.title or in_short(change.task))
        case CellRow():
            cells = before.cells + (not known("cell", change.number))
            state = _STATES[change.status] if not before.turns else _running(before.state)
            return replace(before, state=state, cells=cells, title=before.title or in_short(change.code))
        case Note(kind="named"):
            return replace(before, name=in_short(change.text))
        case _:
            return before


def _running(state: str) -> str:
    return "running" if state == "asking" else state


def asked(state: str) -> str:
    return "asking" if state == "running" else state


def decided(state: str, left: bool) -> str:
    """When one question was decided, and others are `left` or not."""
    return state if left else _running(state)


def shown(state: str) -> Any:
    """As a summary has it."""
    return "waiting" if state == "asking" else state


def follows(note: Note, last: int) -> int | None:
    """The entry that a note follows: the last one, or what it was rewound to; None: the last of cell `about`."""
    if note.kind != "rewound":
        return last
    entry = whole(note.text)
    return entry if entry is not None and entry <= last else None


def whole(text: str) -> int | None:
    """The number in a text, as entries and messages have them."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
