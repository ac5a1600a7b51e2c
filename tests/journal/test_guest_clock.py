"""The time that guest code reads while the machine's wall clock jumps, and when a session is resumed after a jump."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from tests.journal.lasting import PATIENT, SESSION, value

from cellwright import Runtime, replay
from cellwright.journal.guest_clock import GuestClock
from cellwright.store import DroppedCheckpoint, open_store

pytestmark = pytest.mark.usefixtures("warm")

READ = "import time\nfrom datetime import datetime\n[time.time(), datetime.now().timestamp()], time.monotonic()"
YEAR_S, HOUR_S = 3e7, 3600.0
JUMPS = [YEAR_S, -2 * YEAR_S, 3 * YEAR_S, -3 * YEAR_S]


class JumpingWall:
    def __init__(self) -> None:
        self.now = 2e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> JumpingWall:
    wall = JumpingWall()
    monkeypatch.setattr("cellwright.journal.session_journal.GuestClock", partial(GuestClock, wall=wall))
    return wall


class ClockReader:
    """One session on a file; `seen` are the times that its cells read, in order."""

    def __init__(self, place: Path) -> None:
        self.store = place / "s.db"
        self.seen: list[float] = []
        self.ticks: list[float] = []

    async def read(self, rt: Runtime) -> None:
        times, ticks = await value(rt, READ)
        self.seen += times
        self.ticks.append(ticks)

    def drop_checkpoints(self) -> None:
        with closing(open_store(str(self.store))) as journal:
            dropped = [DroppedCheckpoint(cell=one.cell) for one in journal.checkpoints(SESSION)]
            journal.write(journal.claim(SESSION), *dropped)

    def check(self) -> None:
        assert all(before < after for before, after in pairwise(self.seen)), self.seen
        assert all(before < after for before, after in pairwise(self.ticks)), self.ticks


async def test_a_jump_of_the_wall_clock_does_not_show_in_a_session_that_is_open(
    tmp_path: Path, wall: JumpingWall
) -> None:
    reader = ClockReader(tmp_path)
    async with Runtime(session=SESSION, store=reader.store, limits=PATIENT) as rt:
        for jump in JUMPS:
            await reader.read(rt)
            wall.now += jump
            await reader.read(rt)
    reader.check()
    assert reader.seen[-1] - reader.seen[0] < HOUR_S


@pytest.mark.parametrize("checkpoints", [True, False])
async def test_time_goes_on_where_a_session_is_resumed_after_a_jump(
    tmp_path: Path, wall: JumpingWall, checkpoints: bool
) -> None:
    reader = ClockReader(tmp_path)
    async with Runtime(session=SESSION, store=reader.store, limits=PATIENT) as rt:
        await reader.read(rt)
    latest = wall.now
    for jump in JUMPS:
        wall.now += jump
        latest = max(latest, wall.now)
        if not checkpoints:
            reader.drop_checkpoints()
        async with Runtime.resume(SESSION, store=reader.store, limits=PATIENT) as rt:
            assert rt.restored is not None
            assert rt.restored.diverged is None
            await reader.read(rt)
        assert 0 <= reader.seen[-1] - latest < HOUR_S  # it follows a jump ahead, and none back
    reader.check()
    assert (await replay(SESSION, store=reader.store)).same


def test_the_time_that_passes_counts_from_the_last_moment_of_the_journal() -> None:
    passed = iter([100.0, 101.5, 200.0])
    clock = GuestClock(50.0, wall=lambda: 7.0, elapsed=lambda: next(passed))
    assert [clock.now(), clock.now()] == [51.5, 150.0]
