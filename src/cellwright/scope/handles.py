"""Host objects by the number that the guest knows them by.

Numbers count up from 1 and are good on this connection only: the connection is the authority, not the number. An object
stays here until the guest has let go of it as many times as it was sent. The guest of a resumed session knows numbers
of an earlier process: each is given out again only to the object that it stood for.
"""

from __future__ import annotations

import threading
from typing import Any

from cellwright.errors import CallLimit, StaleHandle
from cellwright.scope.parcels import type_key
from cellwright.scope.rules import Place

LIVE = 100_000


class HeldObject:
    """One host object that the guest may name."""

    __slots__ = (
        "abouts",
        "announced",
        "bound",
        "handed",
        "handle",
        "methods",
        "name",
        "pinned",
        "place",
        "placed_at",
        "sent",
        "value",
    )

    def __init__(self, value: Any, handle: int, place: Place, bound: bool) -> None:
        self.value = value
        self.handle = handle
        self.place = place
        self.placed_at = -1  # the version of the rules by which the place was last looked up
        self.name = ""  # in the scope
        self.bound = bound  # by name in the scope: never dropped, and a class or module may be used
        self.handed = False  # in a child's scope, by a guest: its path is that of the call which made it
        self.pinned = False  # another process counted how often it was sent: never dropped
        self.announced = False  # in the `made` of an answer, or of the opening
        self.sent = 0
        self.methods: dict[str, Any] = {}  # by name, a `KnownMethod` of each that was called
        self.abouts: dict[Any, Any] = {}  # the facts of calls on it

    def move(self, place: Place) -> None:
        """It was reached by a further path, of which rules speak: what was decided of it is not good any more."""
        if place is not self.place:
            self.place = place
            self.methods, self.abouts = {}, {}

    @property
    def shown(self) -> str:
        """Its name for guest code: in the scope, else its path."""
        return self.name or self.place.path


class Handles:
    """The table of one session. Safe to use from the loop and from the worker at once."""

    def __init__(self, live: int = LIVE, first: int = 1) -> None:
        self._live = live
        self._lock = threading.Lock()
        self._by_number: dict[int, HeldObject] = {}
        self._by_id: dict[int, HeldObject] = {}
        self.next = first  # the number of the next new object
        self.waiting: dict[tuple[str, str], list[int]] = {}  # numbers that the guest began with, by path and type

    def hold(self, value: Any, place: Place, *, bound: bool = False) -> HeldObject:
        """The entry of `value`, made if it is new. The entry keeps the object alive, and so its id good."""
        with self._lock:
            held = self._by_id.get(id(value))
            if held is None:
                if len(self._by_number) >= self._live:
                    raise CallLimit(f"more than {self._live} host objects are held at once; let go of some (`del`)")
                held = self._by_id[id(value)] = self._new(value, place, bound)
                self._by_number[held.handle] = held
            held.bound = held.bound or bound
            held.sent += 1
            return held

    def _new(self, value: Any, place: Place, bound: bool) -> HeldObject:
        again = self.waiting.get((place.path, type_key(place.kind))) if self.waiting else None
        if again:
            held = HeldObject(value, again.pop(0), place, bound)
            held.pinned = held.announced = True
            return held
        self.next += 1
        return HeldObject(value, self.next - 1, place, bound)

    def restore(self, number: int, value: Any, place: Place, *, bound: bool = False) -> HeldObject:
        """Hold `value` under a number that the guest knows. It may be held under another number as well."""
        with self._lock:
            held = self._by_number.get(number)
            if held is None:
                held = self._by_number[number] = HeldObject(value, number, place, bound)
                held.pinned = held.announced = True
                self._by_id.setdefault(id(value), held)
            return held

    def find(self, handle: int) -> HeldObject | None:
        return self._by_number.get(handle)

    def unbound(self) -> dict[int, Any]:
        """The held objects that have no name in the scope, by number."""
        with self._lock:
            return {number: held.value for number, held in self._by_number.items() if not held.bound}

    def known(self, value: Any) -> HeldObject | None:
        return self._by_id.get(id(value))

    def get(self, handle: object) -> HeldObject:
        held = self._by_number.get(handle) if type(handle) is int else None
        if held is None:
            number = f"{handle!r:.40}" if type(handle) is int else f"of a {type(handle).__name__}"
            raise StaleHandle(f"host object {number} is not held by this session")
        return held

    def drop(self, handle: int, count: int) -> None:
        """The guest let go of `count` of the times it was sent this object."""
        with self._lock:
            held = self._by_number.get(handle)
            if held is None or held.bound or held.pinned:
                return
            held.sent -= count
            if held.sent <= 0:
                del self._by_number[handle]
                if self._by_id.get(id(held.value)) is held:
                    del self._by_id[id(held.value)]

    def clear(self) -> None:
        with self._lock:
            self._by_number.clear()
            self._by_id.clear()
