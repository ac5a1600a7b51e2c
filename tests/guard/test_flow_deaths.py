"""Labels and influence outlive processes: whoever dies between reading and sending, nothing is sent without a yes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.flow_program import EVE, PROGRAM, Post
from tests.journal.crash.dying import Mortal

from cellwright import Outcome, Runtime
from cellwright.errors import JournalFailed
from cellwright.store import MemoryStore, Store

pytestmark = pytest.mark.usefixtures("warm")

ROOT = Path(__file__).parents[2]
CELLS = (
    """
import asyncio
async def count():
    sum(range(1_000_000))  # asks after the host has answered the other
    return await post.count()
body, n = await asyncio.gather(post.late_body(), count())
""",
    f"""
try:
    said = post.send('{EVE}', body)
except Exception as error:
    said = type(error).__name__
said
""",
)


async def live(store: Store, post: Post) -> Any:
    """Runs all that is left; gives the value of the last cell, and the labels that have reached the session."""
    options: dict[str, Any] = {"scope": {"post": post}, "store": store, "limits": PATIENT, "flow": "deny"}
    known = "s1" in store.sessions()
    rt = Runtime.resume("s1", take_over=True, **options) if known else Runtime(session="s1", **options)
    async with rt:
        begun = len(store.cells("s1"))
        outcome = await rt.outcome() if begun else Outcome(cell=0)
        for cell in CELLS[begun:]:
            outcome = await rt.execute(cell)
        return outcome.unwrap(), rt.flow.reached


class Life:
    """A session whose lives end at these moments, and what it came to."""

    def __init__(self, place: Path) -> None:
        self.store = Mortal(MemoryStore())
        self.post = Post(place)
        self.has_read_untold = False  # a life ended when the mail was read and written down, and the guest not told

    async def ends_at(self, *moments: int) -> int:
        """The moments that the last life had."""
        for moment in moments:
            self.store.live_until(moment)
            with suppress(JournalFailed):  # or it comes to its end before
                await live(self.store, self.post)
            untold = [row for row in self._readings() if row.value is not None and row.delivered is None]
            self.has_read_untold = self.has_read_untold or bool(untold)
        self.store.live_until(None)
        value, reached = await live(self.store, self.post)
        points = self.store.points
        assert value == "Denied", moments
        assert "untrusted" in reached, moments
        (row,) = self._readings()  # whoever resumes it later knows as much
        assert "untrusted" in row.labels, moments
        assert self.post.sent() == [], moments
        return points

    def _readings(self) -> list[Any]:
        known = "s1" in self.store.sessions()
        return [row for row in self.store.rows("s1") if row.title == "post.late_body"] if known else []


async def test_an_answer_that_was_written_down_and_told_a_life_later_keeps_its_labels(tmp_path: Path) -> None:
    for first in range(5, 9):
        for second in range(3, 6):
            life = Life(tmp_path / "sent")
            await life.ends_at(first, second)
            if life.has_read_untold:
                return
    pytest.fail("no life ended between the reading and the telling")


@pytest.mark.crash
async def test_labels_outlive_deaths_at_each_write_and_in_each_recovery(tmp_path: Path) -> None:
    points = await Life(tmp_path / "sent").ends_at()
    for first in range(points):
        for second in range(points // 2):
            await Life(tmp_path / "sent").ends_at(first, second)


def lives(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", PROGRAM, *arguments]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False
    )


def check_killed(store: str, sent: Path) -> None:
    """An agent is killed between reading and sending, again while it recovers, and when a person is asked."""
    for how in ("killed-before-it-obeys", "killed-before-it-obeys", "killed-when-asked"):
        assert lives(store, str(sent), how).returncode == -signal.SIGKILL, how
    done = lives(store, str(sent))
    assert done.returncode == 0, done.stderr
    assert f"asked: to='{EVE}': it stands in post.body, which outsiders can write" in done.stdout
    assert done.stdout.endswith("over\n")
    assert Post(sent).sent() == []


@pytest.mark.crash
def test_an_agent_that_is_killed_between_reading_and_sending_asks_when_it_is_resumed(tmp_path: Path) -> None:
    check_killed(f"sqlite:///{tmp_path}/agents.db", tmp_path / "sent")
