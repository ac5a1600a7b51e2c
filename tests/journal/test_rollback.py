"""`rt.rollback(to=cell)`: what cells did is undone, last first; what cannot be is listed first and needs a yes."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from tests.cells import ENDS_LOOPS, eventually
from tests.journal.crash.dying import Mortal
from tests.journal.shops import PATIENT, Shop, failure, run, session, value

from cellwright import Runtime, Scope, operation
from cellwright.errors import JournalFailed, RollbackFailed, RollbackRefused, UsageError
from cellwright.journal import RolledBack
from cellwright.runtime import replay
from cellwright.store import MemoryStore, SqliteStore, Store

pytestmark = pytest.mark.usefixtures("warm")
BOUND_S = 60.0


@pytest.fixture
def journal(tmp_path: Path) -> Store:
    return SqliteStore(tmp_path / "j.db")


async def test_cells_are_undone_last_first_and_the_session_goes_on_as_before_them(journal: Store) -> None:
    shop = Shop()
    async with session(shop, journal) as rt:
        await value(rt, "import os; n = 1; open('f', 'w').write('1'); shop.order('a')")
        await value(rt, "n = 2; open('f', 'w').write('2'); open('g', 'w').write('x'); shop.order('b')")
        await value(rt, "n = 3; os.remove('f'); shop.order('c'); t = shop.ticket('t')")
        done = await rt.rollback(1)
        after = await run(rt, "n, open('f').read(), os.listdir(), 't' in globals()")
    assert shop.log[4:] == ["close t", "take back c", "take back b"]
    assert after.value == (1, "1", ["f"], False)
    assert after.cell == 4
    assert done.cells == (2, 3)
    assert done.undone[0] == "shop.ticket('t') in cell 3, line 1"
    assert [(one.path, one.what) for one in done.files] == [("f", "added"), ("g", "removed")]


async def test_the_beginning_is_cell_nought(journal: Store) -> None:
    shop = Shop()
    async with session(shop, journal) as rt:
        await value(rt, "shop.order('a')")
        await rt.rollback(0)
        assert await value(rt, "'n' in globals(), shop.stock()") == (False, [])
    assert shop.log == ["order a", "take back a"]


async def test_a_rollback_over_nothing_does_nothing() -> None:
    async with session(Shop()) as rt:
        assert await rt.rollback(0) == RolledBack()
        await value(rt, "n = 1")
        assert await rt.rollback(1) == RolledBack()
        assert await value(rt, "n") == 1


async def test_what_cannot_be_undone_is_listed_and_nothing_is_done(journal: Store) -> None:
    shop = Shop()
    async with session(shop, journal) as rt:
        await value(rt, "n = 1")
        await value(rt, "shop.order('a')\nshop.mail('x')\nn = 2")
        await value(rt, "shop.mail('y'); open('f', 'w').write('1')")
        with pytest.raises(RollbackRefused) as refused:
            await rt.rollback(1)
        assert await value(rt, "n, open('f').read()") == (2, "1")
    assert refused.value.left == (
        "shop.mail('y') in cell 3, line 1: it has no undo",
        "shop.mail('x') in cell 2, line 2: it has no undo",
    )
    assert "Say yes=True" in str(refused.value)
    assert shop.log == ["order a", "mail x", "mail y"]


async def test_with_a_yes_the_rest_is_undone_and_that_is_asked_once() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, "shop.order('a')")
        await value(rt, "shop.order('b'); shop.mail('x')")
        done = await rt.rollback(1, yes=True)
        assert done.left == ("shop.mail('x') in cell 2, line 1: it has no undo",)
        assert (await rt.rollback(0)).left == ()
    assert shop.log == ["order a", "order b", "mail x", "take back b", "take back a"]


async def test_what_a_transaction_undid_is_not_undone_again() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(rt, "shop.order('a')\nwith transaction():\n    shop.order('b')\n    1 / 0")
        await rt.rollback(0)
    assert shop.log == ["order a", "order b", "take back b", "take back a"]


async def test_an_undo_that_fails_stops_there_and_says_how_far_it_came() -> None:
    shop = Shop()
    shop.broken = {"b"}
    async with session(shop) as rt:
        for what in "abc":
            await value(rt, f"n = shop.order('{what}'); open('f', 'w').write('{what}')")
        with pytest.raises(RollbackFailed) as failed:
            await rt.rollback(0)
        assert isinstance(failed.value.__cause__, ValueError)
        assert await value(rt, "n, open('f').read()") == (3, "c")
        shop.broken.clear()
        done = await rt.rollback(0)
        assert await value(rt, "'n' in globals()") is False
    assert failed.value.undone == ("shop.order('c') in cell 3, line 1",)
    assert failed.value.failed == "shop.order('b') in cell 2, line 1 (ValueError: b is gone already)"
    assert failed.value.not_tried == ("shop.order('a') in cell 1, line 1",)
    assert "failed: the undo of shop.order('b')" in str(failed.value)
    assert shop.log[3:] == ["take back c", "take back b", "take back a"]
    assert done.cells == (1, 2, 3, 4)


async def test_cells_that_failed_or_were_ended_are_undone_as_well() -> None:
    shop = Shop()
    async with Runtime({"shop": shop}, store="memory:", limits=ENDS_LOOPS) as rt:
        await failure(rt, "shop.order('a'); 1 / 0")
        await failure(rt, "shop.order('b')\nwhile True: pass")
        await rt.rollback(0)
    assert shop.log == ["order a", "order b", "take back b", "take back a"]


async def test_a_call_in_doubt_is_listed(journal: Store) -> None:
    shop = Shop()
    async with session(shop, journal) as rt:
        running = asyncio.create_task(run(rt, "await shop.order_at_the_gate('a')"))
        await shop.at_gate.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        with pytest.raises(RollbackRefused) as refused:
            await rt.rollback(0)
        await rt.rollback(0, yes=True)
    assert refused.value.left == (
        "shop.order_at_the_gate('a') in cell 1, line 1: what came of it is not known: it may have happened",
    )


async def test_after_a_rollback_a_resume_a_replay_and_a_fork_agree(tmp_path: Path) -> None:
    shop = Shop()
    store = f"sqlite:///{tmp_path / 'j.db'}"
    async with session(shop, store) as rt:
        await value(rt, "import os; n = 1; a = shop.order('a')")
        await value(rt, "n = 2; b = shop.order('b'); open('f', 'w').write('1')")
        await rt.rollback(1)
        await value(rt, "c = shop.order('c')")
    async with session(shop, store, resume=True) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None
        assert await value(rt, "n, 'b' in globals(), os.listdir()") == (1, False, [])
        branch = await rt.fork(at=3)
        assert await value(branch, "n, c, 'b' in globals()") == (1, 4, False)
        await branch.close()
        await rt.rollback(0)
    assert shop.log == ["order a", "order b", "take back b", "order c", "take back c", "take back a"]
    assert (await replay("s1", store=store, limits=PATIENT)).same


async def test_answers_that_came_in_cells_that_are_gone_come_again() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, "import asyncio\nt = asyncio.create_task(shop.order_at_the_gate('a'))\nawait asyncio.sleep(0)")
        await shop.at_gate.wait()
        shop.gate.set()
        assert await value(rt, "await t") == 1
        await rt.rollback(1)
        assert await value(rt, "await t") == 1
    assert shop.log == ["order a"]


async def test_a_fork_is_rolled_back_to_its_own_beginning_and_no_further() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, "n = 1; shop.order('a')")
        branch = await rt.fork(session="b1")
        await value(branch, "n = 2; shop.order('b')")
        with pytest.raises(UsageError, match="'b1' is a fork that begins after cell 1 of 's1'"):
            await branch.rollback(0)
        await branch.rollback(1)
        assert await value(branch, "n") == 1
        await branch.close()
    assert shop.log == ["order a", "order b", "take back b"]


async def test_cells_that_are_not_there_are_refused() -> None:
    async with session(Shop()) as rt:
        await value(rt, "1")
        await value(rt, "2")
        with pytest.raises(UsageError, match="has no cell 7"):
            await rt.rollback(7)
        with pytest.raises(UsageError, match="not its to undo"):
            await rt.rollback(-1)
        await rt.rollback(1)
        with pytest.raises(UsageError, match="cell 2 was rolled back itself"):
            await rt.rollback(2)
    async with Runtime(limits=PATIENT) as rt:
        with pytest.raises(UsageError, match="needs a journal"):
            await rt.rollback(0)


async def test_what_an_older_task_does_meanwhile_waits() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, "import asyncio")
        await value(rt, "async def go():\n    while True: await shop.order_later('x')\nt = asyncio.create_task(go())")
        await value(rt, "await asyncio.sleep(0.05)")
        try:
            await rt.rollback(1)
        except RollbackRefused:  # one was under way
            await rt.rollback(1, yes=True)
        left = len(shop.orders)
        assert await value(rt, "'t' in globals()") is False
    assert left <= 1


# in another process


class Handle:
    def close(self) -> None: ...


def _close(made: Handle) -> None:
    made.close()


def _forget(made: int) -> None:
    return None


class Files:
    """By handle, and not to be had again in another process."""

    @operation(undo=_close)
    def open(self) -> Handle:
        return Handle()

    @operation(undo=_forget)
    def note(self, text: str) -> int:
        return 1


async def test_an_undo_whose_object_is_lost_is_listed(journal: Store) -> None:
    async with Runtime({"files": Files()}, store=journal, session="s1", limits=PATIENT) as rt:
        await value(rt, "h = files.open(); files.note('x')")
    async with Runtime.resume("s1", scope={"files": Files()}, store=journal, limits=PATIENT, take_over=True) as rt:
        with pytest.raises(RollbackRefused) as refused:
            await rt.rollback(0)
        done = await rt.rollback(0, yes=True)
    assert len(refused.value.left) == len(done.undone) == 1
    assert refused.value.left[0].startswith("files.open() in cell 1, line 1: ")
    assert "did not outlive" in refused.value.left[0] or "files.open" in refused.value.left[0]


async def test_facts_are_those_of_the_scope_as_it_is_now(journal: Store) -> None:
    shop = Shop()
    async with session(shop, journal) as rt:
        await value(rt, "shop.mail('x')")
    scope = Scope({"shop": shop})
    scope.declare("shop.mail", undo=lambda result, call: shop.log.append(f"unmail {call.args[0]}"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType]
    async with Runtime.resume("s1", scope=scope, store=journal, limits=PATIENT, take_over=True) as rt:
        await rt.rollback(0)
    assert shop.log == ["mail x", "unmail x"]


async def test_a_cell_that_was_cut_off_is_rolled_back_and_not_carried_on(journal: Store) -> None:
    shop, mortal = Shop(), Mortal(journal)
    async with session(shop, mortal) as rt:
        await value(rt, "n = 1")
        shop.before_undo = lambda: None
        running = asyncio.create_task(run(rt, "n = shop.order('a'); await shop.order_at_the_gate('b')"))
        await shop.at_gate.wait()
        mortal.live_until(0)
        shop.gate.set()
        with pytest.raises(JournalFailed):
            await running
    shop.log.remove("order b")  # it did not happen, and nobody can know
    mortal.live_until(None)
    async with session(shop, mortal, resume=True) as rt:
        with pytest.raises(RollbackRefused, match="may have happened"):
            await rt.rollback(1)
        await rt.rollback(1, yes=True)
        assert (await run(rt, "n")).value == 1
        assert (await rt.outcome()).cell == 3
    assert shop.log == ["order a", "take back a"]


async def test_a_call_that_may_have_happened_stays_listed_after_its_cell_was_carried_on(journal: Store) -> None:
    shop, mortal = Shop(), Mortal(journal)
    async with session(shop, mortal) as rt:
        running = asyncio.create_task(run(rt, UNKNOWN))
        await shop.at_gate.wait()
        mortal.live_until(0)
        shop.gate.set()
        with pytest.raises(JournalFailed):
            await running
    mortal.live_until(None)
    async with session(shop, mortal, resume=True) as rt:
        assert (await rt.outcome()).value == "OutcomeUnknown"
        with pytest.raises(RollbackRefused) as refused:
            await rt.rollback(0)
    assert len(refused.value.left) == 1
    assert refused.value.left[0].startswith(
        "shop.order_at_the_gate('b') in cell 1, line 4: what came of it is not known"
    )


UNKNOWN = """
kind = None
try:
    await shop.order_at_the_gate('b')
