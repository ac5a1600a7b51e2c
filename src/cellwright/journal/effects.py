"""What calls did outside, and undoing it: which of them can be undone, in which order, and the outcome.

Every undo is a row of its own: written before it runs and after. So nothing is undone twice, and an undo during which
the process died is known. It does not know why something is undone.

    started    the undo may have happened          cancelled   left as it is: somebody said yes to that
    done       undone                              asked       whether the call itself happened is not known
    failed     it raised; it may be tried again
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cellwright.doors import Answer, Call, Host, Operation, Undo
from cellwright.errors import NotReversible
from cellwright.journal.blocks import ENDED, VERBS
from cellwright.journal.call_rows import call_of
from cellwright.journal.call_text import call_line, escaped, value_text, whole_line, whole_text
from cellwright.journal.history import NAMES
from cellwright.journal.lineage import ImportConsent
from cellwright.journal.writer import JournalWriter
from cellwright.short_texts import cut, named_error, one_line, printable
from cellwright.store import Row, Status, off_loop
from cellwright_guest.wire import NOTHING

PREFIX = "undo "  # before the path of the call, in the path of its undo: no call of a guest is named so
LISTED = 20
LINE, VALUE = 160, 60  # characters of a call that the model reads, and of its result
_QUIET = VERBS | {NAMES, "sleep", "items", "about"}
_STEPS = frozenset(("__next__", "__anext__"))
_IN_DOUBT = "what came of it is not known: it may have happened"
WITHHELD = "withheld"
"""Among the labels of a row: the call was made, and a hook refused or replaced its answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """A call that did something outside, or may have. `mark` is the row of its undo."""

    row: Row
    mark: Row | None = None

    def __str__(self) -> str:
        where = f"cell {self.row.cell}" + (f", line {self.row.line}" if self.row.line else "")
        return f"{call_line(self.row.title, self.row)} in {where}"


