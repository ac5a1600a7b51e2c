"""A value on its way to the guest, with the objects and classes that it announces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from cellwright.doors import Made
from cellwright.scope.api_records import RECORDS, find_record
from cellwright.scope.rules import Place
from cellwright.scope.signatures import find_in_module
from cellwright_guest.packer import Other, Packer
from cellwright_guest.wire import type_of

_NOWHERE: dict[int, Place] = {}


class Parcel(Packer):
    """Packs one value that was reached by `path`.

    `made` is for the journal: host objects and classes that no earlier answer has announced, some more than once.
    `kept` is the journal data of such objects, asked of them only if `keeps`. `places` has the places of objects that
    come from another session, by their ids.
    """

    __slots__ = ("keeps", "kept", "made", "path", "places")

    def __init__(self, other: Callable[[Any, Parcel], Any], path: str, keeps: bool = False) -> None:
        super().__init__(cast(Other, other))
        self.path = path
        self.keeps = keeps
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