except Exception as error:
    kind = type(error).__name__
kind
"""


# a death at every moment


class Book:
    """Lives on when its process dies. What it does once more with the same key it does not do twice."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self.log: list[str] = []

    def write(self, key: str, text: str) -> str:
        if key not in self.lines:
            self.log.append(text)
        self.lines[key] = text
        return key


def scope_of(book: Book, mortal: Mortal) -> Scope:
    from cellwright.scope import current_call

    def alive() -> None:
        if mortal.dead:
            raise SystemExit("dead")  # the dead do nothing

    @operation(idempotent=True)
    def strike(key: str) -> None:
        alive()
        if book.lines.pop(key, None) is not None:
            book.log.append(f"strike {key[:4]}")

    @operation(idempotent=True, undo=strike)
    def write(text: str) -> str:
        alive()
        return book.write(current_call().idempotency_key, text)

    return Scope({"write": write})


FAILING = """
import os
write("kept")
open("f", "w").write("1")
try:
    with transaction():
        write("a"); open("f", "w").write("2")
        with transaction():
            write("b"); open("g", "w").write("3")
        write("c")
        1 / 0
except ZeroDivisionError:
    pass
sorted(os.listdir()), open("f").read()
"""


async def _lives(journal: Mortal, book: Book, point: int | None, workspace: Path) -> object:
    """What the cell came to, with a death at that moment."""
    journal.live_until(point)
    workspace.mkdir()  # noqa: ASYNC240  a directory of the test
    scope = scope_of(book, journal)
    try:
        async with Runtime(scope, store=journal, session="s1", limits=PATIENT, workspace=workspace) as rt:
            return (await run(rt, FAILING)).unwrap()
    except JournalFailed:
        journal.live_until(None)
    if "s1" not in journal.sessions():
        return None
    async with Runtime.resume(
        "s1", scope=scope, store=journal, limits=PATIENT, workspace=workspace, take_over=True
    ) as rt:
        try:
            return (await rt.outcome()).unwrap()
        except UsageError:
            return None  # it died before there was a cell


