"""A mistake in a cell, as the agent reads it. It knows neither where it came from nor what happens to the cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellwright.errors import TypeMistake

TOLD = 10  # mistakes in one error: more are counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """One thing that is wrong. `signature` is the right one of the host function that it is about, where it is."""

    line: int  # from 1, in the cell
    column: int  # from 0
    rule: str
    message: str
    signature: str = ""
    source: str = ""  # the line of the cell
    width: int = 1

    @property
    def text(self) -> str:
        """The line with a caret, what is wrong with it, and what would be right."""
        shown = self.source.lstrip()
        indent = max(0, self.column - (len(self.source) - len(shown)))
        marks = "^" * max(1, min(self.width, len(shown) - indent))
        parts = [f"line {self.line}:", f"    {shown}", f"    {' ' * indent}{marks}", self.message]
        if self.signature:
            parts.append(f"{'signature' if '(' in self.signature else 'right is'}: {self.signature}")
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text


def type_mistake(mistakes: Sequence[Mistake]) -> TypeMistake:
    """One error that tells all of them."""
    count = f"{len(mistakes)} mistakes" if len(mistakes) != 1 else "1 mistake"
    told = [mistake.text for mistake in mistakes[:TOLD]]
    if len(mistakes) > TOLD:
        told.append(f"and {len(mistakes) - TOLD} more")
    return TypeMistake("\n\n".join((f"nothing of this cell ran: it has {count}", *told)), mistakes=tuple(mistakes))
