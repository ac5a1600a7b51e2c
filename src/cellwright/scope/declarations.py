"""Functions, attributes and classes as values: what a reader is shown of them, and what they are found by.

They are read from objects, or told by an upstream that has no objects here; this knows of neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.scope.signatures import Parameter, Signature

ShapeKind = Literal["handle", "record", "model", "namedtuple", "enum", "error", "dict", "module"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """A function or an attribute: what it takes and gives, its docs. An attribute has no signatures."""

    name: str
    signatures: tuple[Signature, ...] = ()  # several where it has overloads
    type: str = ""  # of an attribute; of a class, what calling it gives
    default: str = ""  # of an attribute, as source text
    text: str = ""  # of an attribute that is not written as `name: type`
    mark: str = ""  # "@property", "@classmethod", "@staticmethod"
    first: Literal["", "self", "cls"] = ""  # the parameter that the caller does not give
    doc: str = ""

    @property
    def callable(self) -> bool:
        return bool(self.signatures)

    @property
    def gives(self) -> str:
        """The type of what it returns, or is."""
        return self.type or (self.signatures[0].returns if self.signatures else "")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.signatures[0].parameters if self.signatures else ()

    @property
    def declared(self) -> str:
        """An attribute as its class declares it: `city: str = 'Oslo'`."""
        if self.text:
            return self.text
        return (f"{self.name}: {self.type}" if self.type else self.name) + (
            f" = {self.default}" if self.default else ""
        )

    def types(self) -> Iterator[str]:
        """The text of every type that it mentions, and of what may be one."""
        for signature in self.signatures:
            yield from (one.type for one in signature.parameters)
            yield signature.returns
        if not self.signatures:
            yield self.text or self.type

    def with_types(self, spelled: Callable[[str], str]) -> Declaration:
        """The same with every type spelled in another way."""
        signatures = tuple(
            replace(
                one,
                parameters=tuple(replace(p, type=spelled(p.type)) for p in one.parameters),
                returns=spelled(one.returns),
            )
            for one in self.signatures
        )
        return replace(self, signatures=signatures, type=spelled(self.type), text=spelled(self.text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A class as guest code meets it, or a bound module."""

    name: str
    kind: ShapeKind
    lines: tuple[Declaration, ...]
    bases: tuple[str, ...] = ()
    doc: str = ""
    init: Declaration | None = None
    standard: bool = False  # of the standard library, which every reader knows
    mark: str = ""  # the decorator that a type checker needs
