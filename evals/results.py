"""What a run of tasks yields: one `Attempt` a task and mode, and the `Report` over all of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Mode = Literal["code", "direct"]
MODES: tuple[Mode, ...] = ("code", "direct")


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One task, given once. `why` says what was wrong; "" when it passed."""

    task: str
    tags: tuple[str, ...]
    mode: Mode
    why: str = ""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.why


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """Attempts of one mode, added up. Seconds are the median's."""

    passed: int
    count: int
    steps: int
    input_tokens: int
    output_tokens: int
    seconds: float

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> Total:
        return cls(
            passed=sum(a.passed for a in attempts),
            count=len(attempts),
            steps=sum(a.steps for a in attempts),
            input_tokens=sum(a.input_tokens for a in attempts),
            output_tokens=sum(a.output_tokens for a in attempts),
            seconds=statistics.median(a.seconds for a in attempts) if attempts else 0.0,
        )

    @property
    def share(self) -> str:
        return f"{self.passed} of {self.count}" + (f" ({self.passed / self.count:.0%})" if self.count else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A whole run: the model's name, the limits of each attempt, where it ran, and the attempts in their order."""

    model: str
    steps: int
    seconds: float
    date: str
    machine: dict[str, str]
    attempts: tuple[Attempt, ...]

    @property
    def modes(self) -> tuple[Mode, ...]:
        return tuple(mode for mode in MODES if any(a.mode == mode for a in self.attempts))

    @property
    def shared(self) -> tuple[Attempt, ...]:
        """Those of tasks that were tried in every mode of this run: what modes can be compared by."""
        modes = {task: {a.mode for a in self.attempts if a.task == task} for task in {a.task for a in self.attempts}}
        return tuple(a for a in self.attempts if modes[a.task] == set(self.modes))

    def of(self, task: str) -> dict[Mode, Attempt]:
        return {a.mode: a for a in self.attempts if a.task == task}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Their ids, in the order of the run, each once."""
        return tuple(dict.fromkeys(a.task for a in self.attempts))

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tag for a in self.attempts for tag in a.tags))

    def as_json(self) -> dict[str, Any]:
        told = asdict(self)
        told["attempts"] = [asdict(a) | {"passed": a.passed} for a in self.attempts]
        told["totals"] = {mode: asdict(Total.of([a for a in self.attempts if a.mode == mode])) for mode in self.modes}
        return told
