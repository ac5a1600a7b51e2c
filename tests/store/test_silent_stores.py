"""A store that does not answer holds up its own sessions, and nothing else of the process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.store.postgres_server import Server
from tests.store.test_sqlite import call, facts

from cellwright import Agent, Limits, Runtime, Scope, operation
from cellwright.errors import TimeLimit
from cellwright.journal import HEART
from cellwright.store import (
    Checkpoint,
    Claim,
    Decision,
    DroppedCheckpoint,
    MemoryStore,
    Row,
    SqliteStore,
    TurnRow,
    close_store,
    off_loop,
    opened_store,
    this_process,
    threads_of,
)
from cellwright.store.store_threads import THREADS
from cellwright.testing import ScriptedModel

pytestmark = pytest.mark.usefixtures("warm")
PATIENCE_S = 60.0
BEATS = 20
Silence = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def silent(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Silence]:
    """The URL of a store, and what keeps it silent."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'silent.db'}", lambda: locked(tmp_path / "silent.db")
    server: Server = request.getfixturevalue("server")
    url: str = request.getfixturevalue("database")
    return url, lambda: stopped(server)


both = pytest.mark.parametrize("silent", ["sqlite", "postgres"], indirect=True)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Another connection writes to the file, and takes its time."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin exclusive")
    try:
        yield
    finally:
        other.execute("rollback")
        other.close()


@contextmanager
def stopped(server: Server) -> Generator[None]:
    """The server's processes are there, and do nothing."""
    sql = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    pids = [int(str(pid)) for (pid,) in server.execute("postgres", sql)]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


