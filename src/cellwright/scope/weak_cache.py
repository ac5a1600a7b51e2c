"""`weak_cache`: what was read of a class or a function, kept as long as that lives.

A program may make classes and functions for one run; these lead to all that the run had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import ref

T = TypeVar("T")


def weak_cache(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """`read`, once for each object. What it gives must not lead back to the object, or that lives for ever."""
    kept: dict[int, tuple[ref[Any], T]] = {}  # by id: the hash of a class may be its metaclass's own code

    def cached(key: Any) -> T:
        number = id(key)
        known = kept.get(number)
        if known is not None and known[0]() is key:
            return known[1]

        def forget(gone: ref[Any]) -> None:
            if (there := kept.get(number)) is not None and there[0] is gone:
                del kept[number]

        value = read(key)
        kept[number] = ref(key, forget), value
        return value

    return cached
