"""The history of one session for people, turn by turn: task, code, outcome, calls, questions, files. Reads only.

The entries of a fork's parent are left out. `upto` gives the history as it was when that entry was the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cellwright.journal import call_line, ended_by_done, is_undone, value_text
from cellwright.store import CellRow, Facts, Note, Question, Row, Store, Summary, TurnRow

QUIET = frozenset(("sleep", "items", "about", "begin", "commit", "undo", "names"))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCall:
    """A call to a host object, with its arguments in short."""

    text: str
    status: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCell:
    """A cell. `entry` is the one that ended it. `undone`: the session's state is without it."""

    number: int
    entry: int
    status: str
    code: str
    stdout: str = ""
    value: str = ""
    error: str = ""
    calls: tuple[ShownCall, ...] = ()
    files: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    undone: bool = False
    at: float = 0.0
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownNote:
    """What a person did: a message that a turn took up, its answer, a rewind."""

    entry: int
    kind: str
    text: str
    who: str = ""
    at: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTurn:
    """A turn, with its cells and people's messages in order. Number 0 has what belongs to no turn."""

    number: int
    entry: int = 0
    task: str = ""
    status: str = ""
    answer: str = ""
    undone: bool = False
    at: float = 0.0
    steps: tuple[ShownCell | ShownNote, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionHistory:
    """The history of a session."""

    summary: Summary
    facts: Facts
    turns: tuple[ShownTurn, ...]
    questions: tuple[Question, ...] = ()  # of the whole session
    files: tuple[str, ...] = ()  # in its workspace now, as far as that is here

    @property
    def cells(self) -> tuple[ShownCell, ...]:
        return tuple(one for turn in self.turns for one in turn.steps if isinstance(one, ShownCell))


def history(store: Store, session: str, upto: int | None = None, files: Sequence[str] = ()) -> SessionHistory:
    """The history of a session, as the store has it."""
    entries = store.entries(session, 1, upto)
    first: dict[int, int] = {}
    whole: dict[int, int] = {}
    running: set[int] = set()
    turns: dict[int, tuple[int, TurnRow, bool]] = {}
    for entry in entries:
        change = entry.change
        if isinstance(change, CellRow):
            first.setdefault(change.number, entry.number)
            if change.number not in whole or whole[change.number] in running:
                whole[change.number] = entry.number
            if change.status == "running":
                running.add(entry.number)
        elif isinstance(change, TurnRow):
            began, before, _ = turns.get(change.number, (entry.number, change, False))
            undone = is_undone(change)  # then the row before it has the outcome
            turns[change.number] = began, before if undone else change, undone
    questions = tuple(store.questions(session, decided=True))
    rows = _by_cell(store.rows(session, 0, upto))
    begins = store.facts(session).parent_cell  # a fork may say that its parent's cell is undone
    steps: list[tuple[int, ShownCell | ShownNote]] = [
        (first[c.number], _cell(c, whole[c.number], rows.get(c.number, []), questions))
        for c in store.cells(session, begins + 1, upto)
    ]
    notes = ((e.number, e.change) for e in entries if isinstance(e.change, Note) and e.change.kind != "private")
    steps += [(number, _note(number, note)) for number, note in notes]
    steps.sort(key=lambda one: one[0])
    return SessionHistory(
        summary=store.summary(session),
        facts=store.facts(session),
        turns=tuple(_turns(sorted(turns.values(), key=lambda one: one[0]), steps)),
        questions=questions,
        files=tuple(files),
    )


def _turns(
    turns: Sequence[tuple[int, TurnRow, bool]], steps: Sequence[tuple[int, ShownCell | ShownNote]]
) -> Iterable[ShownTurn]:
    """Each turn with the steps from its first entry to that of the next turn."""
    begins = [0, *(first for first, _, _ in turns)]
    ends: list[float] = [*(float(first) for first in begins[1:]), float("inf")]
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        mine = tuple(step for first, step in steps if begin <= first < end)
        if i == 0:
            if mine:
                yield ShownTurn(number=0, steps=mine)
            continue
        _, row, undone = turns[i - 1]
        yield ShownTurn(
            number=row.number,
            entry=begin,
            task=row.task,
            status=row.status,
            answer=row.answer,
            undone=undone,
            at=row.at,
            steps=mine,
        )


def _note(entry: int, note: Note) -> ShownNote:
    text = f"to cell {note.about}" if note.kind == "rewound" else note.text
    text = f"{len(text):,} characters of question {note.about}" if note.kind == "shown" else text
    return ShownNote(entry=entry, kind=note.what or note.kind, text=text, who=note.who, at=note.at)


def _by_cell(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row.door == "host" and row.verb not in QUIET:
            found.setdefault(row.cell, []).append(row)
    return found


def _cell(cell: CellRow, entry: int, rows: Sequence[Row], questions: Sequence[Question]) -> ShownCell:
    ended = ended_by_done(cell)
    error = "" if ended else cell.error.get("text") or cell.error.get("message") or ""
    made = [
        (call_line(row.title, row), "done" if ended and row.title == "done" else row.status, row.line) for row in rows
    ]
    return ShownCell(
        number=cell.number,
        entry=entry,
        status="done" if ended else cell.status,
        code=cell.code,
        stdout=cell.stdout,
        value=value_text(cell.value),
        error=str(error),
        calls=tuple(ShownCall(text=text, status=status, line=line) for text, status, line in made),
        files=cell.files,
        questions=tuple(q for q in questions if q.cell == cell.number),
        undone=cell.undone,
        at=cell.at,
        duration_s=cell.duration_s,
    )
