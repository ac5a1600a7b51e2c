"""Each way in which a cell that is run again can differ is told alike offline and on resume; and what only looks so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.journal.elsewhere import killed_after
from tests.journal.lasting import PATIENT, SESSION, failure, run, value

from cellwright import Limits, Runtime, replay
from cellwright.journal import Restored
from cellwright.store import DroppedCheckpoint, open_store

pytestmark = pytest.mark.usefixtures("warm")

ATTEMPTS = 8  # that chance does the same twice is unlikely, and happens
CLOCK = "import ctypes\nnow = (ctypes.c_long * 2)()\nctypes.CDLL(None).clock_gettime(1, now)\n"
# Limits are not in the journal. A cell that looks at them goes another way where they are others, every time.
FEW = replace(PATIENT, open_files=64)
MANY = replace(PATIENT, open_files=128)
LOOK = "import resource\nmany = resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 100\n"


def deaf() -> dict[str, Any]:
    """The scope of a process whose calls nobody counts."""

    def tell(*what: Any) -> int:
        return len(what)

    return {"tell": tell}


class Sessions:
    """A session of three cells: one before, the one that is tried, and one after it."""

    def __init__(self, place: Path) -> None:
        self.heard: list[Any] = []
        self.store = place / "s.db"
        self._places = 0

    def anew(self) -> None:
        self._places += 1
        self.heard.clear()
        self.store = self.store.with_name(f"s{self._places}.db")

    def tell(self, *what: Any) -> int:
        self.heard.append(what)
        return len(self.heard)

    async def record(self, cell: str, limits: Limits = PATIENT) -> None:
        async with Runtime({"tell": self.tell}, session=SESSION, store=self.store, limits=limits) as rt:
            await value(rt, "before = 1")
            await run(rt, cell)
            await value(rt, "after = 2")
        self.drop_checkpoints()

    def record_elsewhere(self, cell: str) -> None:
        killed_after(self.store, f"{__name__}:deaf", "before = 1", cell, "after = 2")
        self.drop_checkpoints()

    def drop_checkpoints(self) -> None:
        """Else the session goes on from the last, and nothing is run again."""
        with closing(open_store(str(self.store))) as journal:
            dropped = [DroppedCheckpoint(cell=one.cell) for one in journal.checkpoints(SESSION)]
            journal.write(journal.claim(SESSION), *dropped)

    def life(self, said: list[str], limits: Limits = PATIENT) -> Runtime:
        return Runtime.resume(SESSION, scope={"tell": self.tell}, store=self.store, limits=limits, progress=said.append)

    async def is_same(self) -> bool:
        """Neither a replay nor a resume finds a difference."""
        offline, said = await replay(SESSION, store=self.store), list[str]()
        async with self.life(said) as rt:
            assert rt.restored is not None
            resumed = rt.restored.diverged is None and not said and await value(rt, "(before, after)") == (1, 2)
        return offline.same and resumed

    async def differs(self, recorded: str, asked: str, line: int, limits: Limits = PATIENT) -> Restored | None:
        """What is told of a resume that went another way in cell 2, as a replay does; None where all was the same.

        `recorded` and `asked` are patterns of what is told; the session goes on from before that cell.
        """
        happened, said = len(self.heard), list[str]()
        offline = await replay(SESSION, store=self.store, limits=limits)
        assert len(self.heard) == happened
        async with self.life(said, limits) as rt:
            restored = rt.restored
            assert restored is not None
            if restored.diverged is None or offline.difference is None:
                return None
            for found in (offline.difference, restored.diverged):
                assert (found.cell, found.line) == (2, line), found
                assert re.fullmatch(recorded, found.recorded), found
                assert re.fullmatch(asked, found.asked), found
                assert found.recorded != found.asked
                where = f"cell 2, line {line}" if line else "cell 2"
                assert str(found) == f"{where}: recorded {found.recorded}, now {found.asked}"
            assert str(offline) == f"different: {offline.difference}"
            names = ", ".join(restored.lost)
            assert said == [
                f"cellwright: session {SESSION}: a cell that was run again went another way "
                f"({restored.diverged}). Names lost: {names}"
            ]
            assert len(self.heard) == happened
            await self._goes_on(rt)
        assert len(self.heard) == happened + 1
        await self._goes_on_later(limits)
        return restored

    async def _goes_on(self, rt: Runtime) -> None:
        assert await value(rt, "before") == 1
        assert "NameError" in await failure(rt, "after")
        assert await value(rt, "told = tell('on')\nlater = before + 1\nlater") == 2

    async def _goes_on_later(self, limits: Limits) -> None:
        self.drop_checkpoints()
        said: list[str] = []
        async with self.life(said, limits) as rt:
            assert rt.restored is not None
            assert (rt.restored.diverged, said) == (None, [])
            assert await value(rt, "(before, later)") == (1, 2)


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


# what is not promised


async def test_threads_that_race_for_what_they_tell_the_host(sessions: Sessions) -> None:
    cell = """
    import threading
    numbers = list(range(100))
    def work(name):
        while numbers:
            number = numbers.pop()
            sum(range(20_000))
            tell(name, number)
    threads = [threading.Thread(target=work, args=(name,)) for name in "AB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    """
    for _ in range(ATTEMPTS):
        sessions.anew()
        await sessions.record(cell)
        told = {f"tell{what}" for what in sessions.heard}
        a_call = r"tell\('[AB]', \d+\)"
        # the last ones are a call more or a call less of one of the two
        restored = await sessions.differs(f"{a_call}|no call there", f"{a_call}|the end of the cell", 8)
        if restored is not None:
            assert restored.diverged is not None
            assert restored.diverged.recorded in told | {"no call there"}
            assert restored.lost == ("threading", "numbers", "work", "threads", "thread", "after")
            return
    pytest.fail("the threads did the same every time")


async def test_a_clock_read_in_c_that_is_told_to_the_host(sessions: Sessions) -> None:
    await sessions.record(CLOCK + "told = tell(list(now))")
    a_call = r"tell\(\[\d+, \d+\]\)"
    restored = await sessions.differs(a_call, a_call, 4)
    assert restored is not None
    assert restored.diverged is not None
    assert restored.diverged.recorded == f"tell({sessions.heard[0][0]})"
    assert restored.lost == ("ctypes", "now", "told", "after")


async def test_a_clock_read_in_c_that_is_what_a_cell_comes_to(sessions: Sessions) -> None:
    await sessions.record(CLOCK + "now[0] * 10**9 + now[1]")
    restored = await sessions.differs(r"\d+", r"\d+", 0)
    assert restored is not None
    assert restored.diverged is not None
    assert int(restored.diverged.recorded) < int(restored.diverged.asked)


async def test_an_address_that_is_told_to_the_host(sessions: Sessions) -> None:
    for _ in range(ATTEMPTS):
        sessions.anew()
        sessions.record_elsewhere("class Plain: pass\nkept = Plain()\ntell(id(kept))")
        restored = await sessions.differs(r"tell\(\d+\)", r"tell\(\d+\)", 3)
        if restored is not None:
            assert restored.lost == ("Plain", "kept", "after")
            return
    pytest.fail("the addresses were the same every time")


async def test_the_order_of_a_set_of_plain_objects(sessions: Sessions) -> None:
    # so many that the place of one in the set depends on the part of its address that processes do not share
    cell = """
    class Plain:
        def __init__(self, number):
            self.number = number
    plain = {Plain(number) for number in range(38_000)}
    for one in list(plain)[:20]:
        tell(one.number)
    """
    for _ in range(ATTEMPTS):
        sessions.anew()
        sessions.record_elsewhere(cell)
        if await sessions.differs(r"tell\(\d+\)", r"tell\(\d+\)", 7) is not None:
            return
    pytest.fail("the order was the same every time")


async def test_a_finalizer_that_the_garbage_collector_runs_at_another_point(sessions: Sessions) -> None:
    cell = LOOK + (
        "import gc\n"
        "class Last:\n"
        "    def __del__(self): tell('bye')\n"
        "gc.set_threshold(1000)\n"
        "gc.collect()\n"
        "last = Last(); last.own = last\n"
        "del last\n"
        "kept = [[] for _ in range(500 if many else 0)]\n"
        "for number in range(40):\n"
        "    told = tell(number)\n"
        "    kept += [[] for _ in range(50)]\n"
    )
    await sessions.record(cell, FEW)
    assert ("bye",) in sessions.heard
    assert await sessions.differs(r"tell\(\d+\)", r"tell\('bye'\)", 5, MANY) is not None


# each way in which a cell can go another way


async def test_a_call_that_was_not_there(sessions: Sessions) -> None:
    await sessions.record(LOOK + "if many:\n    tell('many')", FEW)
    assert await sessions.differs("no call there", re.escape("tell('many')"), 4, MANY) is not None
    assert sessions.heard == [("on",)]


async def test_a_call_that_is_not_made_any_more(sessions: Sessions) -> None:
    await sessions.record(LOOK + "if not many:\n    tell('few')", FEW)
    assert await sessions.differs(re.escape("tell('few')"), "the end of the cell", 4, MANY) is not None


async def test_an_error_instead_of_a_value(sessions: Sessions) -> None:
    await sessions.record(LOOK + "if many:\n    1 / 0\n'well'", FEW)
    assert await sessions.differs('"well"', "ZeroDivisionError: .*", 4, MANY) is not None


# what is promised, and looks like it


async def test_a_finalizer_that_runs_when_the_last_reference_goes_comes_at_the_same_point(sessions: Sessions) -> None:
    cell = """
    class Last:
        def __del__(self):
            tell("bye")
    last = Last()
    tell("before")
    del last
    tell("behind")
    """
    await sessions.record(cell)
    assert sessions.heard == [("before",), ("bye",), ("behind",)]
    assert await sessions.is_same()


async def test_threads_that_do_not_race_do_the_same(sessions: Sessions) -> None:
    cell = """
    import threading
    said = {}
    def work(name):
        said[name] = [tell(name, number) for number in range(20)]
    threads = [threading.Thread(target=work, args=(name,)) for name in "ABC"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sorted(said.items())
    """
    await sessions.record(cell)
    assert len(sessions.heard) == 60
    assert await sessions.is_same()


async def test_clocks_read_in_python_and_chance_are_the_same(sessions: Sessions) -> None:
    reads: Sequence[str] = (
        "time.time_ns()",
        "time.monotonic_ns()",
        "str(datetime.now())",
        "random.random()",
        "str(uuid.uuid4())",
        "list({'a', 'b', 'c', 'd'})",
    )
    await sessions.record(f"import time, random, uuid\nfrom datetime import datetime\ntell([{', '.join(reads)}])")
    assert len(sessions.heard) == 1
    assert await sessions.is_same()


async def test_a_workspace_that_was_changed_from_outside_is_no_difference(sessions: Sessions) -> None:
    await sessions.record("open('a', 'w').write('one')\ntell(open('a').read())\nimport os\ntell(os.listdir())")
    async with sessions.life([]) as rt:
        await value(rt, "tell(open('a').read())")
    sessions.drop_checkpoints()
    (kept,) = sessions.store.parent.rglob("a")
    kept.write_text("two")
    kept.with_name("b").write_text("new")
    assert await sessions.is_same()
    kept.unlink()
    assert await sessions.is_same()
    assert sessions.heard == [("one",), (["a"],), ("one",)]
