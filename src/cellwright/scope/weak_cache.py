"""`weak_cache`: what was read of a class, kept as long as the class lives.

A program may make classes for one run; their methods lead to all that the run had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import ref

T = TypeVar("T")


def weak_cache(read: Callable[[type], T]) -> Callable[[type], T]:
    """`read`, once for each class. What it gives must not lead back to the class, or the class lives for ever."""
    kept: dict[int, tuple[ref[type], T]] = {}  # by id: the hash of a class may be its metaclass's own code

    def cached(cls: type) -> T:
        number = id(cls)
        known = kept.get(number)
        if known is not None and known[0]() is cls:
            return known[1]

        def forget(gone: ref[type]) -> None:
            if (there := kept.get(number)) is not None and there[0] is gone:
                del kept[number]

        value = read(cls)
        kept[number] = ref(cls, forget), value
        return value

    return cached
