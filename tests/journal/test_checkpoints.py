# ruff: noqa: E501  a cell is a line
"""Checkpoints of journaled sessions: which are used, which are not, and that a session is the same without them."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import ENDS_LOOPS
from tests.journal.crash.dying import Mortal
from tests.journal.shops import PATIENT, value

from cellwright import Runtime, operation
from cellwright.errors import Fenced, JournalFailed, PlatformError
from cellwright.journal import Restored, checkpoint_schedule, read_key
from cellwright.runtime import replay
from cellwright.sandboxes import Environment, ProcessSandbox
from cellwright.sandboxes.packages import host_python
from cellwright.settings import Settings
from cellwright.store import Checkpoint, DroppedCheckpoint, MemoryStore, SqliteStore, Store

pytestmark = pytest.mark.usefixtures("warm")


class Desk:
    """Counts, hands out objects, keeps a function to call it between cells."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: Any = None

    def next(self) -> int:
        self.count += 1
        return self.count

    @operation(reads=True)
    def drawer(self, name: str) -> Drawer:
        return Drawer(name)

    def keep(self, function: Any) -> None:
        self.kept = function

    async def poke(self, number: int) -> Any:
        return await self.kept.call_async(number)


class Drawer:
    def __init__(self, name: str) -> None:
        self._name = name

    @operation(reads=True)
    def label(self) -> str:
        return self._name


