"""`FlowPolicy`: what a policy says of the data flow: its mode, labels of operations, destinations that need no proof.

It knows no sessions, and holds nothing back itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from cellwright.doors import About, Fields, Operation
from cellwright.errors import UsageError
from cellwright.guard.argument_conditions import glob_holds
from cellwright.guard.operation_globs import covers_name, names_of

FlowMode = Literal["off", "warn", "ask", "deny"]


def check_mode(mode: str | None) -> FlowMode:
    if mode is None:
        return "ask"
    if mode not in get_args(FlowMode):
        raise UsageError(f'flow={mode!r}: give "off", "warn", "ask" or "deny"')
    return cast("FlowMode", mode)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProvenValues:
    """Globs of values that are proven, as destinations, for the operations that a glob covers."""

    operation: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", names_of(self.values, "values"))


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationLabels:
    """Labels of the operations that a glob covers, beside those that are declared: see `Operation`."""

    operation: str
    untrusted: Fields = False
    private: Fields = False
    trusted: Fields = False
    selecting: tuple[str, ...] | None = None
    outward: bool | None = None

    def __post_init__(self) -> None:
        if self.outward is not None and type(self.outward) is not bool:
            raise UsageError(f"outward is {self.outward!r:.50}; write true or false")
        known = Operation(
            untrusted=self.untrusted, private=self.private, trusted=self.trusted, selecting=self.selecting
        )
        for name in ("untrusted", "private", "trusted", "selecting"):
            object.__setattr__(self, name, getattr(known, name))

    def on(self, about: About) -> Operation:
        """The facts of an operation with these labels. What takes trust away holds for every name of it."""
        known, names = about.operation, (about.title, about.known_as)
        own = covers_name(self.operation, [name for name in names if name])
        if not own and self.operation not in about.patterns:
            return known
        more: dict[str, Any] = {name: getattr(self, name) for name in ("untrusted", "private") if getattr(self, name)}
        if own:
            more |= {"trusted": self.trusted} if self.trusted else {}
            more |= {name: getattr(self, name) for name in ("selecting", "outward") if getattr(self, name) is not None}
        return replace(known, **more)


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowPolicy:
    """What a policy says of the data flow. `mode` None: not said. `readers` may be given private data.

    `is_reader` and `proves` take names that are surely the operation's own, no patterns.
    """

    mode: FlowMode | None = None
    readers: tuple[str, ...] = ()
    proven: tuple[ProvenValues, ...] = ()
    labels: tuple[OperationLabels, ...] = ()

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in get_args(FlowMode):
            raise UsageError(f"mode is {self.mode!r:.50}; it may be {', '.join(get_args(FlowMode))}")
        object.__setattr__(self, "readers", names_of(self.readers, "readers"))

    def labelled(self, about: About) -> About:
        """What is known of an operation, with the labels of the policy."""
        for one in self.labels:
            operation = one.on(about)
            about = about if operation is about.operation else replace(about, operation=operation)
        return about

    def is_reader(self, names: Collection[str]) -> bool:
        return any(covers_name(operation, names) for operation in self.readers)

    def proves(self, names: Collection[str], value: str) -> bool:
        """Whether the policy proves a destination: a value of a selecting argument, normalised."""
        given = (one for one in self.proven if covers_name(one.operation, names))
        return any(glob_holds(pattern, value) is True for one in given for pattern in one.values)
