"""What an upstream offers, told by itself: thousands of operations, of which no class is made before code reaches it.

The contract between connectors, which know an upstream, and what reads a scope: the catalog, the type checker, stubs.
It knows no upstream and makes no call.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cellwright.scope.lines import Line, Shape
from cellwright_guest.wire import type_of

SURFACE = "__cellwright_surface__"
NAMESPACE = "__cellwright_namespace__"  # on the classes of an upstream's namespaces: their names are the upstream's


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """One operation of an upstream."""

    path: str  # where it stands below the bound name: "issues.create"
    line: Line
    reads: bool = False
    idempotent: bool = False
    words: str = ""  # further words to be found by: tags, the parts of its URL, its name at the upstream


class Surface(Protocol):
    """What one upstream offers. Any thread may ask; nothing is sent anywhere.

    `key` names the content: two surfaces of one key are the same, so what was made of one is good for the other.
    `listed` gives every operation, in the upstream's order. `below` gives the names right below a path, "" for the
    bound name itself: operations, and namespaces that hold more. `about` is what a namespace is, in a sentence; ""
    where nobody says. `shape` is a class that some line mentions; `shapes` are the names of all of them.
    """

    @property
    def key(self) -> str: ...
    def listed(self) -> Iterator[Offered]: ...
    def find(self, path: str) -> Offered | None: ...
    def below(self, path: str) -> tuple[str, ...]: ...
    def about(self, path: str) -> str: ...
    def shape(self, name: str) -> Shape | None: ...
    def shapes(self) -> Iterator[str]: ...


class Connector(Protocol):
    """An upstream as scope: what is bound to a name. `root` is what guest code gets there, with the surface on it."""

    @property
    def root(self) -> Any: ...
    @property
    def surface(self) -> Surface: ...
    async def close(self) -> None: ...


def root_of(value: Any) -> Any:
    """What is bound for a value: for a connector its root, for everything else the value itself."""
    if not all(inspect.getattr_static(value, name, None) is not None for name in ("root", "surface", "close")):
        return value
    root = value.root
    return root if surface_of(root) is not None else value


def surface_of(value: Any) -> Surface | None:
    """What a bound object tells of itself; None for one that is read from its class."""
    return type_of(value).__dict__.get(SURFACE)
