"""Which thread a host call runs on, and host calls from threads of the guest."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any

from tests.cells import PATIENCE_S, PATIENT, value

from cellwright import Runtime, Scope, operation


class Where:
    def __init__(self) -> None:
        self.threads: list[int] = []

    def here(self) -> int:
        self.threads.append(threading.get_ident())
        return len(self.threads)

    @property
    def prop(self) -> int:
        return self.here()

    def __len__(self) -> int:
        return self.here()

    def each(self) -> Any:
        for _ in range(3):
            yield self.here()

    async def on_loop(self) -> int:
        return self.here()

    @operation(thread="loop")
    def declared(self) -> int:
        return self.here()


async def test_sync_calls_of_a_session_run_on_one_thread_that_is_not_the_loops() -> None:
    where = Where()
    await value("where.here(); where.prop; len(where); list(where.each())", "where.here()", where=where)
    assert len(set(where.threads)) == 1
    assert where.threads[0] != threading.get_ident()


async def test_each_session_has_a_thread_of_its_own() -> None:
    where = Where()
    async with Runtime({"where": where}) as one, Runtime({"where": where}) as two:
        await one.execute("where.here()")
        await two.execute("where.here()")
    assert len(set(where.threads)) == 2


async def test_async_and_declared_calls_run_on_the_loops_thread() -> None:
    where = Where()
    scope = Scope({"where": where})
    scope.declare("where.here", thread="loop")
    async with Runtime(scope) as rt:
        (await rt.execute("await where.on_loop(); where.declared(); where.here()")).unwrap()
    assert set(where.threads) == {threading.get_ident()}


async def test_a_sqlite3_connection_opened_by_a_host_call_stays_usable() -> None:
    code = """
    db = connect()
    cursor = db.cursor()
    cursor.execute('create table t (x)')
    cursor.executemany('insert into t values (?)', [(1,), (2,)])
    with db:
        db.execute('insert into t values (3)')
    rows = db.execute('select x from t order by x').fetchall()
    [x for (x,) in db.execute('select x from t')], rows
    """

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(":memory:")

    assert await value(code, connect=connect) == ([1, 2, 3], [(1,), (2,), (3,)])


async def test_threads_of_the_guest_call_the_host_and_each_gets_its_own_answer() -> None:
    def double(x: int) -> int:
        return 2 * x

    code = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(double, range(200)))
    got
    """
    assert await value(code, double=double) == [2 * i for i in range(200)]


async def test_threads_of_the_guest_and_its_main_thread_call_at_the_same_time() -> None:
    class Gate:
        def __init__(self) -> None:
            self.waiting = 0
            self.open = asyncio.Event()

        async def wait(self) -> int:
            self.waiting += 1
            if self.waiting == 4:
                self.open.set()
            await self.open.wait()
            return self.waiting

    code = """
    import asyncio, threading
    got = []
    threads = [threading.Thread(target=lambda: got.append(asyncio.run(gate.wait()))) for _ in range(3)]
    for t in threads: t.start()
    got.append(await gate.wait())
    await asyncio.to_thread(lambda: [t.join() for t in threads])
    got
    """
    assert await value(code, gate=Gate()) == [4, 4, 4, 4]


async def test_a_host_call_in_to_thread_leaves_the_guests_loop_running() -> None:
    release = threading.Event()

    def block() -> bool:
        return release.wait(PATIENCE_S)

    async def go() -> str:
        release.set()
        return "went"

    code = """
    import asyncio
    blocked = asyncio.create_task(asyncio.to_thread(block))
    await asyncio.sleep(0)
    await go(), await blocked
    """
    assert await value(code, block=block, go=go) == ("went", True)


async def test_a_callback_to_a_guest_thread_that_calls_is_served_there() -> None:
    def apply(function: Any) -> Any:
        return function()

    code = """
    import threading
    got = []
    def work():
        got.append(apply(lambda: threading.current_thread().name))
    t = threading.Thread(target=work, name='mine')
    t.start(); t.join()
    got
    """
    assert await value(code, apply=apply) == ["mine"]


async def test_a_thread_left_running_calls_the_host_after_its_cell() -> None:
    seen: list[int] = []
    ready = threading.Event()

    def note(x: int) -> None:
        seen.append(x)

    def ended() -> None:
        ready.set()

    async with Runtime({"note": note, "ended": ended}, limits=PATIENT) as rt:
        code = (
            "import threading\ngo = threading.Event()\n"
            "def work():\n    go.wait()\n    note(1)\n    ended()\nt = threading.Thread(target=work)\nt.start()"
        )
        (await rt.execute(code)).unwrap()
        (await rt.execute("go.set()")).unwrap()
        assert await asyncio.to_thread(ready.wait, PATIENCE_S)
        assert (await rt.execute("t.join()\n'joined'")).unwrap() == "joined"
    assert seen == [1]


async def test_objects_of_one_session_that_hold_a_lock_do_not_stop_another_session() -> None:
    held = threading.Event()
    release = threading.Event()

    def hold() -> None:
        held.set()
        release.wait(PATIENCE_S)

    async with Runtime({"hold": hold}, limits=PATIENT) as one, Runtime({"f": abs}, limits=PATIENT) as two:
        cell = asyncio.create_task(one.execute("hold()"))
        assert await asyncio.to_thread(held.wait, PATIENCE_S)
        assert (await two.execute("f(-1)")).unwrap() == 1
        release.set()
        assert (await cell).ok


async def test_a_large_value_is_built_away_from_the_loop() -> None:
    import dataclasses

    threads: list[int] = []

    @dataclasses.dataclass
    class Row:
        n: int

        def __post_init__(self) -> None:
            threads.append(threading.get_ident())

    async with Runtime({"Row": Row}, limits=PATIENT) as rt:
        threads.clear()
        value = (await rt.execute("row = Row(1)\n[list(range(200_000)), row]")).unwrap()
    assert value[1] == Row(1)
    assert threads[-2] != threading.get_ident()


async def test_a_thread_that_ends_at_once_wakes_the_loop_each_time() -> None:
    code = """
        import asyncio
        for _ in range(300):
            await asyncio.gather(*(asyncio.to_thread(int) for _ in range(3)))
        "all"
    """
    async with Runtime(limits=PATIENT) as rt:
        assert (await rt.execute(code)).unwrap() == "all"
