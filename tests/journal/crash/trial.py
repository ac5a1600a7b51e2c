"""Trials inside a test: a session that dies at chosen moments and is resumed until it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.journal.crash.desk import Desk, Effect, Effects
from tests.journal.crash.dying import Mortal
from tests.journal.crash.lives import SESSION, Ending, check_effects, ending, live
from tests.journal.crash.scenarios import Scenario

from cellwright.errors import JournalFailed
from cellwright.runtime import replay
from cellwright.store import MemoryStore


class Trial:
    """`unbroken` first: it says what every other run must come to, and at how many moments one can die."""

    def __init__(self, scenario: Scenario, place: Path) -> None:
        self.points = 0
        self.deaths = 0
        self._scenario = scenario
        self._place = place
        self._ending: Ending | None = None
        self._effects: list[Effect] = []
        self._runs = 0

    async def unbroken(self) -> None:
        journal, effects, workspace = self._fresh()
        await live(journal, Desk(effects), self._scenario, workspace)
        self.points = journal.points
        self._ending, self._effects = ending(journal, workspace, self._scenario), effects.read()
        assert not any(error for *_, error in self._ending.cells), self._ending.cells
        await self._check_offline(journal)

    async def dies(self, moments: Iterable[int], *, offline: bool = True) -> None:
        """The first life ends at the first of these moments, the next at the second, and so on."""
        journal, effects, workspace = self._fresh()
        ends = iter(moments)
        while not await self._live(journal, Desk(effects), workspace, ends):
            self.deaths += 1
        found = ending(journal, workspace, self._scenario)
        assert found == self._ending, f"{found} and not {self._ending}"
        check_effects(effects, self._effects, self._scenario.free)
        if offline:
            await self._check_offline(journal)
        shutil.rmtree(workspace)

    async def _live(self, journal: Mortal, desk: Desk, workspace: Path, ends: Iterator[int]) -> bool:
        journal.live_until(next(ends, None))
        try:
            await live(journal, desk, self._scenario, workspace)
        except JournalFailed:
            return False
        return True

    async def _check_offline(self, journal: Mortal) -> None:
        again = await replay(SESSION, store=journal)
        assert again.same, again

    def _fresh(self) -> tuple[Mortal, Effects, Path]:
        self._runs += 1
        journal, workspace = Mortal(MemoryStore()), self._place / f"run{self._runs}"
        workspace.mkdir()
        return journal, Effects(self._place / f"run{self._runs}.effects", lambda: not journal.dead), workspace