@pytest.mark.crash
async def test_a_death_at_any_moment_of_a_transaction_undoes_all_of_it_once(tmp_path: Path) -> None:
    journal, book = Mortal(MemoryStore()), Book()
    unbroken = await _lives(journal, book, None, tmp_path / "w")
    points = journal.points
    assert unbroken == (["f"], "1")
    assert list(book.lines.values()) == ["kept"]
    assert points > 20
    for point in range(points):
        journal, book = Mortal(MemoryStore()), Book()
        found = await _lives(journal, book, point, tmp_path / f"w{point}")
        if found is None:
            assert book.lines == {}, point
            continue
        assert found == unbroken, point
        assert list(book.lines.values()) == ["kept"], point
        assert sorted(book.log)[:4] == ["a", "b", "c", "kept"], (point, book.log)
        assert len(book.log) == 7, (point, book.log)


@pytest.mark.crash
async def test_a_death_at_any_moment_of_a_rollback_is_gone_on_from(tmp_path: Path) -> None:
    point = 0
    while True:
        journal, book = Mortal(MemoryStore()), Book()
        scope = scope_of(book, journal)
        workspace = tmp_path / f"{point}"
        workspace.mkdir()
        died = False
        try:
            async with Runtime(scope, store=journal, session="s1", limits=PATIENT, workspace=workspace) as rt:
                await value(rt, "n = 1; write('kept'); open('f', 'w').write('1')")
                await value(rt, "n = 2; write('a'); write('b'); open('f', 'w').write('2')")
                journal.live_until(point)
                await rt.rollback(1)
        except JournalFailed:
            died = True
        journal.live_until(None)
        resumed = Runtime.resume("s1", scope=scope, store=journal, limits=PATIENT, workspace=workspace, take_over=True)
        async with resumed as rt:
            if died:
                await rt.rollback(1)
            assert await value(rt, "n, open('f').read()") == (1, "1"), point
        assert list(book.lines.values()) == ["kept"], point
        assert len(book.log) == 5, (point, book.log)
        if not died:
            break
        point += 1
    assert point > 6


