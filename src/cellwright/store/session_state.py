"""The state of a session as a list of sessions shows it, and how each change alters it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.store.rows import CellRow, Change, Checkpoint, DroppedCheckpoint, Note, Question, Row, TurnRow

TITLE = 80
_STATES = {"running": "running", "done": "done", "failed": "failed", "ended": "failed"}  # of a cell

LIVE = ("new", "running", "asking")  # states in which rows are written without an update of the session's own row

Known = Callable[[Literal["cell", "turn"], int], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionState:
    """`state` is one of a summary's, or "asking": the session runs, and has an open question.

    `early` is the highest number of a cell that had a row before any cell of that number or a higher one was written.
    Rows of higher cells come after their cells, which bounds where they are looked for.
    """

    title: str = ""
    name: str = ""
    state: str = "new"
    turns: int = 0
    cells: int = 0
    early: int = 0


def in_short(text: str) -> str:
    """The first line that is not blank, in at most `TITLE` letters, without lone surrogates."""
    line = next((words for words in (" ".join(one.split()) for one in text[:4000].splitlines()) if words), "")
    line = line.encode("utf-8", "replace").decode()
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def counts(change: Change) -> bool:
    """Whether a change alters the list of sessions or the search index. Most rows do not."""
    if isinstance(change, Row):
        return change.door == "model"
    return not isinstance(change, Checkpoint | DroppedCheckpoint | Question)


def after(before: SessionState, change: Change, known: Known) -> SessionState:
    """The state after this change. `known` says whether there is a cell or turn of that number already."""
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
    """The state when a question was decided; `left`: others are open."""
    return state if left else _running(state)


def follows(note: Note, last: int) -> int | None:
    """The entry that a note follows: the last one, or the target of a rewind; None: the last entry of cell `about`."""
    if note.kind != "rewound":
        return last
    entry = whole(note.text)
    return entry if entry is not None and entry <= last else None


def whole(text: str) -> int | None:
    """The number of an entry or a message in a text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
