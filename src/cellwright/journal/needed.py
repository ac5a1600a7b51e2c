"""Host objects that an undo may need, held although guest code let go of them. Knows numbers and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MOST = 10_000  # objects; then those of the oldest calls are let go of, and these cannot be undone any more


class Needed:
    """`drop` is told of what really goes."""

    def __init__(self, drop: Callable[[int, int], None]) -> None:
        self._drop = drop
        self._counts: dict[int, int] = {}  # by number, oldest first: how often the guest let go of it meanwhile

    def keep(self, numbers: Iterable[int]) -> None:
        for number in (one for one in numbers if one > 0):
            self._counts[number] = self._counts.pop(number, 0)
        while len(self._counts) > MOST:
            oldest = next(iter(self._counts))
            count = self._counts.pop(oldest)
            if count:
                self._drop(oldest, count)

    def drop(self, number: int, count: int) -> None:
        """The guest let go of it."""
        if number in self._counts:
            self._counts[number] += count
        else:
            self._drop(number, count)
