"""Offline replay finds what is different, and only that: what sessions hold is the same without their host objects."""

from __future__ import annotations

import asyncio
import enum
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import cellwright
from cellwright import Runtime, operation
from cellwright.errors import NoSession, UsageError
from cellwright.store import CellRow, Row, SqliteStore
from cellwright_guest.wire import Packed

pytestmark = pytest.mark.usefixtures("warm")

TWO_CELLS = ("n = desk.count('a')\nNone", "x = 1\nm = desk.count(n)\ndesk.count('b')")
CLOCK_IN_C = """
import ctypes
now = (ctypes.c_long * 2)()
ctypes.CDLL(None).clock_gettime(1, now)
desk.count(now[0] * 10**9 + now[1])
"""


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Refused(LookupError):
    """A class of its own, with something to tell."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Lamp:
    """Crosses by handle."""

    def __init__(self, name: str) -> None:
        self.name = name

    def paint(self, colour: Colour) -> str:
        return f"{self.name} is {colour.value}"


class Desk:
    """What the sessions of these tests call."""

    def __init__(self) -> None:
        self.counted: list[Any] = []

    def count(self, what: Any) -> int:
        self.counted.append(what)
        return len(self.counted)

    def lamp(self, name: str) -> Lamp:
        return Lamp(name)

    def mirror(self, point: Point) -> Point:
        return Point(point.y, point.x)

    def colour(self) -> Colour:
        return Colour.BLUE

    def refuse(self, what: str) -> None:
        raise Refused(f"no {what} here", 7)

    def apply(self, function: Callable[[int], int]) -> list[int]:
        return [function(number) for number in (1, 2)]

    async def slow(self, what: str, milliseconds: int) -> str:
        await asyncio.sleep(milliseconds / 1000)
        return what

    @operation(reads=True)
    def pages(self) -> Iterator[int]:
        yield from range(3)


async def record(store: Path, *cells: str, session: str = "s1") -> Desk:
    """A session with these cells, each of which must come to its end."""
    desk = Desk()
    scope = {"desk": desk, "Colour": Colour, "Point": Point}
    async with Runtime(scope, store=store, session=session) as rt:
        for code in cells:
            outcome = await rt.execute(dedent(code))
            assert outcome.error is None, outcome.error
    return desk


def change(store: Path, wanted: Callable[[Row], bool], **fields: Any) -> None:
    """Write another thing in the place of the first such row."""
    journal = SqliteStore(store)
    try:
        row = next(row for row in journal.rows("s1") if wanted(row))
        journal.write(journal.claim("s1"), replace(row, **fields))
    finally:
        journal.close()


def command(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A process that can import neither these classes nor anything else of the tests."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", *args], cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def replayed(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command("cellwright", "replay", *args, "--store", "agents.db", cwd=cwd)


def rows_in(store: Path) -> str:
    """All that is in the database, whichever of its files holds it."""
    connection = sqlite3.connect(store)
    try:
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()
    finally:
        connection.close()


def texts_in(place: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(place.rglob("*.txt"))]


# the command


async def test_a_recorded_session_is_the_same_without_its_objects(tmp_path: Path) -> None:
    desk = await record(tmp_path / "agents.db", *TWO_CELLS)
    done = replayed("s1", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "same: 2 cells, 3 calls\n", "")
    assert desk.counted == ["a", 1, "b"]


@pytest.mark.slow
async def test_json_tells_the_same_for_programs(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", *TWO_CELLS)
    done = replayed("s1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "session": "s1",
        "cells": 2,
        "calls": 3,
        "difference": None,
        "changed": [],
        "died": "",
        "same": True,
    }


@pytest.mark.slow
async def test_a_changed_answer_is_found_where_the_code_does_something_else_with_it(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", *TWO_CELLS)
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(7, []))
    done = replayed("s1", cwd=tmp_path)
    words = "different: cell 2, line 2: recorded desk.count(1), now desk.count(7)\n"
    assert (done.returncode, done.stdout) == (1, words)
    told = replayed("s1", "--json", cwd=tmp_path)
    assert told.returncode == 1
    found = json.loads(told.stdout)
    assert (found["same"], found["cells"]) == (False, 1)
    assert found["difference"] == {
        "cell": 2,
        "line": 2,
        "recorded": "desk.count(1)",
        "asked": "desk.count(7)",
    }


async def test_a_changed_answer_that_only_the_value_shows_is_found(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", "desk.count('a')")
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(7, []))
    done = replayed("s1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "different: cell 1: recorded 1, now 7\n")


@pytest.mark.slow
async def test_a_changed_print_is_found(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", "print('first')\nprint(desk.count('a'))\nNone")
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(7, []))
    done = replayed("s1", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "different: cell 1: recorded print '1', now '7'\n"


async def test_a_clock_read_in_c_is_a_difference_with_its_cell_and_line(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", "desk.count('a')", CLOCK_IN_C)
    done = replayed("s1", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("different: cell 2, line 5: recorded desk.count(")


async def test_a_call_that_is_not_made_any_more_is_a_difference(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", "go = desk.count('a')\nNone", "if go == 1:\n    desk.count('b')\nNone")
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(0, []))
    done = replayed("s1", cwd=tmp_path)
    words = "different: cell 2, line 2: recorded desk.count('b'), now the end of the cell\n"
    assert (done.returncode, done.stdout) == (1, words)


@pytest.mark.slow
async def test_a_call_that_was_never_made_is_a_difference(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", "go = desk.count('a')\nNone", "if go == 7:\n    desk.count('b')\nNone")
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(7, []))
    done = replayed("s1", cwd=tmp_path)
    words = "different: cell 2, line 2: recorded no call there, now desk.count('b')\n"
    assert (done.returncode, done.stdout) == (1, words)


@pytest.mark.slow
async def test_nothing_is_written_to_the_store(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    await record(store, *TWO_CELLS, "open('f.txt', 'w').write('kept')")
    files = texts_in(tmp_path)
    assert files == [b"kept"]
    before, content = rows_in(store), store.read_bytes()
    assert replayed("s1", cwd=tmp_path).returncode == 0
    assert (rows_in(store), store.read_bytes()) == (before, content)
    change(store, lambda row: row.cell == 1, value=Packed(7, []))
    before = rows_in(store)
    assert replayed("s1", cwd=tmp_path).returncode == 1
    assert rows_in(store) == before
    assert texts_in(tmp_path) == files


# what may be in a session

KINDS = {
    "callbacks": (
        "seen = []\ndef double(n):\n    seen.append(desk.count(n))\n    return n * 2\ndesk.apply(double), seen",
    ),
    "handles": (
        "lamp = desk.lamp('hall')\nNone",
        "lamp.name, lamp.paint(Colour.RED), list(desk.pages())",
        "import reprlib\nlamp",
    ),
    "records": ("p = desk.mirror(Point(1, 2))", "(p.x, p.y, p == Point(2, 1))", "[p, {'p': p}]"),
    "enums": ("c = desk.colour()", "c is Colour.BLUE, c.value, [one.name for one in Colour]", "c"),
    "exceptions": (
        """
        try:
            desk.refuse("lamp")
        except LookupError as error:
            said = type(error).__name__, str(error), error.code
        """,
        "said",
    ),
    "files": (
        "open('log.txt', 'a').write('one ')",
        "open('log.txt', 'a').write('two'); desk.count(open('log.txt').read())",
        "import os; os.makedirs('a/b'); os.rename('log.txt', 'a/b/log'); sorted(os.listdir('a/b'))",
        "open('a/b/log').read()",
    ),
    "sleeps": (
        "import asyncio, time\ntime.sleep(0.01)\nawait asyncio.sleep(0.01)\ndesk.count(time.time())",
        """
        got = []
        for one in asyncio.as_completed([desk.slow("late", 20), desk.slow("early", 1), asyncio.sleep(0.005, "slept")]):
            got.append(await one)
        desk.count(got)
        """,
        """
        try:
            async with asyncio.timeout(0.01):
                await desk.slow("never", 5000)
        except TimeoutError:
            late = 1
        """,
        "import datetime\ndatetime.datetime.now(), time.monotonic()",
    ),
    "randomness": (
        "import os, random, secrets, uuid\ndrawn = [random.random(), secrets.token_hex(8), os.urandom(4).hex()]",
        "desk.count(uuid.uuid4().hex), random.sample(range(99), 5)",
        "print(drawn, uuid.uuid1()); {one for one in 'set of strings'.split()}",
    ),
    "background tasks": (
        "import asyncio\nasync def later(): return await desk.slow('x', 5)\ntask = asyncio.create_task(later())\nNone",
        "desk.count('meanwhile')",
        "await task",
    ),
    "large values": ("b = bytes(range(256)) * 4000\ndesk.count(b)\nb[::-1]",),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_session_is_the_same_with(kind: str, tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", *KINDS[kind])
    found = await cellwright.replay("s1", store=tmp_path / "agents.db")
    assert found.same, found
    assert found.cells == len(KINDS[kind])


@pytest.mark.slow
async def test_a_session_with_all_of_it_is_the_same_in_a_process_that_knows_none_of_the_classes(tmp_path: Path) -> None:
    cells = [code for codes in KINDS.values() for code in codes]
    await record(tmp_path / "agents.db", *cells)
    done = replayed("s1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"same: {len(cells)} cells, ")


async def test_cells_that_raised_are_the_same_and_cells_that_were_ended_are_left_out(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    limits = cellwright.Limits(wall_s=20.0, host_calls=3)
    async with Runtime({"desk": Desk()}, store=store, session="s1", limits=limits) as rt:
        assert not (await rt.execute("x = desk.count('a')\n1 / 0")).ok
        assert not (await rt.execute("desk.refuse('x')")).ok
        assert not (await rt.execute("import os\nos._exit(3)")).ok
        assert (await rt.execute("x")).unwrap() == 1
    found = await cellwright.replay("s1", store=store)
    assert found.same, found
    assert found.cells == 3


async def test_a_fork_is_replayed_with_the_cells_that_it_began_with(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    async with Runtime({"desk": Desk()}, store=store, session="s1") as rt:
        await rt.execute("x = desk.count('a')")
        await rt.execute("x = desk.count('b')")
        branch = await rt.fork(at=1, session="branch")
        await branch.execute("desk.count(x)")
        await branch.close()
    done = replayed("branch", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "same: 2 cells, 2 calls\n")


async def test_a_resumed_session_is_the_same_as_one(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    await record(store, "import random\nx = random.random()", "desk.count(x)")
    async with Runtime.resume("s1", scope={"desk": Desk()}, store=store) as rt:
        (await rt.execute("desk.count(random.random())")).unwrap()
    assert str(await cellwright.replay("s1", store=store)) == "same: 3 cells, 2 calls"


# from programs


async def test_programs_are_told_of_each_cell_and_of_the_first_difference(tmp_path: Path) -> None:
    store, heard = tmp_path / "agents.db", list[CellRow]()
    await record(store, *TWO_CELLS)
    found = await cellwright.replay("s1", store=store, on_cell=heard.append)
    assert (found.same, found.cells, found.calls, found.difference, found.changed) == (True, 2, 3, None, ())
    assert [cell.code for cell in heard] == list(TWO_CELLS)
    change(store, lambda row: row.cell == 1, value=Packed(7, []))
    found = await cellwright.replay("s1", store=f"sqlite:///{store}")
    assert (found.same, found.cells) == (False, 1)
    assert found.difference == cellwright.Divergence(cell=2, line=2, recorded="desk.count(1)", asked="desk.count(7)")


async def test_a_program_that_asks_for_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"agents\.db"):
        await cellwright.replay("s1", store=tmp_path / "agents.db")
    assert not (tmp_path / "agents.db").exists()
    await record(tmp_path / "agents.db", "1")
    with pytest.raises(NoSession, match="'other'"):
        await cellwright.replay("other", store=tmp_path / "agents.db")


# as a test

A_TEST = """\
def test_the_count_is_the_same(replay):
    found = replay("agents.db", "s1")
    assert (found.cells, found.calls) == (2, 3)
"""


@pytest.mark.slow
async def test_a_session_as_a_test_fails_with_the_difference(tmp_path: Path) -> None:
    await record(tmp_path / "agents.db", *TWO_CELLS)
    change(tmp_path / "agents.db", lambda row: row.cell == 1, value=Packed(7, []))
    (tmp_path / "test_count.py").write_text(A_TEST)
    done = command("pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "cell 2, line 2: recorded desk.count(1), now desk.count(7)" in done.stdout
    assert "Traceback" not in done.stdout
