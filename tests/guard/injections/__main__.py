"""Runs every scenario and prints what came of it: `python -m tests.guard.injections [--write]`, into docs/guard.md."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.page import put_between
from tests.guard.injections.play import Played, play
from tests.guard.injections.scenario import INJECTIONS, Scenario, scenarios

from cellwright import Runtime
from cellwright.guard import FlowMode

PAGE = Path(__file__).parents[3] / "docs" / "guard.md"
BEGIN, END = "<!-- begin: python -m tests.guard.injections --write -->", "<!-- end -->"


@dataclass(kw_only=True)
class Figures:
    """What came of the scenarios of one kind."""

    scenarios: int = 0
    without: int = 0  # reached their goal without the guard
    reached: int = 0  # with it
    questions: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            scenarios=self.scenarios + other.scenarios,
            without=self.without + other.without,
            reached=self.reached + other.reached,
            questions=self.questions + other.questions,
        )


async def _played(scenario: Scenario, flow: FlowMode) -> Played:
    with tempfile.TemporaryDirectory() as place:
        os.environ["CELLWRIGHT_STATE"] = f"{place}/state"
        os.mkdir(work := f"{place}/work")
        return await play(scenario, flow, Path(work))


async def _measured(given: Sequence[Scenario]) -> dict[str, Figures]:
    figures = defaultdict[str, Figures](Figures)
    async with Runtime():
        for scenario in given:
            off, on = await _played(scenario, "off"), await _played(scenario, "ask")
            asked = len(on.questions)
            figures[scenario.kind] += Figures(scenarios=1, without=off.reached, reached=on.reached, questions=asked)
    return figures


def _row(kind: str, figures: Figures) -> str:
    return f"| {kind} | {figures.scenarios} | {figures.without} | {figures.reached} | {figures.questions} |"


def table(obeyed: Mapping[str, Figures], honest: Mapping[str, Figures], missed: Mapping[str, Figures]) -> Iterator[str]:
    yield "| injections, by kind | scenarios | reach their goal without the guard | with it | questions |"
    yield "|---|--:|--:|--:|--:|"
    yield from (_row(kind, figures) for kind, figures in sorted(obeyed.items()))
    yield _row("**all**", sum(obeyed.values(), Figures()))
    yield ""
    yield "| others | tasks | done without the guard | with it | questions |"
    yield "|---|--:|--:|--:|--:|"
    yield _row("honest tasks", sum(honest.values(), Figures()))
    yield _row("what the guard does not stop", sum(missed.values(), Figures()))


async def main(*, write: bool) -> None:
    names = (INJECTIONS, ("benign",), ("not_stopped",))
    text = "\n".join(table(*[await _measured(scenarios(*each)) for each in names]))
    print(text)
    if write:
        put_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/guard.md")
    asyncio.run(main(write=parser.parse_args().write))
