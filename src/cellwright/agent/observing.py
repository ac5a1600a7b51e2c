"""What the model is told of a cell: short, exact, and cut with a mark that says how to see the rest."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cellwright.errors import CodeError, GuestError, TypeMistake
from cellwright.sandboxes import GuestValue, Outcome
from cellwright.scope import parse, shown

NOTHING = "It ran, and there is no output and no value. If the task is done, call done(value)."
COMMENTS = "There is nothing to run in that cell but comments. Write the next statement, or call done(value)."
TOGETHER = 2  # outputs that all calls of one reply have room for
MISTAKE = 1_000  # characters of one that the type checker found
KEPT_CHARS = 32_000_000  # of all outputs; the oldest goes first
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What goes back to the model, as the answer of its call `call` where it made one.

    `failure` names the kind of failure, so that the same one is known again; `name` is what `show` reopens it by.
    """

    text: str
    ok: bool = True
    failure: str = ""
    call: str = ""
    name: str = ""


def failed(text: str, *, call: str = "") -> Observation:
    return Observation(text=text, ok=False, failure=text[:300], call=call)


class Outputs:
    """What cells gave, whole, by the name under which the model was told of it. Long ones are told in part."""

    def __init__(self, limit: int, recall: Callable[[int], Outcome | None] = lambda cell: None) -> None:
        self.limit = limit
        self._recall = recall  # what a cell of an earlier process came to
        self._whole: dict[str, str] = {}
        self._size = 0

    def keep(self, cell: int, text: str) -> str:
        """The text of a cell's output, or its beginning and end with a mark between them."""
        return self.keep_as(f"output:{cell}", text)

    def keep_as(self, name: str, text: str) -> str:
        self._size += len(text) - len(self._whole.pop(name, ""))
        self._whole[name] = text
        while self._size > KEPT_CHARS and len(self._whole) > 1:
            self._size -= len(self._whole.pop(next(iter(self._whole))))
        if len(text) <= self.limit:
            return text
        head, tail = self.limit * 2 // 3, self.limit // 4
        cut = len(text) - head - tail
        mark = f"… [{cut:,} characters cut; `print(show({name!r}, start={head}))` goes on from here] …"
        return f"{text[:head]}\n{mark}\n{text[-tail:]}"

    def _recalled(self, name: str) -> str | None:
        kind, _, number = name.partition(":")
        outcome = self._recall(int(number)) if kind == "output" and number.isdecimal() else None
        return None if outcome is None else whole_text(outcome)

    def page(self, name: str, start: int) -> str | None:
        """Part of a kept output, None where there is none of that name."""
        text = self._whole.get(name) or self._recalled(name)
        if text is None:
            return None
        end = start + self.limit * 3 // 4
        more = f"\n… [{len(text) - end:,} more; start={end}]" if end < len(text) else ""
        return text[start:end] + more


def whole_text(outcome: Outcome) -> str:
    """What a cell printed, and its value or its error."""
    printed = outcome.stdout.rstrip("\n")
    parts = [printed] if printed else []
    if outcome.error is not None:
        parts.append(_told(outcome.error))
    elif outcome.value is not None:
        parts.append(f"Value: {_value(outcome.value)}" if printed else _value(outcome.value))
    return "\n".join(parts)


def side_by_side(told: Sequence[str], observed: Sequence[Observation], limit: int) -> list[str]:
    """What the calls of one reply came to, in the room of `TOGETHER` outputs: however many calls there are."""
    if sum(map(len, told)) <= TOGETHER * limit:
        return list(told)
    room = TOGETHER * limit // len(told)
    return [
        _part(text, seen.name, room) if len(text) > room else text for text, seen in zip(told, observed, strict=True)
    ]


def _part(text: str, name: str, room: int) -> str:
    again = f"; `print(show({name!r}))` has them" if name else ""
    return f"{text[: room * 2 // 3]}… [{len(text) - room:,} characters cut{again}] …{text[-(room // 3) :]}"


def _value(value: object) -> str:
    """A value that stayed in the guest is told in the guest's own words; every other is not asked without a bound."""
    return value.text if isinstance(value, GuestValue) else shown(value)


def observe(code: str, outcome: Outcome, outputs: Outputs, *, ended: bool = False) -> Observation:
    """What came of a cell, in the words for the model; for people alone where the turn has `ended` with it."""
    whole, name = whole_text(outcome), f"output:{outcome.cell}"
    if not whole and not ended:
        return _nothing(code)
    text = outputs.keep(outcome.cell, whole)
    if outcome.error is not None:
        return Observation(text=text, ok=False, failure=failure_of(outcome.error), name=name)
    if outcome.mistakes:
        text += "\nThe type checker says: " + "; ".join(mistake[:MISTAKE] for mistake in outcome.mistakes[:3])
    return Observation(text=text, name=name)


def _nothing(code: str) -> Observation:
    """A cell that shows nothing: a small model often writes a function and forgets to call it."""
    body = parse(textwrap.dedent(code)).body  # it has run: the guest read it the same way
    if not body:
        return failed(COMMENTS)
    made = [s.name for s in body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    idle = all(isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import | ast.ImportFrom) for s in body)
    if made and idle:
        how = "await " if isinstance(body[-1], ast.AsyncFunctionDef) else ""
        return Observation(text=f"It defined `{made[-1]}` and did not call it. Now call it: `{how}{made[-1]}(…)`.")
    return Observation(text=NOTHING)


def _told(error: GuestError) -> str:
    if isinstance(error, TypeMistake):
        return f"Not run. {error}"
    if isinstance(error, CodeError):
        text = str(error).removeprefix("Traceback (most recent call last):\n")
        return re.sub(rf"^[\w.]+\.(?={re.escape(error.type)}\b)", "", text, flags=re.MULTILINE)  # where it is defined
    return f"{type(error).__name__}: {error}"


def failure_of(error: GuestError) -> str:
    """The kind of a failure: two that differ in numbers only are the same."""
    words = f"{error.type}: {error.message}" if isinstance(error, CodeError) else f"{type(error).__name__}: {error}"
    return _NUMBERS.sub("#", words)[:300]
