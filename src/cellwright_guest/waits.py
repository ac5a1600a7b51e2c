"""The waits of one event loop, asked of the host: where a session is journaled, no timer looks at the machine's clock.

A wait is a call whose answer only moves the clock. One that came to nothing is left to fire: the loop looks about, and
waits again. It does not know what the timers are for.
"""

from __future__ import annotations

from cellwright_guest import clock, paths
from cellwright_guest.door import Door, Mailbox

MOST = 8  # under way at once; then the longest is given up


class Waits:
    """Their answers come to `mailbox`."""

    def __init__(self, door: Door, mailbox: Mailbox) -> None:
        self._door = door
        self._mailbox = mailbox
        self._due: dict[int, int] = {}  # number of the call → the moment, on the guest's clock

    def ask(self, seconds: float) -> None:
        """See to it that a message comes within `seconds`."""
        due = clock.after(seconds)
        if not any(earlier <= due for earlier in self._due.values()):
            self._start(clock.until(due), due)

    def look(self) -> None:
        """See to it that a message comes at once."""
        self._start(0, clock.after(0))

    def _start(self, seconds: float, due: int) -> None:
        if len(self._due) >= MOST:
            self._cancel(max(self._due, key=lambda number: self._due[number]))
        length = {"t": [seconds]}
        number = self._door.start(self._mailbox, "sleep", 0, "", length, [], paths.current().wait())
        self._due[number] = due

    def over(self, number: int) -> bool:
        """Whether the call of that number was one of them. If so, it is past the moment that it waited for."""
        due = self._due.pop(number, None)
        if due is not None:
            clock.reach(due)
        return due is not None

    def __contains__(self, number: int) -> bool:
        return number in self._due

    def give_up(self) -> None:
        """Nothing needs them any more."""
        for number in list(self._due):
            self._cancel(number)

    def _cancel(self, number: int) -> None:
        del self._due[number]
        self._door.cancel(number)
