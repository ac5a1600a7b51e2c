"""The two corpora: cells that are right, which run and are not complained about, and cells that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from itertools import groupby
from pathlib import Path

import pytest
from tests.catalog.corpus import CELLS, Sample, read, samples
from tests.catalog.world import scope
from tests.cells import PATIENT

from cellwright import Runtime
from cellwright.catalog import TypeChecker

RIGHT = sorted((CELLS / "right").glob("*.py"))
WRONG = sorted((CELLS / "wrong").glob("*.py"))
MISSED = 0  # of the wrong ones


class Checker(TypeChecker):
    """Closed as a context manager, for a test's sake."""

    async def aclose(self) -> None:
        await self.close()


def sessions(found: list[Sample]) -> Iterator[list[Sample]]:
    """The cells that share their names: each list begins with one that has none before it."""
    number = 0

    def session_of(sample: Sample) -> int:
        nonlocal number
        number += not sample.before
        return number

    for _, group in groupby(found, key=session_of):
        yield list(group)


def test_the_corpora_are_as_large_as_is_said_of_them() -> None:
    assert len(samples("right")) >= 300
    assert len([sample for sample in samples("wrong") if sample.wrong]) >= 150


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
async def test_a_right_cell_runs(file: Path) -> None:
    failed: list[str] = []
    for session in sessions(read(file)):
        async with Runtime(scope(), limits=PATIENT) as rt:
            for sample in session:
                outcome = await rt.execute(sample.code)
                if outcome.error is not None:
                    failed.append(f"{sample.title}: {outcome.error}")
    assert failed == []


@pytest.mark.parametrize("site", [None, ()], ids=["packages unknown", "no packages"])
async def test_no_right_cell_is_complained_about(site: tuple[Path, ...] | None) -> None:
    alarms: list[str] = []
    async with aclosing(Checker(scope(), site=site)) as checker:
        for sample in samples("right"):
            alarms += [f"{sample.title} {m.rule}: {m}" for m in await checker.check(sample.code, before=sample.before)]
    assert alarms == []


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
async def test_a_wrong_cell_fails_or_does_what_nobody_wants(file: Path) -> None:
    untrue: list[str] = []
    for session in sessions(read(file)):
        async with Runtime(scope(), limits=PATIENT) as rt:
            for sample in session:
                outcome = await rt.execute(sample.code)
                if (outcome.error is not None) != sample.fails:
                    untrue.append(f"{sample.title}: {outcome.error or 'it ran'}")
    assert untrue == []


async def test_a_wrong_cell_is_caught_on_its_line_and_nowhere_else() -> None:
    missed: list[str] = []
    elsewhere: list[str] = []
    async with aclosing(Checker(scope())) as checker:
        for sample in samples("wrong"):
            lines = {mistake.line for mistake in await checker.check(sample.code, before=sample.before)}
            missed += [f"{sample.title}: {sample.wrong}"] if sample.wrong and sample.line not in lines else []
            elsewhere += [f"{sample.title}: {lines}"] if lines - {sample.line} else []
    assert len(missed) == MISSED, missed
    assert elsewhere == []
