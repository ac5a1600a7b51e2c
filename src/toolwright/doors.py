"""The doors: the contracts at which everything meets. A feature is a wrapper round one of them.

    Host.call     code in the sandbox asks for something outside it

What passes is packed: plain trees and bytes that can be kept, hashed and compared without running anybody's code.
A door does not know who asks, which sandbox they sit in, or what stands behind it.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from toolwright_guest.wire import Packed


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One request of guest code. `target` is a handle; `name` the attribute or operator that `verb` works on."""

    id: int
    cell: int
    verb: str
    target: int
    name: str
    arguments: Packed


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the guest gets: a packed value, or a packed exception when `failed`."""

    value: Packed
    failed: bool = False


class Guest(Protocol):
    """The way back: host code calls a function that the guest lent it. Both methods may be called from any thread.

    `invoke` gives the guest's answer in time, or `GuestGone` as its exception. `parent` is the call of the guest during
    which it happens, 0 for none. `give_back` says that the host keeps `count` references to the function no longer.
    """

    def invoke(self, lent: int, parent: int, arguments: Packed) -> Future[Answer]: ...
    def give_back(self, lent: int, count: int) -> None: ...


class Host(Protocol):
    """Answers the calls of one session.

    `call` never raises for what the object behind it did: an exception there is a failed `Answer`. It may be awaited
    many times at once. Cancelling it cancels the work behind it, as far as that can be cancelled. `refusal` is the
    answer to a call that is not to be made. `title` names a call for people. `open` begins a guest's life: it gives the
    names that the guest starts with. `value` reads what a cell came to. `drop` says that the guest let go of an object.
    What no honest guest sends raises `WireError`.
    """

    async def call(self, call: Call) -> Answer: ...
    def refusal(self, error: Exception) -> Answer: ...
    def title(self, call: Call) -> str: ...
    def open(self, guest: Guest, libraries: frozenset[str]) -> Packed: ...
    def value(self, packed: Packed) -> object: ...
    def drop(self, handle: int, count: int) -> None: ...