@pytest.fixture(autouse=True)
def every_eight_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made, and when it closes: whatever it takes on this machine."""
    for name in ("CHEAP_S", "WORTH", "FIRST_S"):
        monkeypatch.setattr(checkpoint_schedule, name, math.inf)


@pytest.fixture
def journal(tmp_path: Path) -> Store:
    return SqliteStore(tmp_path / "j.db")


@pytest.fixture
def places(tmp_path: Path) -> Callable[[], Path]:
    """Fresh directories."""

    def make() -> Path:
        place = tmp_path / f"w{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        return place

    return make


def begin(journal: Store, desk: Desk | None = None, **options: Any) -> Runtime:
    scope = options.pop("scope", {"desk": desk or Desk()})
    return Runtime(scope, store=journal, session="s1", limits=PATIENT, **options)


def resume(journal: Store, desk: Desk | None = None, **options: Any) -> Runtime:
    scope = options.pop("scope", {"desk": desk or Desk()})
    return Runtime.resume("s1", scope=scope, store=journal, take_over=True, **{"limits": PATIENT} | options)


def how(rt: Runtime) -> Restored:
    assert rt.restored is not None
    return rt.restored


def drop_all(journal: Store) -> None:
    journal.write(journal.claim("s1"), *(DroppedCheckpoint(cell=one.cell) for one in journal.checkpoints("s1")))


async def cells(rt: Runtime, *codes: str) -> list[Any]:
    return [await value(rt, code) for code in codes]


MIXED = (
    "import random, time, uuid, os, asyncio",
    "class Loud:\n    n = 1\n    def __getstate__(self):\n        print('!'); random.random(); time.time(); os.urandom(3)\n        return {'m': 1}\n    def __setstate__(self, state): random.random()",
    "loud = Loud(); r = [random.random(), desk.next()]",
    "def step(n):\n    r.append((n, random.random(), uuid.uuid4().hex, time.time(), desk.next()))\n    return r[-1]",
    *(f"step({n})" for n in range(5, 14)),
    "open('f', 'w').write(str(len(r))); await asyncio.sleep(0.001); d = desk.drawer('x')",
    *(f"step({n}), d.label()" for n in range(15, 26)),
)  # fmt: skip


async def test_a_session_goes_on_the_same_with_its_checkpoints_and_without_them(
    journal: Store, places: Callable[[], Path]
) -> None:
    place = places()
    async with begin(journal, workspace=place) as rt:
        await cells(rt, *MIXED)
    async with resume(journal, workspace=place) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (len(MIXED), ()), journal.checkpoints("s1")
        told = await cells(rt, "step(0)", "loud.n, len(r), open('f').read(), d.label()")
    assert (await replay("s1", store=journal)).same  # all from the first cell: none of it was changed by checkpoints
    drop_all(journal)
    async with resume(journal, workspace=place) as rt:
        assert (how(rt).checkpoint, len(how(rt).cells)) == (0, len(MIXED) + 2)
        assert await value(rt, "r[-1], (loud.n, len(r), open('f').read(), d.label())") == tuple(told)


@pytest.mark.slow
async def test_a_session_of_five_hundred_cells_is_resumed_without_running_ten(journal: Store) -> None:
    desk = Desk()
    abandoned = begin(journal, desk)
    await abandoned.__aenter__()
    try:
        for number in range(500):
            await value(abandoned, f"v{number} = desk.next()")
        async with resume(journal, desk) as rt:  # as after the death of its process: nothing was closed
            assert how(rt).checkpoint > 490
            assert len(how(rt).cells) < 10
            assert await value(rt, "v0, v250, v499") == (1, 251, 500)
        async with resume(journal, desk) as rt:
            assert (how(rt).checkpoint, how(rt).cells) == (501, ())
        assert desk.count == 500
    finally:
        with suppress(Fenced):
            await abandoned.close()


async def test_only_a_few_are_kept(journal: Store) -> None:
    async with begin(journal) as rt:
        for number in range(40):
            await value(rt, f"v{number} = {number}")
        await value(rt, "g = (n for n in range(3))")
        for number in range(40):
            await value(rt, f"v{number} = {number}")
    kept = journal.checkpoints("s1")
    assert [bool(one.missing) for one in kept] == [False, False, True]
    for one in kept:
        assert journal.blob(one.digest)
    drop_all(journal)
    assert list(journal.checkpoints("s1")) == []
    for one in kept:
        with pytest.raises(KeyError):
            journal.blob(one.digest)


async def test_what_cannot_be_pickled_is_brought_back_from_the_last_whole_one(journal: Store) -> None:
    async with begin(journal) as rt:
        for number in range(9):
            await value(rt, f"v{number} = desk.next()")
        await value(rt, "g = (n for n in range(3)); next(g)")
        await value(rt, "w = next(g)")
    assert journal.checkpoints("s1")[-1].missing[0].startswith("g: ")
    async with resume(journal) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (8, (9, 10, 11))
        assert await value(rt, "v0, v8, w, next(g)") == (1, 9, 1, 2)


async def test_a_cell_that_a_limit_ends_costs_the_cells_since_the_last_one(journal: Store) -> None:
    async with Runtime({"desk": Desk()}, store=journal, session="s1", limits=ENDS_LOOPS) as rt:
        for number in range(9):
            await value(rt, f"v{number} = desk.next()")
        assert (await rt.execute("while True: pass")).error is not None
        assert await value(rt, "v0, v8") == (1, 9)
        assert (how(rt).checkpoint, how(rt).cells) == (8, (9,))


async def test_a_cell_that_was_cut_off_is_carried_on_after_a_checkpoint() -> None:
    journal, desk = Mortal(MemoryStore()), Desk()
    journal.live_until(None)
    died = False
    try:
        async with begin(journal, desk) as rt:
            for number in range(8):
                await value(rt, f"v{number} = desk.next()")
            await value(rt, "w = 1")  # waits for the checkpoint
            journal.live_until(5)
            await rt.execute("x = desk.next() + v7\ny = desk.next()")
    except JournalFailed:
        died = True
    assert died
    journal.live_until(None)
    async with resume(journal, desk) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (8, (9,))
        await rt.outcome()
        assert await value(rt, "v0, x - v7 in (9, 10), y") in [(1, True, 10), (1, True, 11)]


async def test_what_host_code_called_between_two_cells_is_called_again_after_a_checkpoint(journal: Store) -> None:
    desk = Desk()
    async with begin(journal, desk) as rt:
        await cells(rt, "seen = []\ndef hear(n):\n    seen.append((n, desk.next()))\n    return n", "desk.keep(hear)")
        for number in range(7):
            await value(rt, f"v{number} = 1")
        assert how_many(journal) == 1
        assert await desk.poke(5) == 5
        assert await desk.poke(6) == 6
    assert how_many(journal) == 2  # the second when it closed
    journal.write(journal.claim("s1"), DroppedCheckpoint(cell=9))
    async with resume(journal, desk) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (8, (9,))
        assert await value(rt, "seen") == [(5, 1), (6, 2)]
    assert desk.count == 2


def how_many(journal: Store) -> int:
    return len(journal.checkpoints("s1"))


async def test_names_that_are_bound_later_are_there_with_a_checkpoint_and_without(journal: Store) -> None:
    async with begin(journal, scope={"desk": Desk()}) as rt:
        await value(rt, "a = 1")
    both = {"desk": Desk(), "more": Desk()}
    async with resume(journal, scope=both) as rt:
        assert how(rt).checkpoint == 1
        assert await cells(rt, "b = more.next()", "m = more\nNone") == [1, None]
    for scope in (both, both | {"third": Desk()}):
        async with resume(journal, scope=scope) as rt:
            assert how(rt).cells == ()
            assert await value(rt, "m is more, more.next() > 1, a, b") == (True, True, 1, 1)
    drop_all(journal)
    async with resume(journal, scope=both | {"third": Desk()}) as rt:
        assert how(rt).checkpoint == 0
        assert await value(rt, "m is more, third.next(), a") == (True, 1, 1)


async def test_a_fork_begins_with_a_checkpoint_of_its_parent(journal: Store) -> None:
    async with begin(journal) as rt:
        for number in range(20):
            await value(rt, f"n = {number}; v{number} = desk.next()")
        branch = await rt.fork(at=17, session="s2")
        try:
            assert (how(branch).checkpoint, how(branch).cells) == (16, (17,))
            assert await value(branch, "n, v0, 'v18' in globals()") == (16, 1, False)
            await value(branch, "n = 'branch'")
        finally:
            await branch.close()
        assert await value(rt, "n") == 19
    async with Runtime.resume("s2", scope={"desk": Desk()}, store=journal, limits=PATIENT) as again:
        assert (how(again).checkpoint, how(again).cells) == (19, ())
        assert await value(again, "n, v5") == ("branch", 6)


async def test_a_checkpoint_of_cells_that_were_rolled_back_is_not_used(journal: Store) -> None:
    async with begin(journal, scope={}) as rt:
        for number in range(10):
            await value(rt, f"n = {number}; v{number} = 1")
        await rt.rollback(5)
        assert how(rt).checkpoint == 0
        assert await value(rt, "n, 'v7' in globals()") == (4, False)
    async with resume(journal, scope={}) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (11, ())
        assert await value(rt, "n, 'v7' in globals()") == (4, False)


async def test_an_open_transaction_is_no_part_of_a_checkpoint(journal: Store) -> None:
    async with begin(journal, scope={}) as rt:
        await cells(rt, "t = transaction(); t.__enter__()", "n = 1")
    assert "a transaction that is open" in journal.checkpoints("s1")[-1].missing
    async with resume(journal, scope={}) as rt:
        assert how(rt).cells == (1, 2)
        assert await value(rt, "t.__exit__(None, None, None); n") == 1


async def test_one_that_the_close_did_not_wait_for_is_over_when_the_session_is(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go, warnings = threading.Event(), threading.Event(), list[dict[str, Any]]()

    class Slow(MemoryStore):
        def checkpoints(self, session: str) -> Sequence[Checkpoint]:
            if threading.current_thread() is not threading.main_thread():
                began.set()
                assert go.wait(20)
                raise RuntimeError("of a disk that is gone")
            return super().checkpoints(session)

    monkeypatch.setattr(checkpoint_schedule, "CELLS", 1)
    monkeypatch.setattr(checkpoint_schedule, "LONGEST_S", 0.1)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: warnings.append(context))
    try:
        async with begin(Slow()) as rt:
            await value(rt, "n = 1")
            assert await asyncio.to_thread(began.wait, 20)
            loop.call_later(0.3, go.set)
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(None)
    assert warnings == []
    assert not [task for task in asyncio.all_tasks() if "_save" in repr(task)]


# what is not used


async def spoiled(journal: Store, spoil: Callable[[Checkpoint], Checkpoint], **options: Any) -> Restored:
    """How a session comes back whose checkpoint was changed."""
    async with begin(journal) as rt:
        await cells(rt, "a = desk.next()", "b = a + 1")
    (one,) = journal.checkpoints("s1")
    changed = spoil(one)
    if changed is not one:
        journal.write(journal.claim("s1"), changed)
    async with resume(journal, **options) as rt:
        assert await value(rt, "a, b") == (1, 2)
        return how(rt)


def not_used(found: Restored, why: str) -> None:
    assert (found.checkpoint, found.cells) == (0, (1, 2))
    assert [note for note in found.notes if why in note], found.notes


async def test_one_with_another_signature_is_not_used(journal: Store) -> None:
    not_used(await spoiled(journal, lambda one: replace(one, signature="0" * 64)), "it is not signed")


async def test_one_whose_content_was_exchanged_is_not_used(journal: Store) -> None:
    def exchange(one: Checkpoint) -> Checkpoint:
        content = journal.blob(one.digest).replace(b"desk", b"dusk")
        return replace(one, digest=journal.keep("s1", content))

    not_used(await spoiled(journal, exchange), "it is not signed")


async def test_one_that_says_it_is_whole_and_is_not_is_not_used(journal: Store) -> None:
    found = await spoiled(journal, lambda one: replace(one, missing=("x: y",)))
    assert (found.checkpoint, found.cells) == (0, (1, 2))


async def test_one_of_another_session_is_not_used(journal: Store) -> None:
    async with Runtime({"desk": Desk()}, store=journal, session="other", limits=PATIENT) as rt:
        await cells(rt, "a = 'theirs'", "b = a")
    (theirs,) = journal.checkpoints("other")
    not_used(await spoiled(journal, lambda _: theirs), "it is not signed")


async def test_one_whose_content_is_gone_is_not_used(tmp_path: Path) -> None:
    class Losing(MemoryStore):
        lost = ""

        def blob(self, digest: str) -> bytes:
            if digest == self.lost:
                raise KeyError(digest)
            return super().blob(digest)

    journal = Losing()

    def lose(one: Checkpoint) -> Checkpoint:
        journal.lost = one.digest
        return one

    not_used(await spoiled(journal, lose), "its content is gone")


async def test_one_whose_content_is_damaged_is_not_used(tmp_path: Path) -> None:
    journal = SqliteStore(tmp_path / "j.db")

    def damage(one: Checkpoint) -> Checkpoint:
        connection = vars(journal)["_connection"]
        connection.execute("update blobs set content = x'00' where digest = ?", (one.digest,))
        return one

    not_used(await spoiled(journal, damage), "damaged")


async def test_one_made_with_another_interpreter_is_not_used(journal: Store) -> None:
    class Older(ProcessSandbox):
        async def pins(self) -> dict[str, str]:
            return await super().pins() | {"python": "3.11.0"}

    sandbox = Older(Environment(python=host_python()))
    try:
        not_used(await spoiled(journal, lambda one: one, sandbox=sandbox), "it is not signed")
    finally:
        await sandbox.close()


async def test_one_signed_with_another_key_is_not_used(
    journal: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move(one: Checkpoint) -> Checkpoint:
        monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "state"))
        return one

    not_used(await spoiled(journal, move), "it is not signed")


BOMBS = {
    "ends the guest": ("import os", "os._exit", "(3,)", "the guest ended"),
    "raises": ("", "int", "('x',)", "ValueError"),
    "asks the host": ("", "desk.next", "()", ""),
    "never ends": ("", "exec", "('while True: pass',)", "the guest ended"),
}


@pytest.mark.parametrize("what", BOMBS)
async def test_one_that_a_hostile_guest_made_harms_no_one_and_is_not_used(what: str) -> None:
    setup, function, arguments, why = BOMBS[what]
    journal, desk = MemoryStore(), Desk()
    hostile = f"""