class Desk:
    """Host code that can silence the store of its own session."""

    def __init__(self, silence: Silence) -> None:
        self.sent: list[str] = []
        self.is_silent, self.cancelled = asyncio.Event(), asyncio.Event()
        self._silence, self._silent = silence, None

    async def fall_silent(self) -> str:
        self._silent = self._silence()
        self._silent.__enter__()
        self.is_silent.set()
        return "silent"

    def speak(self) -> None:
        if self._silent is not None:
            self._silent.__exit__(None, None, None)
            self._silent = None

    async def wait(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.cancelled.set()

    async def send(self, what: str) -> int:
        self.sent.append(what)
        return len(self.sent)

    @operation(ask=True)
    async def post(self, what: str) -> int:
        return await self.send(what)


@asynccontextmanager
async def opened(url: str, desk: Desk, **options: Any) -> AsyncGenerator[tuple[Runtime, Runtime]]:
    """A session in the store that falls silent, and one in another."""
    scope = Scope({"desk": desk})
    async with (
        Runtime(scope, store=url, session="s1", **options) as one,
        Runtime(store=MemoryStore()) as other,
    ):
        try:
            yield one, other
        finally:
            desk.speak()


async def goes_on(other: Runtime) -> None:
    """The loop turns, and another session has answers."""
    for n in range(3):
        assert (await other.execute(f"{n} + 1")).unwrap() == n + 1
    for _ in range(BEATS):
        await asyncio.sleep(0.001)


async def cancelled_in_silence(held: asyncio.Future[Any], desk: Desk, other: Runtime) -> None:
    """While the store is silent, what waits for it is cancelled, and the other session goes on."""
    await desk.is_silent.wait()
    await goes_on(other)
    held.cancel()
    await goes_on(other)
    desk.speak()
    with pytest.raises(asyncio.CancelledError):
        await held


@both
async def test_a_cell_whose_row_waits_for_its_store_holds_up_no_other_session(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    async with asyncio.timeout(PATIENCE_S), opened(url, Desk(silence)) as (one, other):
        (await one.execute("x = 1")).unwrap()
        with silence():
            held = asyncio.ensure_future(one.execute("x += 1\nx"))
            await goes_on(other)
            assert not held.done()
        assert (await held).unwrap() == 2


@both
async def test_no_effect_comes_before_the_row_of_the_answer_that_it_follows_from(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    desk = Desk(silence)
    async with asyncio.timeout(PATIENCE_S), opened(url, desk) as (one, other):
        held = asyncio.ensure_future(one.execute("said = await desk.fall_silent()\nawait desk.send(said)"))
        await desk.is_silent.wait()
        await goes_on(other)
        assert (held.done(), desk.sent) == (False, [])
        desk.speak()
        assert (await held).unwrap() == 1
    async with Runtime.resume("s1", scope=Scope({"desk": desk}), store=url) as again:
        assert (await again.execute("said")).unwrap() == "silent"
    assert desk.sent == ["silent"]


@both
async def test_a_cell_meets_its_limit_in_time_while_its_store_is_silent(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    desk = Desk(silence)
    async with asyncio.timeout(PATIENCE_S), opened(url, desk, limits=Limits(wall_s=1)) as (one, other):
        (await one.execute("x = 1")).unwrap()
        code = "import asyncio\nx = 2\nawait asyncio.gather(desk.wait(), desk.fall_silent())"
        held = asyncio.ensure_future(one.execute(code))
        await desk.cancelled.wait()
        await goes_on(other)
        assert not held.done()  # its row is not written yet
        desk.speak()
        assert isinstance((await held).error, TimeLimit)
        assert (await one.execute("x")).unwrap() == 1


@both
async def test_a_write_that_nobody_waits_for_any_more_is_made_once_and_in_order(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    desk = Desk(silence)
    async with asyncio.timeout(PATIENCE_S), opened(url, desk) as (one, other):
        code = "import asyncio\nawait desk.fall_silent()\nawait desk.send('a')"
        held = asyncio.ensure_future(one.execute(code))
        await cancelled_in_silence(held, desk, other)
        assert (await one.execute("y = await desk.send('b')\ny")).unwrap() == 1
        assert one.journal is not None
        cells, rows = one.journal.cells("s1"), one.journal.rows("s1")
        assert [(cell.number, cell.status) for cell in cells] == [(1, "ended"), (2, "done")]
        assert [(row.cell, row.title, row.status) for row in rows] == [
            (1, "desk.fall_silent", "done"),
            (2, "desk.send", "done"),
        ]


@both
async def test_a_session_is_closed_and_resumed_while_others_go_on(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    async with asyncio.timeout(PATIENCE_S), Runtime(store=MemoryStore()) as other:
        async with Runtime(store=url, session="s1") as one:
            (await one.execute("x = 1")).unwrap()
            with silence():
                closing = asyncio.ensure_future(one.close())
                await goes_on(other)
                assert not closing.done()
            await closing
        again = Runtime.resume("s1", store=url)
        opening = asyncio.ensure_future(again.__aenter__())
        try:
            await goes_on(other)
            assert (await (await opening).execute("x")).unwrap() == 1
        finally:
            await again.close()


@both
async def test_a_cell_that_is_cancelled_before_its_row_is_written_never_runs(silent: tuple[str, Silence]) -> None:
    url, silence = silent
    desk = Desk(silence)
    async with asyncio.timeout(PATIENCE_S), opened(url, desk) as (one, other):
        (await one.execute("x = 1")).unwrap()
        with silence():
            held = asyncio.ensure_future(one.execute("await desk.send('cancelled')"))
            await goes_on(other)
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
    async with Runtime.resume("s1", scope=Scope({"desk": desk}), store=url) as again:
        assert (await again.execute("x")).unwrap() == 1
    assert desk.sent == []


async def test_a_cell_that_was_carried_on_and_is_cancelled_at_its_end_is_not_run_twice(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'silent.db'}"
    desk = Desk(lambda: locked(tmp_path / "silent.db"))
    scope = Scope({"desk": desk})
    async with (
        asyncio.timeout(PATIENCE_S),
        Runtime(scope, store=url, session="s1") as one,
        Runtime(store=MemoryStore()) as other,
    ):
        waits = await one.execute("y = await desk.post('a')\nz = await desk.fall_silent()\n1")
        assert waits.waiting
        assert one.journal is not None
        for question in waits.waiting:
            one.journal.decide(question, Decision(yes=True))
        held = asyncio.ensure_future(one.outcome())
        await cancelled_in_silence(held, desk, other)
        assert (await one.execute("y")).unwrap() == 1
    async with Runtime.resume("s1", scope=scope, store=url) as again:
        assert (await again.execute("y")).unwrap() == 1
    assert desk.sent == ["a"]


def test_a_process_that_was_forked_has_threads_of_its_own(tmp_path: Path) -> None:
    async def used(name: str) -> None:
        store = await opened_store(f"sqlite:///{tmp_path / name}")
        assert not await off_loop(store, store.sessions)
        await close_store(store)

    asyncio.run(used("parent.db"))
    child = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(used("child.db")))
    child.start()
    child.join(PATIENCE_S / 4)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0


def test_a_process_that_was_forked_renews_none_of_its_parents_leases() -> None:
    store, claim = MemoryStore(), Claim(session="s", epoch=1)
    HEART.add(store, claim, lambda: None)
    try:
        kept = [HEART.holds(store, "s"), HEART.beats]
        child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(HEART.holds(store, "s")))
        child.start()
        child.join(PATIENCE_S / 4)
        if child.is_alive():
            child.kill()
    finally:
        HEART.remove(store, claim)
    assert (kept, child.exitcode) == ([True, True], 0)


async def test_work_that_waits_for_a_thread_is_done_though_nobody_waits_for_it() -> None:
    store, free, done = MemoryStore(), threading.Event(), threading.Event()
    busy = [asyncio.ensure_future(off_loop(store, free.wait)) for _ in range(THREADS)]
    late = asyncio.ensure_future(off_loop(store, done.set))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    free.set()
    await asyncio.gather(*busy)
    assert await asyncio.to_thread(done.wait, PATIENCE_S / 4)


def test_a_prompt_write_whose_files_cannot_be_removed_at_once_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    store, others = SqliteStore(path), list[AbstractContextManager[None]]()
    claim = store.create(facts("s"))
    digest = store.keep("s", bytes(2 << 20))
    store.write(claim, Checkpoint(cell=1, digest=digest, signature="s"))

    def lock(number: int, moment: str) -> None:
        if moment == "after" and not others:
            others.append(locked(path))
            others[0].__enter__()

    store.on_write = lock
    assert store.try_write(claim, call(1), DroppedCheckpoint(cell=1)) is not None
    others[0].__exit__(None, None, None)
    assert len([entry for entry in store.entries("s") if isinstance(entry.change, Row)]) == 1
    store.close()


async def test_a_claim_that_nobody_waits_for_any_more_is_given_back() -> None:
    class Slow(MemoryStore):
        begun, go_on = threading.Event(), threading.Event()

        def claim(self, *args: Any, **named: Any) -> Claim:
            self.begun.set()
            self.go_on.wait(PATIENCE_S)
            return super().claim(*args, **named)

    store = Slow()
    claim = store.create(facts("s"), this_process())
    store.write(claim, TurnRow(number=1, task="t"))
    store.release(claim)
    recovering = asyncio.ensure_future(Agent(ScriptedModel(), store=store).recover())
    await asyncio.to_thread(store.begun.wait, PATIENCE_S)
    recovering.cancel()
    await asyncio.gather(recovering, return_exceptions=True)
    store.go_on.set()
    await asyncio.to_thread(threads_of(store).shutdown)
    assert (HEART.holds(store, "s"), store.summary("s").holder) == (False, None)


async def test_a_store_without_a_prompt_write_is_written_in_threads() -> None:
    class Plain(MemoryStore):
        threads: set[int] = set()  # noqa: RUF012

        def write(self, claim: Claim, *changes: Any) -> int:
            self.threads.add(threading.get_ident())
            return super().write(claim, *changes)

    store = Plain()
    async with Runtime(store=store) as rt:
        assert (await rt.execute("1 + 1")).unwrap() == 2
    assert store.threads
    assert threading.get_ident() not in store.threads


async def test_a_lease_in_one_store_is_renewed_while_another_store_is_silent(tmp_path: Path) -> None:
    silent, store = SqliteStore(tmp_path / "silent.db"), MemoryStore()
    async with Runtime(store=silent), Runtime(store=store, session="s1"), Runtime(store=MemoryStore()) as other:
        now = store.clock()
        store.clock = lambda: now + 20
        with locked(tmp_path / "silent.db"):
            beat = asyncio.ensure_future(asyncio.to_thread(HEART.beat))
            store.clock = lambda: now + 40
            while store.summary("s1").holder is None:
                await goes_on(other)
        await beat
    silent.close()


async def test_the_log_of_a_file_is_moved_off_the_loop_and_does_not_grow(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "j.db")
    claim = store.create(facts("s"))
    sizes: list[int] = []
    for n in range(6000):
        store.write(claim, call(n + 1))
        sizes.append((tmp_path / "j.db-wal").stat().st_size)
    assert max(sizes) < 4 * 1000 * 4096
    store.close()
    assert not (tmp_path / "j.db-wal").exists()
