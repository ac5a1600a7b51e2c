"""Repeated failures: the second is pointed out, the third changes how the model is asked, the sixth ends the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellwright.agent.observation import Observation
from cellwright.errors import Stuck

ANOTHER_WAY = 3
END = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """How to go on. `warmer`: a higher temperature for the next reply, so that it differs.

    `unchecked`: the type checker may be wrong, so the next cell runs whatever it says.
    """

    words: str = ""
    warmer: bool = False
    unchecked: bool = False


class RepeatedFailures:
    """Counts failures of the same kind in a turn. `another_way` says where to look for one."""

    def __init__(self, another_way: str) -> None:
        self._advice = f"Do not repeat it, take another way: {another_way}"
        self._counts: dict[str, int] = {}
        self._last_cell = ("", "")
        self._again = False  # the last cell repeats the one before it, character by character

    def same_cell(self, code: str, observation: Observation) -> Observation:
        """A cell that repeats the last one with the same result counts as a failure."""
        before, self._last_cell = self._last_cell, (code.strip(), observation.text)
        self._again = before[0] == self._last_cell[0]
        if before != self._last_cell or not observation.ok:
            return observation
        told = "This same cell was run just before, with the same result. If that is the answer, call done(value)."
        return replace(observation, text=f"{observation.text}\n{told}", failure="the same cell again")

    def after_reply(self, observed: Sequence[Observation]) -> list[Advice]:
        """What to add to each observation of a reply. Calls of it that failed alike count as one failure."""
        first = {o.failure: place for place, o in reversed(list(enumerate(observed)))}
        return [self.after(o) if first[o.failure] == place else Advice() for place, o in enumerate(observed)]

    def after(self, observation: Observation) -> Advice:
        """What to add to an observation. Raises `Stuck` when nothing helps."""
        if not observation.failure:
            return Advice()
        count = self._counts[observation.failure] = self._counts.get(observation.failure, 0) + 1
        if count >= END:
            raise Stuck(
                f"the same failure {count} times, also after trying another way: {observation.failure}\n"
                f"The last observation was:\n{observation.text}"
            )
        if count >= ANOTHER_WAY:
            checker = observation.failure.startswith("TypeMistake")
            return Advice(words=f"\nThis has failed {count} times. {self._advice}", warmer=True, unchecked=checker)
        if count == 2:
            return Advice(words=f"\nThis is the same failure as before. {self._advice}", warmer=self._again)
        return Advice(warmer=self._again)
