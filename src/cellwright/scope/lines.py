"""Functions, attributes and classes as values: what a reader is shown of them, and what they are found by.

They are read from objects, or told by an upstream that has no objects here; this knows of neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_SELF = re.compile(r"\((?:self|cls)(?:, (?:/, )?|, /(?=\))|(?=\)))")

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
