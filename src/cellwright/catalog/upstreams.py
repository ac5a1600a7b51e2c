"""`Upstream`: a surface as one scope shows it: under its bound name, without operations that the rules hide.

It reads what the surface tells, when it is asked, and makes no class of the upstream's. It knows no index.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from cellwright.doors import Operation
from cellwright.scope import NAMESPACE, Place, Scope, Shape, Surface, UpstreamOperation, surface_of
from cellwright_guest.wire import type_of

KEPT = 1_000  # classes that are cached
_WORD = re.compile(r"\b[A-Za-z_]\w*")
# the words of a type's text that are no classes of the upstream
PLAIN = frozenset(
    "str int float bool bytes None Any Literal list dict Iterator Iterable NotRequired Required True False def self "
    "async await tuple set object".split()
)


class Upstream:
    """One upstream of a scope, under the rules at the time when it was made. Any thread may use it."""

    def __init__(self, name: str, surface: Surface, scope: Scope) -> None:
        self.name = name
        self.surface = surface
        self._rules = scope.rules
        self._place = scope.path(name)
        self._kind = type_of(scope.get(name))
        self._kinds: dict[str, type] = {}
        self.ruled = scope.rules.version > 0  # there are rules
        self.paths: Callable[[], Iterable[tuple[str, bool]]] = self._paths  # an index lists them faster
        self._counts: Counter[str] | None = None
        self._shapes: dict[str, tuple[Shape | None]] = {}

    def shows(self, path: str, reads: bool) -> bool:
        """Whether guest code may call the operation at a path."""
        if not self.ruled:
            return not any(part.startswith("_") for part in path.split("."))
        *spaces, last = path.split(".")
        at = ""
        for space in spaces:
            if not self._rules.verdict(self._at(at), space, data=True).visible:
                return False
            at = f"{at}.{space}" if at else space
        place = self._at(at)
        verdict = self._rules.verdict(place, last)
        if not verdict.visible or not verdict.read_only:
            return verdict.visible
        return self._rules.facts(place, last, Operation(reads=reads)).reads

    def _at(self, path: str) -> Place:
        """The place of a namespace. Its class is made here, because rules may name it."""
        if not path:
            return Place(self._place, self._kind)
        kind = self._kinds.get(path)
        if kind is None:
            named = path.rpartition(".")[2].title().replace("_", "")
            kind = self._kinds[path] = type(named, (), {NAMESPACE: True, "__module__": self._kind.__module__})
        return Place(f"{self._place}.{path}", kind)

    def find(self, path: str) -> UpstreamOperation | None:
        """The operation at a path, if it may be called."""
        found = self.surface.find(path)
        return found if found is not None and self.shows(path, found.reads) else None

    def below(self, path: str) -> Iterator[tuple[str, UpstreamOperation | None]]:
        """The names directly below a path: operations, and None for each namespace that has operations."""
        for name in self.surface.below(path):
            whole = f"{path}.{name}" if path else name
            found = self.surface.find(whole)
            if found is None:
                if not self.ruled or any(self.below(whole)):
                    yield name, None
            elif self.shows(whole, found.reads):
                yield name, found

    def listed(self) -> Iterator[UpstreamOperation]:
        """Every operation that may be called."""
        return (offered for offered in self.surface.listed() if self.shows(offered.path, offered.reads))

    def _paths(self) -> Iterator[tuple[str, bool]]:
        return ((offered.path, offered.reads) for offered in self.surface.listed())

    def counts(self) -> Counter[str]:
        """The number of operations below each path; "" counts all."""
        if self._counts is None:
            found: Counter[str] = Counter()
            for path, reads in self.paths():
                if self.shows(path, reads):
                    found[""] += 1
                    parts = path.split(".")
                    found.update(".".join(parts[:end]) for end in range(1, len(parts)))
            self._counts = found
        return self._counts

    def shape(self, name: str) -> Shape | None:
        """A class, without the methods whose operations may not be called."""
        known = self._shapes.get(name)
        if known is None:
            if len(self._shapes) >= KEPT:
                self._shapes.clear()
            known = self._shapes[name] = (self._shape(name),)
        return known[0]

    def _shape(self, name: str) -> Shape | None:
        found = self.surface.shape(name)
        ask: Any = getattr(self.surface, "methods", None)
        if found is None or not self.ruled or ask is None:
            return found
        paths = {method: str(known["path"]) for method, known in ask(name).items()}
        hidden = {method for method, path in paths.items() if self.find(path) is None}
        return replace(found, lines=tuple(line for line in found.lines if line.name not in hidden)) if hidden else found

    def mentioned(self, text: str) -> Iterator[Shape]:
        """The classes that a piece of stub text names, in their order there."""
        for word in dict.fromkeys(_WORD.findall(text)):
            if word not in PLAIN and (shape := self.shape(word)) is not None:
                yield shape

    def alias(self, name: str) -> str:
        """The path of the operation that has this second name, as `mcp__server__tool`; "" for none."""
        ask: Any = getattr(self.surface, "alias", None)
        return (ask(name) or "") if ask is not None else ""


def upstreams(scope: Scope, leave_out: frozenset[str] = frozenset()) -> dict[str, Upstream]:
    """The upstreams among the names of a scope."""
    found = ((name, surface_of(value)) for name, value in scope.names() if name not in leave_out)
    return {name: Upstream(name, surface, scope) for name, surface in found if surface is not None}
