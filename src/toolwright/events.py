"""What a running cell says while it runs: one typed union. Later packages add their own kinds to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Printed:
    """Text that the cell wrote to stdout or stderr, as it arrives."""

    cell: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStarted:
    """The cell asked for something outside; the call is under way."""

    cell: int
    call: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFinished:
    """The answer is on its way to the cell."""

    cell: int
    call: int
    name: str
    duration_s: float
    error: str | None = None


Event = Printed | CallStarted | CallFinished
