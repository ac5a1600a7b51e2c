"""What a scope offers, as values: bound names and the classes they lead to, each line with its docs.

It knows nothing of how they are read, nor of queries, budgets or prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_SELF = re.compile(r"\((?:self|cls)(?:, (?:/, )?|, /(?=\))|(?=\)))")
_WORD = re.compile(r"[A-Za-z_]\w*")

ShapeKind = Literal["handle", "record", "model", "namedtuple", "enum", "error", "dict", "module"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One function or attribute: its stub text, what it takes and gives, its docs."""

    name: str
    heads: tuple[str, ...]  # `def close(self, won: bool = True) -> None`, several where it has overloads
    callable: bool
    gives: str = ""  # the type of what it returns, or is
    parameters: tuple[str, ...] = ()
    mark: str = ""  # "@property", "@classmethod", "@staticmethod"
    doc: str = ""

    @property
    def called(self) -> tuple[str, ...]:
        """The heads without `self`, as a caller sees them: `def close(won: bool = True) -> None`."""
        return tuple(_SELF.sub("(", head, count=1) for head in self.heads) if self.callable else self.heads

    @property
    def signature(self) -> str:
        """As a caller would write it: `close(won: bool = True) -> None`."""
        return self.called[0].replace("def ", "", 1) if self.callable else self.heads[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A class as guest code meets it, or a bound module."""

    name: str
    kind: ShapeKind
    lines: tuple[Line, ...]
    bases: tuple[str, ...] = ()
    doc: str = ""
    init: Line | None = None
    standard: bool = False  # of the standard library, which every reader knows


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """One name of the scope. `shape` is the class of an object, the module, or the class itself; "" for the rest."""

    name: str
    line: Line
    kind: Literal["function", "class", "module", "object", "value"]
    shape: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """All of it, in the order of the scope and then of mention."""

    names: dict[str, Bound]
    shapes: dict[str, Shape]

    def lines_of(self, shape: Shape) -> Iterator[Line]:
        """Its own members and those of its bases; the nearest of a name."""
        seen: set[str] = set()
        pending, known = [shape], {shape.name}
        while pending:
            one = pending.pop(0)
            yield from (line for line in one.lines if line.name not in seen)
            seen |= {line.name for line in one.lines}
            further = [self.shapes[base] for base in one.bases if base in self.shapes and base not in known]
            known |= {other.name for other in further}
            pending += further

    def mentioned(self, text: str) -> Iterator[Shape]:
        """The classes that a piece of stub text names."""
        for word in dict.fromkeys(_WORD.findall(text)):
            if word in self.shapes and self.shapes[word].kind != "module":
                yield self.shapes[word]

    def thing(self, gives: str) -> Shape | None:
        """The class of an attribute that holds one object: `Contacts`, `Contacts | None`."""
        parts = [part for part in gives.split(" | ") if part != "None"]
        return self.shapes.get(parts[0]) if len(parts) == 1 else None
