"""Reads the trees of calls and answers that a journal kept: the guest and the host that packed them are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cellwright.scope.values import Values
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Packed, type_of

StandIn = Callable[[object], Any]
"""Gives what stands for an object that is not held, by its number; with None, for a function of the guest."""


def unpack_recorded(values: Values, packed: Packed, stand_in: StandIn) -> Any:
    """The value of a packed call or answer.

    A function of the guest is never taken again: the guest that lent it does not know that it is in use.
    """

    def held(number: Any) -> Any:
        entry = values.handles.find(number) if type(number) is int else None
        return stand_in(number) if entry is None else entry.value

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        match tag, body:
            case "h" | "f", [number, *_]:
                return held(number)
            case "h", number:
                return held(number)
            case "c" | "e" | "o", [number, dict() | None, *rest]:  # with a description: packed by the host
                return values.unpack_other(tag, [number, *rest] if rest else number, unpacker)
            case "E", [_, _, dict(), str(text)]:  # with attributes: packed by the host
                return RuntimeError(text)
            case "g", _:
                return stand_in(None)
            case _:
                return values.unpack_other(tag, body, unpacker)

    return values.unpack(packed, other)


def handles_in(tree: Any) -> set[int]:
    """The numbers of host objects in a tree."""
    return {number for tag, number in _tags(tree) if tag in ("h", "f") and type(number) is int}


def has_guest_functions(tree: Any) -> bool:
    return any(tag == "g" for tag, _ in _tags(tree))


def _tags(tree: Any) -> Iterator[tuple[str, Any]]:
    """Each tag with the first part of its body."""
    pending: list[Any] = [tree]
    while pending:
        part: Any = pending.pop()
        kind = type_of(part)
        if kind is list:
            pending.extend(part)
        elif kind is dict and len(part) == 1:  # a tag; the description of a class has more keys, and no objects
            ((tag, body),) = part.items()
            within = type_of(body)
            yield tag, body[0] if within is list and body else body
            if within is list:
                pending.extend(body)
            elif within is dict:
                pending.extend(body.values() if tag == "m" else [body])
