"""A value on its way to the guest, with the objects and classes that it announces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from cellwright.doors import Made
from cellwright.scope.api_records import RECORDS, find_record
from cellwright.scope.rules import Place
from cellwright.scope.signatures import find_in_module
from cellwright_guest.packer import Other, Packer
from cellwright_guest.wire import NODES, Bounds, type_of

_NOWHERE: dict[int, Place] = {}


class Parcel(Packer):
    """Packs one value that was reached by `path`.

    `made` is for the journal: host objects and classes that no earlier answer has announced, some more than once.
    `kept` is the journal data of such objects, asked of them only if `keeps`. `places` has the places of objects that
    come from another session, by their ids.
    """

    __slots__ = ("bound", "keeps", "kept", "looked", "made", "others", "path", "places")

    def __init__(self, other: Callable[[Any, Parcel], Any], path: str, keeps: bool = False) -> None:
        super().__init__(cast(Other, other), nodes=NODES, room=Bounds().blob_bytes)
        self.path = path
        self.others: tuple[str, ...] = ()  # further paths that the value was reached by
        self.bound = False  # the value is bound by name
        self.keeps = keeps
        self.looked = False  # whether an object in it was looked for where rules speak of objects
        self.made: list[Made] = []
        self.kept: dict[int, Any] = {}
        self.places: Mapping[int, Place] = _NOWHERE


def type_key(cls: type) -> str:
    """The name of a class, which is good in every process that can import the class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def find_type(key: str) -> Any:
    """The class of that name, or None if its module is not imported here. Imports nothing and runs nothing."""
    module, _, qualname = key.partition(":")
    if module.startswith(RECORDS):
        return find_record(module, qualname)
    found = find_in_module(module, qualname)
    return found if issubclass(type_of(found), type) and type_key(found) == key else None


def handles_in(tree: Any) -> set[int]:
    """The numbers of host objects in a tree."""
    tagged = (body for tag, body in tags_in(tree) if tag in ("h", "f"))
    numbers = (body[0] if type_of(body) is list and body else body for body in tagged)
    return {number for number in numbers if type(number) is int}


def has_guest_functions(tree: Any) -> bool:
    return any(tag == "g" for tag, _ in tags_in(tree))


def tags_in(tree: Any) -> Iterator[tuple[str, Any]]:
    """Each tag with its body."""
    pending: list[Any] = [tree]
    while pending:
        part: Any = pending.pop()
        kind = type_of(part)
        if kind is list:
            pending.extend(part)
        elif kind is dict and len(part) == 1:  # a tag; the description of a class has more keys, and no objects
            ((tag, body),) = part.items()
            within = type_of(body)
            yield tag, body
            if within is list:
                pending.extend(body)
            elif within is dict:
                pending.extend(body.values() if tag == "m" else [body])
