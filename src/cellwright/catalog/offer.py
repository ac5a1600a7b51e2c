"""What a scope offers, as values: bound names and the classes they lead to, each line with its docs.

It knows nothing of how they are read, nor of queries, budgets or prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cellwright.catalog.upstreams import Upstream
from cellwright.scope import Line, Shape

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """One name of the scope. `shape` is the class of an object, the module, or the class itself; "" for the rest."""

    name: str
    line: Line
    kind: Literal["function", "class", "module", "object", "value", "upstream"]
    shape: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """All of it, in the order of the scope and then of mention."""

    names: dict[str, Bound]
    shapes: dict[str, Shape]
    upstreams: dict[str, Upstream] = field(default_factory=dict[str, Upstream])

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
