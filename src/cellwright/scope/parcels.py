"""A value on its way to the guest, with what the guest learns by it. Knows nothing of how values are packed."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

from cellwright.doors import Made
from cellwright.scope.api_records import RECORDS, find_record
from cellwright.scope.rules import Place
from cellwright_guest.packing import Other, Packer
from cellwright_guest.wire import type_of

_NOWHERE: dict[int, Place] = {}


class Parcel(Packer):
    """Packs one value that was reached by `path`.

    `made` is what the journal is to hear of: host objects and classes that no answer has told the guest of yet, each
    perhaps more than once. `kept` is the own data of such objects, asked for only where `keeps`. `places` are those of
    objects that come from another session, by their ids.
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
    """The name of a class that is good in another process too, where the class can be imported there."""
    return f"{cls.__module__}:{cls.__qualname__}"


def find_type(key: str) -> Any:
    """The class of that name, if its module is imported here. Imports nothing and runs nothing."""
    module, _, qualname = key.partition(":")
    if module.startswith(RECORDS):
        return find_record(module, qualname)
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        if not issubclass(type_of(found), type | types.ModuleType):
            return None
        found = found.__dict__.get(part)
    return found if issubclass(type_of(found), type) and type_key(found) == key else None
