"""A recorded session as an offline test: from Python, from the command line, and as a pytest test of three lines."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, SESSION, value

from cellwright import Runtime, operation
from cellwright.errors import NoSession
from cellwright.runtime import replay
from cellwright.store import MemoryStore, SqliteStore

pytestmark = pytest.mark.usefixtures("warm")


class Crm:
    def __init__(self) -> None:
        self.calls = 0

    async def cities(self) -> list[str]:
        self.calls += 1
        await asyncio.sleep(0)
        return ["Oslo", "Bergen"]

    @operation(reads=True)
    def size(self, city: str) -> int:
        self.calls += 1
        return len(city)

    def each(self, function: Any) -> list[Any]:
        self.calls += 1
        return [function(city) for city in ("Oslo", "Bergen")]


CELLS = (
    "import asyncio, uuid, time\ncities = await crm.cities(); open('f', 'w').write(','.join(cities))",
    "sizes = [crm.size(city) for city in cities]; print(sizes, uuid.uuid4(), time.time())",
    "await asyncio.sleep(0.01); crm.each(lambda city: crm.size(city) * 2)",
    "open('f').read() + str(1 / 0)",
)
DIFFERS = "import os\nopen('f', 'w').close()\ncrm.size(str(os.stat('f').st_mtime_ns))"


async def record(store: Any, *cells: str, session: str = SESSION) -> Crm:
    crm = Crm()
    async with Runtime({"crm": crm}, store=store, session=session, limits=PATIENT) as rt:
        for code in cells:
            await rt.execute(code)
    return crm


def cellwright(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cellwright", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    path = tmp_path / "agents.db"
    await record(path, *CELLS)
    await record(path, "x = 1", DIFFERS, "y = 2", session="differs")
    return path


# from Python


async def test_a_recorded_session_runs_again_with_nothing_behind_it() -> None:
    journal = MemoryStore()
    crm = await record(journal, *CELLS)
    calls = crm.calls
    seen: list[int] = []
    found = await replay(SESSION, store=journal, on_cell=lambda cell: seen.append(cell.number))
    assert found.same
    assert (found.cells, found.session, seen) == (4, SESSION, [1, 2, 3, 4])
    assert str(found).startswith("same: 4 cells, ")
    assert crm.calls == calls


async def test_the_first_difference_is_told() -> None:
    journal = MemoryStore()
    await record(journal, "x = 1", DIFFERS, DIFFERS)
    found = await replay(SESSION, store=journal)
    assert not found.same
    assert found.difference is not None
    assert (found.cells, found.difference.cell, found.difference.line) == (1, 2, 3)
    assert str(found).startswith("different: cell 2, line 3: recorded crm.size('")


async def test_a_replay_writes_nothing(store: Path) -> None:
    def rows() -> list[Any]:
        journal = SqliteStore(store)
        try:
            return [*journal.cells(SESSION), *journal.rows(SESSION), journal.facts(SESSION), *journal.sessions()]
        finally:
            journal.close()

    before, files = rows(), sorted(store.parent.rglob("*.txt"))
    assert (await replay(SESSION, store=store)).same
    assert (rows(), sorted(store.parent.rglob("*.txt"))) == (before, files)


async def test_a_replay_does_not_fence_who_writes(store: Path) -> None:
    async with Runtime.resume(SESSION, store=store, scope={"crm": Crm()}, limits=PATIENT) as rt:
        assert (await replay(SESSION, store=store)).same
        assert await value(rt, "sizes") == [4, 6]


async def test_a_session_that_was_cut_off_is_replayed_up_to_that_cell() -> None:
    journal = MemoryStore()
    await record(journal, "x = 1")
    last = journal.cells(SESSION)[-1]
    journal.write(journal.claim(SESSION), type(last)(number=2, code="x = 2"))
    found = await replay(SESSION, store=journal)
    assert (found.same, found.cells) == (True, 1)


async def test_an_empty_session_is_the_same() -> None:
    journal = MemoryStore()
    await record(journal)
    assert str(await replay(SESSION, store=journal)) == "same: 0 cells, 0 calls"


async def test_a_session_that_is_not_there_is_told() -> None:
    with pytest.raises(NoSession):
        await replay("none", store=MemoryStore())


# from the command line


@pytest.mark.slow
async def test_the_command_says_same(store: Path, tmp_path: Path) -> None:
    done = await asyncio.to_thread(cellwright, "replay", SESSION, "--store", f"sqlite:///{store}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("same: 4 cells, ")


@pytest.mark.slow
async def test_the_command_finds_the_store_of_this_directory(store: Path) -> None:
    done = await asyncio.to_thread(cellwright, "replay", SESSION, cwd=store.parent)
    assert done.returncode == 0


@pytest.mark.slow
async def test_the_command_shows_the_first_difference(store: Path) -> None:
    done = await asyncio.to_thread(cellwright, "replay", "differs", cwd=store.parent)
    assert done.returncode == 1
    assert done.stdout.startswith("different: cell 2, line 3: recorded crm.size(")


@pytest.mark.slow
async def test_the_command_tells_it_as_json(store: Path) -> None:
    same = await asyncio.to_thread(cellwright, "replay", SESSION, "--json", cwd=store.parent)
    told = json.loads(same.stdout)
    assert (told["session"], told["cells"], told["same"], told["difference"]) == (SESSION, 4, True, None)
    differs = await asyncio.to_thread(cellwright, "replay", "differs", "--json", cwd=store.parent)
    assert differs.returncode == 1
    assert json.loads(differs.stdout)["difference"]["line"] == 3


async def test_the_command_lists_the_sessions(store: Path) -> None:
    done = await asyncio.to_thread(cellwright, "replay", cwd=store.parent)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"{SESSION}  4 cells", "differs  3 cells"]
    told = await asyncio.to_thread(cellwright, "replay", "--json", cwd=store.parent)
    assert json.loads(told.stdout) == [{"session": SESSION, "cells": 4}, {"session": "differs", "cells": 3}]


async def test_the_command_tells_of_a_session_that_is_not_there(store: Path) -> None:
    done = await asyncio.to_thread(cellwright, "replay", "none", cwd=store.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no session 'none'" in done.stderr


def test_the_command_tells_of_a_store_that_is_not_there_and_makes_none(tmp_path: Path) -> None:
    done = cellwright("replay", "s1", "--store", "missing.db", cwd=tmp_path)
    assert done.returncode != 0
    assert "missing.db" in done.stderr
    assert not (tmp_path / "missing.db").exists()
    assert cellwright("replay", "s1", "--store", "redis://x", cwd=tmp_path).returncode == 2


# as a test


@pytest.mark.slow
async def test_a_recorded_session_is_a_test_in_three_lines(store: Path, tmp_path: Path) -> None:
    test = tmp_path / "test_sessions.py"
    test.write_text(
        "def test_the_report_is_the_same(replay):\n"
        f'    replay("agents.db", "{SESSION}")\n'
        "\n"
        "async def test_so_it_is_from_a_loop(replay):\n"
        f'    assert replay("agents.db", "{SESSION}").cells == 4\n'
        "\n"
        "def test_this_one_differs(replay):\n"
        '    replay("agents.db", "differs")\n'
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "anyio_mode=auto", test.name]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=120, cwd=store.parent, check=False
    )
    assert "2 passed" in done.stdout or "3 passed" in done.stdout, done.stdout
    assert "1 failed" in done.stdout
    assert "session differs of agents.db is not the same any more: cell 2, line 3" in done.stdout
