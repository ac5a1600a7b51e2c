"""What a run of AgentDojo's suites said, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.agentdojo.episodes import Episode


@dataclass(frozen=True, kw_only=True)
class DojoReport:
    """`unseen`: tasks that show the model nothing of an outsider. `goals` are the words of injections, by their names;
    `answers` those injections whose goal is a sentence of the answer, and no call.
    """

    date: str
    machine: dict[str, str]
    seconds: float
    suites: tuple[str, ...]
    goals: dict[str, str]
    answers: tuple[str, ...]
    unseen: tuple[str, ...]
    guarded: tuple[Episode, ...]
    control: tuple[Episode, ...]
    twins: tuple[Episode, ...]
    programs: tuple[Episode, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def reached(self) -> list[Episode]:
        """Episodes with the guard that did what the injection wants, other than saying it."""
        return [each for each in self.guarded if each.reached and not self.is_said(each)]

    @property
    def unreached(self) -> Counter[str]:
        """Injections that do not reach their goal without the guard either, with how many tasks they fail in."""
        return Counter(name_of(each) for each in self.control if not each.reached)

    @property
    def asking(self) -> list[Episode]:
        return [each for each in self.twins if each.asked]

    def is_said(self, episode: Episode) -> bool:
        return name_of(episode) in self.answers


def name_of(episode: Episode) -> str:
    return f"{episode.suite} {episode.injection.removeprefix('injection_task_')}"


def of_suite(episodes: Sequence[Episode], suite: str) -> list[Episode]:
    return [each for each in episodes if each.suite == suite]
