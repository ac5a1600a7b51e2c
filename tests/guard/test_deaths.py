"""Processes that die around a question: while it waits, when it is decided, in the repeated run, after the effect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.program import PROGRAM, Postbox
from tests.journal.crash.dying import Mortal

from cellwright import Outcome, Runtime
from cellwright.errors import JournalFailed
from cellwright.guard import decide, open_questions
from cellwright.store import MemoryStore, SqliteStore, Store

pytestmark = pytest.mark.usefixtures("warm")

ROOT = Path(__file__).parents[2]
CELLS = (
    """
import asyncio, collections
async def send(what):
    for attempt in range(9):
        try:
            return await post.send(what)
        except Exception as error:
            if type(error).__name__ != "OutcomeUnknown":
                return type(error).__name__
            if await post.has(what):
                return f"sent {what}"
got = []
for i in range(2):
    open("log", "a").write(str(i))
    got.append(await send(f"loop {i}"))
""",
    "got += await asyncio.gather(send('a'), post.put('b'), send('no'))",
    "got, open('log').read()",
)
WANTED = (["sent loop 0", "sent loop 1", "sent a", "put b", "Denied"], "01")


async def live(store: Store, post: Postbox, place: Path) -> Any:
    """Runs all that is left, with a person who decides whatever waits; gives the value of the last cell."""
    options: dict[str, Any] = {"scope": {"post": post}, "store": store, "workspace": place, "limits": PATIENT}
    known = "s1" in store.sessions()
    rt = Runtime.resume("s1", take_over=True, **options) if known else Runtime(session="s1", **options)
    async with rt:
        begun = len(store.cells("s1"))
        outcome = await rt.outcome() if begun else Outcome(cell=0)
        while begun < len(CELLS) or outcome.waiting:
            if outcome.waiting:
                outcome = await rt.outcome()
            else:
                outcome = await rt.execute(CELLS[begun])
                begun += 1
            for question in open_questions(store):
                decide(store, question.id, yes="'no'" not in question.arguments, who="ann")
    return outcome.unwrap()


async def dies(place: Path, moments: list[int]) -> int:
    """One session whose lives end at these moments; gives how many moments its last life had."""
    (place / "work").mkdir(parents=True)
    store = Mortal(MemoryStore())
    post = Postbox(place / "sent", lambda: not store.dead)
    ends = iter(moments)
    while True:
        store.live_until(next(ends, None))
        try:
            value = await live(store, post, place / "work")
        except JournalFailed:
            continue
        assert (value[0], value[1]) == WANTED
        sent = Counter(post.lines())
        once = {line: n for line, n in sent.items() if not line.startswith("put")}
        assert once == {"send loop 0": 1, "send loop 1": 1, "send a": 1}
        assert sent["put b"] >= 1
        assert not open_questions(store)
        return store.points


@pytest.mark.crash
async def test_a_session_that_dies_at_each_write_around_its_questions_comes_to_the_same(tmp_path: Path) -> None:
    points = await dies(tmp_path / "unbroken", [])
    for moment in range(points):
        await dies(tmp_path / f"run{moment}", [moment, (moment * 7) % points])


def lives(place: Path, *how: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", PROGRAM, str(place), *how]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.crash
def test_processes_that_are_killed_while_paused_and_right_after_the_effect_make_it_once(tmp_path: Path) -> None:
    paused = lives(tmp_path, "killed-when-paused")
    assert paused.returncode == -signal.SIGKILL, paused.stderr
    store = SqliteStore(tmp_path / "agents.db")
    try:
        (question,) = open_questions(store)
        decide(store, question.id, yes=True, who="ann")
        effect = lives(tmp_path, "killed-after-the-effect")
        assert effect.returncode == -signal.SIGKILL, effect.stderr
        done = lives(tmp_path)
        assert done.returncode == 0, done.stderr
        assert "OutcomeUnknown" in done.stdout
        assert open_questions(store) == []
    finally:
        store.close()
    assert (tmp_path / "sent").read_text().splitlines() == ["send ann"]


async def test_no_death_leaves_a_question_without_its_row_or_a_row_without_its_question(tmp_path: Path) -> None:
    moment, asked = 0, 0
    while True:
        kept = MemoryStore()
        store = Mortal(kept)
        store.live_until(moment)
        post = Postbox(tmp_path / f"sent-{moment}", lambda store=store: not store.dead)
        with suppress(JournalFailed):
            async with Runtime({"post": post}, store=store, session="s1", limits=PATIENT) as rt:
                await rt.execute("await post.send('once')")
        if "s1" in kept.sessions():
            rows = {row.path for row in kept.rows("s1") if row.status == "asked"}
            assert rows == {question.path for question in kept.questions("s1")}, f"died at moment {moment}"
            asked += bool(rows)
        if not store.dead:
            break
        moment += 1
    assert 0 < asked < moment  # some lives ended before the question was asked, some after it
