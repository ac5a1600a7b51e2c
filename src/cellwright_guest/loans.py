"""What the guest lent to the host: functions and iterators that host code may call, by number.

A number is decided by what was lent before and what was given back, and by nothing else: it goes into the journal.
"""

from __future__ import annotations

import inspect
from typing import Any

# what a checkpoint keeps: the next number, and what the host holds, each with a count
Kept = tuple[int, dict[int, tuple[Any, int]]]


class Loans:
    """Holds what it lends, so that no other object can have its address meanwhile."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        self._numbers: dict[int, int] = {}  # address of the value → its number
        self._next = 1
        self.owed: list[tuple[int, int]] = []  # given back with the last message, which may name them once more

    def __getitem__(self, number: int) -> Any:
        return self._values[number]

    def lend(self, value: Any) -> list[Any]:
        """What the host needs to call `value` later: its number, its kind and its name."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = self._next
            self._values[number] = value
            self._next += 1
        self._counts[number] = self._counts.get(number, 0) + 1
        if callable(value):
            kind = "async" if inspect.iscoroutinefunction(value) else "function"
        else:
            kind = "iterator" if hasattr(value, "__next__") else "async iterator"
        return [number, kind, str(getattr(value, "__name__", type(value).__name__))[:200]]

    def give_back(self, number: int, count: int) -> None:
        """The host let go of `count` of the times it was lent this."""
        if number not in self._counts:
            return  # lent by an earlier guest of the session
        self._counts[number] -= count
        if self._counts[number] <= 0:
            del self._counts[number]
            self._numbers.pop(id(self._values.pop(number)), None)

    def take_back(self, owed: list[tuple[int, int]]) -> None:
        """The same for loans returned with a message: its value is read first, so they are taken at the next."""
        for number, count in self.owed:
            self.give_back(number, count)
        self.owed = owed

    def state(self) -> Kept:
        return self._next, {number: (self._values[number], count) for number, count in self._counts.items()}

    def restore(self, kept: Kept) -> None:
        self._next, held = kept
        self._values = {number: value for number, (value, _) in held.items()}
        self._numbers = {id(value): number for number, value in self._values.items()}
        self._counts = {number: count for number, (_, count) in held.items()}
