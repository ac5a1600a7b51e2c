"""`Surface`: the operations of an upstream, as the upstream itself describes them.

An upstream may have thousands of operations; no class is made for them before code reaches them. This is the contract
between connectors, which know an upstream, and the readers of a scope: the catalog, the type checker, stubs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from cellwright.scope.declarations import Declaration, Shape
from cellwright_guest.wire import type_of

SURFACE = "__cellwright_surface__"
NAMESPACE = "__cellwright_namespace__"  # marks the classes of an upstream's namespaces


@dataclass(frozen=True, kw_only=True, slots=True)
class UpstreamOperation:
    """One operation of an upstream."""

    path: str  # below the bound name: "issues.create"
    line: Declaration
    reads: bool = False
    idempotent: bool = False
    destructive: bool = False  # as its upstream says: by a hint, or the method DELETE
    open_world: bool = False  # as a hint of its upstream says: outsiders may have written its answers
    words: str = ""  # for search: tags, the parts of its URL, its name at the upstream

    @property
    def destroys(self) -> bool:
        """Whether its upstream says that it removes something."""
        return not self.reads and (self.destructive or "destructive" in self.line.doc.lower())


class Surface(Protocol):
    """The operations and classes of one upstream. Any thread may call it; nothing is sent anywhere.

    `key` names the content: two surfaces with the same key are equal, so an index of one is valid for the other.
    `listed` gives every operation, in the upstream's order. `below` gives the names directly below a path, "" for the
    bound name itself: operations and namespaces. `about` describes a namespace in a sentence, "" where the upstream has
    none. `shape` is a class that some operation mentions; `shapes` are the names of all classes.
    """

    @property
    def key(self) -> str: ...
    def listed(self) -> Iterator[UpstreamOperation]: ...
    def find(self, path: str) -> UpstreamOperation | None: ...
    def below(self, path: str) -> tuple[str, ...]: ...
    def about(self, path: str) -> str: ...
    def shape(self, name: str) -> Shape | None: ...
    def shapes(self) -> Iterator[str]: ...


@runtime_checkable
class Described(Protocol):
    """A surface whose upstream may change what it says of its operations. `docs` are those texts, by path."""

    @property
    def key(self) -> str: ...
    def docs(self) -> Mapping[str, str]: ...


class Connector(Protocol):
    """An upstream that can be bound. `root` is the object that guest code gets; its class has the surface."""

    @property
    def root(self) -> Any: ...
    @property
    def surface(self) -> Surface: ...
    async def close(self) -> None: ...


def root_of(value: Any) -> Any:
    """The object that is bound for a value: the root of a connector, every other value itself."""
    if not all(inspect.getattr_static(value, name, None) is not None for name in ("root", "surface", "close")):
        return value
    root = value.root
    return root if surface_of(root) is not None else value


def surface_of(value: Any) -> Surface | None:
    """The surface of an upstream's root; None for every other object."""
    return type_of(value).__dict__.get(SURFACE)