async def test_an_undo_that_may_have_happened_is_not_repeated(tmp_path: Path) -> None:
    shop, mortal = Shop(), Mortal(MemoryStore())
    said: list[str] = []

    def die() -> None:
        mortal.live_until(0)

    async with session(shop, mortal) as rt:
        await value(rt, "shop.order('a'); shop.order('b')")
        shop.before_undo = die
        with pytest.raises(JournalFailed):
            await rt.rollback(0)
    assert shop.log == ["order a", "order b", "take back b"]
    shop.before_undo = lambda: None
    mortal.live_until(None)
    async with session(shop, mortal, resume=True, progress=said.append) as rt:
        with pytest.raises(RollbackRefused) as refused:
            await rt.rollback(0)
        done = await rt.rollback(0, yes=True)
    assert said == ["cellwright: session s1: a rollback to cell 0 was not finished; call rollback(to=0) again"]
    assert refused.value.left == (
        "shop.order('b') in cell 1, line 1: its undo had begun when the process died, and may have happened",
    )
    assert done.undone == ("shop.order('a') in cell 1, line 1",)
    assert shop.log == ["order a", "order b", "take back b", "take back a"]


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from cellwright import Limits, Runtime, Scope, operation

out = Path(sys.argv[1])

def log(text):
    with open(out, "a") as file:
        file.write(text + "\\n")

