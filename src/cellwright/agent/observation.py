"""Observations: what the model is told of a cell, cut with a mark that says how to see the rest."""

from __future__ import annotations

import ast
import asyncio
import itertools
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cellwright.catalog import LONGEST_READ
from cellwright.errors import CodeError, GuestError
from cellwright.sandboxes import GuestValue, Outcome
from cellwright.scope import parse, shown
from cellwright.short_texts import LongTexts, guest_error, named_error, with_notes
from cellwright_guest.packer import is_bulky

NOTHING = "It ran, and there is no output and no value. If the task is done, call done(value)."
COMMENTS = "There is nothing to run in that cell but comments. Write the next statement, or call done(value)."
TOGETHER = 2  # all results of one reply get the room of so many outputs
MISTAKE = 1_000  # characters of one mistake that the type checker found
KEPT_CHARS = 32_000_000  # of all outputs; the oldest goes first
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What goes back to the model, as the answer to its call `call` if it made one.

    `failure` names the kind of a failure, to recognise a repetition; `show(name)` gives the whole output.
    """

    text: str
    ok: bool = True
    failure: str = ""
    call: str = ""
    name: str = ""


def failed(text: str, *, call: str = "") -> Observation:
    return Observation(text=text, ok=False, failure=text[:300], call=call)


class CellOutputs(LongTexts):
    """The whole outputs of cells, by the names that the model knows. Of a long output it is shown a part."""

    BEFORE_START = ";"

    def __init__(self, limit: int, recall: Callable[[int], Outcome | None] = lambda cell: None) -> None:
        super().__init__(limit, KEPT_CHARS)
        self._recall = recall  # the outcome of a cell of an earlier process
        self.source: Callable[[], str] = str  # who may have written what they show, where that is not only the code
        self._results = itertools.count(1)  # of direct calls, in all turns

    def keep(self, cell: int, text: str) -> str:
        """The output of a cell, or its beginning and end with a mark between them."""
        return self.keep_as(f"output:{cell}", text)

    def marked(self, text: str) -> str:
        """The text for the model, with a line before it that says whose words may be in it."""
        source = self.source()
        return f"{source}\n{text}" if source else text

    def new_result(self) -> str:
        """A name for the result of a direct call. An old message may refer to any earlier one."""
        return f"result:{next(self._results)}"

    def keep_as(self, name: str, text: str, *, readable: bool = True) -> str:
        """`readable`: the model can call `show` to read the rest."""
        self.put(name, text)
        if len(text) <= self.limit:
            return text
        head, tail = self.limit * 2 // 3, self.limit // 4
        cut = len(text) - head - tail
        rest = f"; `print(show({name!r}, start={head}))` goes on from here" if readable else ""
        mark = f"… [{cut:,} characters cut{rest}] …"
        return f"{text[:head]}\n{mark}\n{text[-tail:]}"

    def find(self, name: str) -> str | None:
        text = super().find(name)
        if text:
            return text
        kind, _, number = name.partition(":")
        outcome = self._recall(int(number)) if kind == "output" and number.isdecimal() else None
        return None if outcome is None else whole_text(outcome)


def whole_text(outcome: Outcome) -> str:
    """The prints of a cell, and its value or its error."""
    printed = outcome.stdout.rstrip("\n")
    parts = [printed] if printed else []
    if outcome.error is not None:
        parts.append(with_notes(guest_error(outcome.error), outcome.error))
    elif outcome.value is not None:
        parts.append(f"Value: {_value(outcome.value)}" if printed else _value(outcome.value))
    return "\n".join(parts)


def side_by_side(told: Sequence[str], observed: Sequence[Observation], limit: int) -> list[str]:
    """The results of the calls of one reply, cut to the room of `TOGETHER` outputs."""
    if sum(map(len, told)) <= TOGETHER * limit:
        return list(told)
    room = TOGETHER * limit // len(told)
    return [
        _part(text, seen.name, room) if len(text) > room else text for text, seen in zip(told, observed, strict=True)
    ]


def _part(text: str, name: str, room: int) -> str:
    again = f"; `print(show({name!r}))` has them" if name else ""
    return f"{text[: room * 2 // 3]}… [{len(text) - room:,} characters cut{again}] …{text[len(text) - room // 3 :]}"


def _value(value: object) -> str:
    """A value that stayed in the guest has its text from there; others are written up to a bound."""
    return value.text if isinstance(value, GuestValue) else shown(value)


async def observed(code: str, outcome: Outcome, outputs: CellOutputs, *, ended: bool = False) -> Observation:
    """What `observe` gives. A large value is written in a thread: the loop belongs to other sessions too."""
    if is_bulky(outcome.value):
        return await asyncio.to_thread(observe, code, outcome, outputs, ended=ended)
    return observe(code, outcome, outputs, ended=ended)


def observe(code: str, outcome: Outcome, outputs: CellOutputs, *, ended: bool = False) -> Observation:
    """The outcome of a cell as the model reads it; if the turn has `ended` with it, only people read it."""
    whole, name = whole_text(outcome), f"output:{outcome.cell}"
    seen = Observation(text=outputs.keep(outcome.cell, whole), name=name) if whole or ended else _nothing(code)
    if outcome.error is not None:
        return replace(seen, ok=False, failure=failure_of(outcome.error))
    if outcome.mistakes:
        told = "; ".join(mistake[:MISTAKE] for mistake in outcome.mistakes[:3])
        return replace(seen, text=f"{seen.text}\nThe type checker says: {told}")
    return seen


def _nothing(code: str) -> Observation:
    """A cell without output: a small model often writes a function and forgets to call it."""
    if len(code) > LONGEST_READ:
        return Observation(text=NOTHING)
    body = parse(textwrap.dedent(code)).body  # it has run: the guest read it the same way
    if not body:
        return failed(COMMENTS)
    made = [s.name for s in body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    idle = all(isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import | ast.ImportFrom) for s in body)
    if made and idle:
        how = "await " if isinstance(body[-1], ast.AsyncFunctionDef) else ""
        return Observation(text=f"It defined `{made[-1]}` and did not call it. Now call it: `{how}{made[-1]}(…)`.")
    return Observation(text=NOTHING)


def failure_of(error: GuestError) -> str:
    """The kind of a failure: two failures that differ only in numbers are of the same kind."""
    words = f"{error.type}: {error.message}" if isinstance(error, CodeError) else named_error(error)
    return _NUMBERS.sub("#", words[:1_000])[:300]