@dataclass(frozen=True, kw_only=True, slots=True)
class NotUndone:
    """An effect that cannot be undone."""

    effect: Effect
    why: str

    def __str__(self) -> str:
        return f"{self.effect}: {printable(self.why)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class UndoPlan:
    """What is to be undone, the last first; and what cannot be."""

    todo: tuple[Effect, ...] = ()
    left: tuple[NotUndone, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What came of undoing. Where `failed` is something, all before it is undone and nothing after it was tried."""

    undone: tuple[Effect, ...] = ()
    left: tuple[NotUndone, ...] = ()
    failed: str = ""  # the call, or the files
    error: BaseException | None = None
    why: str = ""
    not_tried: tuple[Effect, ...] = ()

    def text(self) -> str:
        """For people, a line for each sort; "" where there was nothing to undo."""
        parts: list[str] = []
        if self.failed:
            parts.append(f"failed: the undo of {self.failed} ({printable(self.why)})")
        for word, found in (("undone", self.undone), ("not tried", self.not_tried), ("not undone", self.left)):
            if found:
                parts.append(f"{word}: {listed(found)}")
        return "\n".join(parts)


def listed(found: Sequence[object]) -> str:
    """A few of them in words, and how many more there are."""
    more = [f"and {len(found) - LISTED} more"] if len(found) > LISTED else []
    return "; ".join([*map(str, found[:LISTED]), *more])


def effects_text(rows: Sequence[Row], host: Host) -> str:
    """The calls among these rows that did something outside, or may have: for the model that wrote them."""
    undone = {row.path.removeprefix(PREFIX) for row in rows if row.door == "undo" and row.status == "done"}
    lines: list[str] = []
    for row in rows:
        operation = host.about(row.verb, row.target, row.name).operation
        quiet = row.reads or row.status == "asked" or row.title == "done" or row.path in undone
        if row.door == "host" and not quiet and is_effect(row.verb, row.name, operation):
            lines.append(f"- {cut(one_line(call_line(row.title, row)), LINE)}{_came_of(row)}")
    if not lines:
        return "It had made no call that changes something outside."
    if (more := len(lines) - LISTED) > 0:
        lines[LISTED // 4 : LISTED // 4 + more] = [f"- … {more} more …"]
    return "\n".join(["Calls that it had made, which are not to be repeated:", *lines])


def _came_of(row: Row) -> str:
    if _in_doubt(Effect(row=row)):
        return ": begun; whether it happened is not known"
    if row.status == "failed":
        return ": made, and its answer was refused" if WITHHELD in row.labels else ": it failed"
    value = cut(one_line(value_text(row.value)), VALUE)
    return f" -> {value}" if value else ""


def is_effect(verb: str, name: str, operation: Operation) -> bool:
    """Whether such a call does something outside, as far as is known. To step an iterator or make a record does not."""
    if operation.reads or verb in _QUIET or (verb == "op" and name in _STEPS):
        return False
    return not (verb == "new" and operation.idempotent)


class Undoer:
    """Undoes what a session did. One at a time: who uses `plan` and `carry_out` holds `alone`."""

    def __init__(self, session: str, writer: JournalWriter, host: Host, consent: ImportConsent) -> None:
        self.alone = asyncio.Lock()
        self._session = session
        self._writer = writer
        self._host = host
        self._undo = host if isinstance(host, Undo) else None
        self._consent = consent

    async def read(self, first_cell: int) -> Sequence[Row]:
        """The session's own rows, as they are now; not those of the sessions that it was forked from."""
        await self._writer.now()
        return await off_loop(self._writer.store, self._writer.store.rows, self._session, first_cell)

    def effects(self, rows: Sequence[Row], wanted: Callable[[Row], bool]) -> list[Effect]:
        """What is there to undo among these rows, and is not undone yet: the last first."""
        marks = {(row.cell, row.path.removeprefix(PREFIX)): row for row in rows if row.door == "undo"}
        found: list[tuple[tuple[int, float, int], Effect]] = []
        for at, row in enumerate(rows):
            mark = marks.get((row.cell, row.path))
            if mark is not None and mark.imported and not row.imported:  # of a call that was made here: it is forged
                mark = None
            effect = Effect(row=row, mark=mark)
            over = effect.mark is not None and effect.mark.status in ("done", "cancelled")
            if row.door == "host" and not over and wanted(row) and self._happened(effect):
                found.append(((row.cell, float("inf") if row.delivered is None else row.delivered, at), effect))
        return [effect for _, effect in sorted(found, key=lambda one: one[0], reverse=True)]

    def _happened(self, effect: Effect) -> bool:
        row = effect.row
        operation = self._host.about(row.verb, row.target, row.name).operation
        if row.reads or not is_effect(row.verb, row.name, operation):
            return False
        return row.status == "done" or WITHHELD in row.labels or _in_doubt(effect)

    async def plan(self, effects: Iterable[Effect]) -> UndoPlan:
        todo: list[Effect] = []
        left: list[NotUndone] = []
        effects = list(effects)
        imported = [effect for effect in effects if effect.row.imported and self._may_be_undone(effect)]
        refused = await self._refused(imported) if imported else ""
        for effect in effects:
            why = (refused if effect in imported else "") or await self._in_the_way(effect)
            if why:
                left.append(NotUndone(effect=effect, why=why))
            else:
                todo.append(effect)
        return UndoPlan(todo=tuple(todo), left=tuple(left))

    def _may_be_undone(self, effect: Effect) -> bool:
        row = effect.row
        operation = self._host.about(row.verb, row.target, row.name).operation
        return self._undo is not None and operation.undo is not None and not _in_doubt(effect)

    async def _refused(self, imported: Sequence[Effect]) -> str:
        """Why these are not undone, which only an import says were done. A person is asked for all of them at once."""
        lines = [self._told(effect.row) for effect in imported]
        return await self._consent.refusal("undo of imported calls", "\n".join(lines), imported[0].row.cell)

    def _told(self, row: Row) -> str:
        """What an undo would do, by what the host knows: the title in the row is the file's."""
        about = self._host.about(row.verb, row.target, row.name)
        undo = about.operation.undo
        by = escaped(str(getattr(undo, "__qualname__", type(undo).__qualname__)))
        call, result = whole_line(about.title, row), whole_text(row.value)
        return f"{call} in cell {row.cell}, line {row.line}, which gave {result}: undone by {by}"

    async def _in_the_way(self, effect: Effect) -> str:
        call = call_of(effect.row)
        if _in_doubt(effect):
            return _IN_DOUBT
        if self._undo is None:
            return "it has no undo"
        if WITHHELD in effect.row.labels:
            return "a hook refused or replaced its answer, which its undo would be given"
        if effect.mark is not None and effect.mark.status == "started" and not self._undo.undo_repeats(call):
            return "its undo had begun when the process died, and may have happened"
        return await self._undo.cannot_undo(call, _answer(effect.row))

    async def carry_out(self, plan: UndoPlan) -> Undone:
        """Undo one after the other, up to the first that fails."""
        undone: list[Effect] = []
        for at, effect in enumerate(plan.todo):
            error = await self._one(effect)
            if error is not None:
                why = named_error(error) if self._undo is None else self._undo.told(error)
                rest = plan.todo[at + 1 :]
                return Undone(
                    undone=tuple(undone), left=plan.left, failed=str(effect), error=error, why=why, not_tried=rest
                )
            undone.append(effect)
        return Undone(undone=tuple(undone), left=plan.left)

    async def _one(self, effect: Effect) -> BaseException | None:
        if self._undo is None:
            raise NotReversible("it has no undo")
        await self._mark(effect.row, "started")
        try:
            await self._undo.undo(call_of(effect.row), _answer(effect.row))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # how it ends is not known, and its row says so
            failed: BaseException | None = error
        except Exception as error:  # an outer edge: what an undo of the developer's raises is what the report tells
            failed = error
        else:
            failed = None
        await self._mark(effect.row, "done" if failed is None else "failed")
        return failed

    async def _mark(self, row: Row, status: Status) -> None:
        """Write down how far the undo of that call is."""
        await self._writer.now(mark_of(row, status))


def mark_of(row: Row | Call, status: Status, title: str = "", verb: str = "undo") -> Row:
    """The row of the undo of that call, or of a whole block."""
    return Row(
        cell=row.cell,
        path=f"{PREFIX}{row.name if verb == ENDED else row.path}",
        door="undo",
        title=row.title if isinstance(row, Row) else title,
        verb=verb,
        name=row.name,
        line=row.line,
        status=status,
        value=NOTHING if status in ("done", "failed") else None,
    )


def _in_doubt(effect: Effect) -> bool:
    row = effect.row
    if row.status in ("started", "cancelled") or (effect.mark is not None and effect.mark.status == "asked"):
        return True
    match row.value.tree if row.status == "failed" and row.value is not None else None:
        case {"E": ["TimeoutError", *_]}:  # it was given up, and may have gone on
            return True
        case _:
            return False


def _answer(row: Row) -> Answer:
    return Answer(value=row.value or NOTHING, made=row.made)