@operation(idempotent=True)
def strike(text):
    log(f"strike {text}")
    if text == "a":
        os.kill(os.getpid(), signal.SIGKILL)

@operation(undo=strike)
def write(text):
    log(text)
    return text

async def main():
    async with Runtime(Scope({"write": write}), store=sys.argv[2], session="s1") as rt:
        await rt.execute('''
try:
    with transaction():
        write("a"); write("b"); open("f", "w").write("1")
        1 / 0
except ZeroDivisionError:
    import os
    found = os.listdir()
''')

asyncio.run(main())
"""


@pytest.mark.crash
async def test_a_process_that_is_killed_in_an_undo_leaves_what_another_finishes(tmp_path: Path) -> None:
    out, store = tmp_path / "log", f"sqlite:///{tmp_path / 'j.db'}"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(out), store)
    async with asyncio.timeout(BOUND_S):
        assert await child.wait() == -signal.SIGKILL

    @operation(idempotent=True)
    def strike(text: str) -> None:
        with out.open("a") as file:
            file.write(f"strike {text} again\n")

    @operation(undo=strike)
    def write(text: str) -> str:
        raise AssertionError("it was written once")

    async with Runtime.resume("s1", scope=Scope({"write": write}), store=store, limits=PATIENT) as rt:
        assert (await rt.outcome()).error is None
        assert await value(rt, "found, os.listdir()") == ([], [])
    assert out.read_text().splitlines() == ["a", "b", "strike b", "strike a", "strike a again"]


@pytest.mark.crash
async def test_a_cell_that_was_ended_in_a_block_is_undone_by_whoever_resumes_it(tmp_path: Path) -> None:
    mortal, book = Mortal(MemoryStore(), tmp_path / "j"), Book()
    scope = scope_of(book, mortal)
    ended = "write('kept')\nwith transaction():\n    write('a'); write('b')\n    import os; os._exit(1)"
    async with Runtime(scope, store=mortal, session="s1", limits=PATIENT) as rt:
        mortal.live_until(None)
        await failure(rt, ended)
    for point in range(mortal.points):
        mortal, book = Mortal(MemoryStore(), tmp_path / f"j{point}"), Book()
        scope = scope_of(book, mortal)
        try:
            async with Runtime(scope, store=mortal, session="s1", limits=PATIENT) as rt:
                mortal.live_until(point)
                await failure(rt, ended)
        except JournalFailed:
            pass
        mortal.live_until(None)
        said: list[str] = []
        resumed = Runtime.resume("s1", scope=scope, store=mortal, limits=PATIENT, progress=said.append, take_over=True)
        async with resumed as rt:
            try:
                await rt.outcome()
            except UsageError:
                continue  # there is no cell
        assert list(book.lines.values()) == ["kept"], point
        assert len(book.log) == 5, (point, book.log)


async def test_a_rollback_waits_for_the_cell_that_runs() -> None:
    shop = Shop()
    async with session(shop) as rt:
        running = asyncio.create_task(run(rt, "await shop.order_at_the_gate('a')"))
        await shop.at_gate.wait()
        rolling = asyncio.create_task(rt.rollback(0))
        shop.gate.set()
        assert (await running).value == 1
        assert (await rolling).cells == (1,)

    async def gone() -> bool:
        return shop.orders == {}

    await eventually(gone)