import sys, pickle
{setup}
class Bomb:
    def __reduce__(self): return {function}, {arguments}
content = pickle.dumps(Bomb()) if {function!r} != 'desk.next' else b'not a pickle'
sys.modules['cellwright_guest.checkpoints'].GuestCheckpoints.save = lambda self: (content, [])
n = desk.next()
"""
    async with Runtime({"desk": desk}, store=journal, session="s1", limits=ENDS_LOOPS) as rt:
        assert await value(rt, hostile) == 1
    async with resume(journal, desk, limits=ENDS_LOOPS) as rt:
        assert (how(rt).checkpoint, how(rt).cells) == (0, (1,))
        assert [note for note in how(rt).notes if why in note]
        assert await value(rt, "n") == 1
    assert desk.count == 1


LIES = (
    'self._door.send(["p", 7], [])',
    'self._door.send(["p", ["x" * 5000]], [])',
    'self._door.send(["p", [7]], [])',
    'self._door.send(["p", ["x"] * 5000], [])',
    'self._door.send(["p", []], [b"a", b"b"])',
    'self._door.send(["l", ""], [])',
    'self._door.send(["p", []], [b"a"]); self._door.send(["p", []], [b"b"])',
    "__import__('os')._exit(1)",
)


@pytest.mark.parametrize("lie", LIES)
async def test_a_guest_that_answers_what_no_guest_answers_is_ended_and_brought_back(lie: str) -> None:
    journal = MemoryStore()
    async with begin(journal) as rt:
        await value(
            rt,
            f"import sys\ndef lie(self): {lie}\nsys.modules['cellwright_guest.interpreter'].GuestInterpreter._save = lie",
        )
        for number in range(12):
            await rt.execute(f"v{number} = desk.next()")  # the one that it is ended in fails
        assert await value(rt, "v0, v6, v11 > 10") == (1, 7, True)


# what cannot be run again


async def test_a_cell_that_goes_another_way_is_not_run_again_where_a_later_checkpoint_has_its_names(
    journal: Store, places: Callable[[], Path]
) -> None:
    desk = Desk()
    async with begin(journal, desk, workspace=places()) as rt:
        await cells(
            rt, "a = 1", "import os\nb = desk.next() if id(object()) else 0\nt = (n for n in range(3))", "c = b"
        )
    assert journal.checkpoints("s1")[-1].missing
    _make_diverge(journal, 2)
    async with resume(journal, desk) as rt:
        assert how(rt).diverged is not None
        assert (how(rt).checkpoint, how(rt).cells, how(rt).lost) == (3, (), ("t",))
        assert await value(rt, "a, b, c, 't' in globals()") == (1, 1, 1, False)
    async with resume(journal, desk) as rt:
        assert (how(rt).diverged, how(rt).checkpoint) == (None, 4)


async def test_without_a_later_checkpoint_the_session_goes_on_before_the_cell(journal: Store) -> None:
    desk = Desk()
    async with begin(journal, desk) as rt:
        await cells(rt, *(f"v{n} = {n}" for n in range(9)), "b = desk.next()", "c = b")
    journal.write(journal.claim("s1"), DroppedCheckpoint(cell=11))
    _make_diverge(journal, 10)
    async with resume(journal, desk) as rt:
        assert how(rt).diverged is not None
        assert (how(rt).checkpoint, how(rt).cells, how(rt).lost) == (8, (9,), ("b", "c"))
        assert await value(rt, "v0, v8, 'b' in globals()") == (0, 8, False)


def _make_diverge(journal: Store, cell: int) -> None:
    """Change what is recorded of a call, as if the code had asked for something else then."""
    row = next(row for row in journal.rows("s1") if row.cell == cell and row.title == "desk.next")
    journal.write(journal.claim("s1"), replace(row, name="other"))


# the key


def test_the_key_is_made_once_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "state"
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(read_key(place))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    assert [path.name for path in place.iterdir()] == ["checkpoints.key"]
    assert stat.S_IMODE(os.stat(place / "checkpoints.key").st_mode) == 0o600


def test_a_file_that_is_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "checkpoints.key").write_bytes(b"short")
    with pytest.raises(PlatformError, match="remove it"):
        read_key(tmp_path)


async def test_without_a_place_for_the_key_sessions_run_and_resume(
    journal: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CELLWRIGHT_STATE", str(tmp_path / "file"))
    assert Settings.from_environment().state_dir == tmp_path / "file"
    said: list[str] = []
    async with begin(journal, progress=said.append) as rt:
        for number in range(9):
            await value(rt, f"v{number} = 1")
    assert "no key for checkpoints can be kept" in said[0]
    assert list(journal.checkpoints("s1")) == []
    async with resume(journal, progress=said.append) as rt:
        assert len(how(rt).cells) == 9
