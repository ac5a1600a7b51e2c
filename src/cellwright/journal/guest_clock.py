"""The time that a journaled guest is told. It knows no delivery: who makes one asks for the time of it."""

from __future__ import annotations

import time
from collections.abc import Callable


def _elapsed() -> float:
    """Seconds that nobody can set; the time that the machine was suspended counts, where the system tells it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class GuestClock:
    """The guest's time: the machine's wall clock is read once, here; from then on it is the time that passed since.

    So a wall clock that jumps is not noticed before the session is resumed, and then the time is never before `floor`.
    """

    def __init__(
        self, floor: float = 0.0, *, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = _elapsed
    ) -> None:
        self._elapsed = elapsed
        self._origin = max(wall(), floor) - elapsed()

    def now(self) -> float:
        return self._origin + self._elapsed()
