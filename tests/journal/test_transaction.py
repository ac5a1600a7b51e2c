"""`with transaction():` in guest code: all of it stays, or what can be undone is undone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cells import ENDS_LOOPS, eventually
from tests.journal.shops import PATIENT, Shop, failure, run, session, value

from cellwright import Limits, Runtime, Scope
from cellwright.errors import CallLimit, CpuLimit, ProtocolError
from cellwright.journal import reversible
from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")


# what a block is


async def test_what_a_block_did_is_undone_last_first_and_the_error_goes_on() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            with transaction():
                shop.order("a")
                shop.order("b")
                raise KeyError("no c")
            """,
        )
    assert shop.log == ["order a", "order b", "take back b", "take back a"]
    assert "KeyError: 'no c'" in text
    assert "undone: shop.order('b') in cell 1, line 4; shop.order('a') in cell 1, line 3" in text


async def test_what_a_block_did_stays_when_it_comes_to_its_end() -> None:
    shop = Shop()
    async with session(shop) as rt:
        done = await value(rt, "with transaction() as t:\n    n = shop.order('a')\nn")
    assert done == 1
    assert shop.log == ["order a"]


async def test_a_block_may_be_async_and_so_may_an_undo() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            async with transaction():
                await shop.order_later("a")
                1 / 0
            """,
        )
    assert shop.log == ["order a", "take back a"]
    assert "ZeroDivisionError" in text


async def test_files_are_as_they_were() -> None:
    async with session(Shop()) as rt:
        await value(rt, "import os; open('kept', 'w').write('1'); open('gone', 'w').write('2'); os.mkdir('d')")
        await failure(
            rt,
            """
            with transaction():
                open("kept", "w").write("changed")
                os.remove("gone")
                os.rmdir("d")
                open("new", "w").write("3")
                1 / 0
            """,
        )
        found = await value(rt, "sorted(os.listdir()), open('kept').read(), open('gone').read()")
    assert found == (["d", "gone", "kept"], "1", "2")


async def test_names_stay_as_the_block_left_them() -> None:
    async with session(Shop()) as rt:
        await failure(rt, "n = 1\nwith transaction():\n    n = 2\n    1 / 0")
        assert await value(rt, "n") == 2


async def test_an_undo_with_one_parameter_gets_the_result() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(rt, "with transaction():\n    shop.ticket('t')\n    1 / 0")
    assert shop.log == ["ticket t", "close t"]


async def test_objects_that_guest_code_let_go_of_are_there_for_their_undo() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(
            rt,
            """
            import gc
            with transaction():
                shop.ticket("t").rename("u")
                gc.collect()
                shop.stock()
                1 / 0
            """,
        )
    assert shop.log == ["ticket t", "rename t to u", "rename back to t", "close t"]


async def test_each_undo_has_a_key_of_its_own() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(rt, "with transaction():\n    shop.order('a'); shop.order('b')\n    1 / 0")
    assert len(set(shop.keys)) == 2


async def test_a_call_that_failed_is_not_undone() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(rt, "with transaction(anyway=True):\n    shop.order('a'); shop.fail('x')")
    assert shop.log == ["order a", "take back a"]
    assert "not undone" not in text


# what cannot be undone


async def test_what_cannot_be_undone_is_refused_before_it_runs() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(rt, "with transaction():\n    shop.order('a')\n    shop.mail('hello')")
    assert shop.log == ["order a", "take back a"]
    assert text.splitlines()[-3].endswith(
        "NotReversible: shop.mail cannot be undone; call it after the transaction, or open it with "
        "transaction(anyway=True)"
    )


async def test_guest_code_can_catch_the_refusal_and_go_on() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(
            rt,
            """
            with transaction():
                shop.order("a")
                try:
                    shop.mail("hello")
                except Exception as error:
                    assert type(error).__name__ == "NotReversible"
            """,
        )
    assert shop.log == ["order a"]


async def test_anyway_it_runs_and_is_listed_when_the_rest_is_undone() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(
            rt, "with transaction(anyway=True):\n    shop.mail('hello')\n    shop.order('a')\n    1 / 0"
        )
    assert shop.log == ["mail hello", "order a", "take back a"]
    assert "not undone: shop.mail('hello') in cell 1, line 2: it has no undo" in text


async def test_reading_and_iterating_are_no_effects() -> None:
    shop = Shop()
    scope = Scope({"shop": shop, "numbers": iter([1, 2]), "Limits": Limits})
    async with Runtime(scope, store="memory:", limits=PATIENT) as rt:
        found = await value(
            rt,
            """
            import asyncio, time
            async with transaction():
                await asyncio.sleep(0); time.sleep(0)
                found = shop.stock(), list(numbers), Limits(wall_s=3.0).wall_s
            found
            """,
        )
    assert found == ([], [1, 2], 3.0)


async def test_an_undo_that_fails_is_told_with_what_is_undone_and_what_is_not() -> None:
    shop = Shop()
    shop.broken = {"b"}
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            try:
                with transaction(anyway=True):
                    for what in "abc":
                        shop.order(what)
                    shop.mail("x")
                    open("f", "w").write("1")
                    raise KeyError("why")
            except RuntimeError as error:
                assert [len(x) for x in (error.undone, error.not_tried, error.left)] == [1, 1, 1]
                assert "shop.order('b')" in error.failed
                raise
            """,
        )
        kept = await value(rt, "open('f').read()")
    assert shop.log == ["order a", "order b", "order c", "mail x", "take back c"]
    assert "KeyError: 'why'" in text
    assert "RollbackFailed: an undo failed" in text
    assert "failed: the undo of shop.order('b') in cell 1, line 5 (ValueError: b is gone already)" in text
    assert "undone: shop.order('c') in cell 1, line 5\n" in text
    assert "not tried: shop.order('a') in cell 1, line 5\n" in text
    assert kept == "1"


async def test_what_an_undo_says_of_the_host_stays_there() -> None:
    def undo(result: object) -> None:
        raise OSError("/root/secrets/key.pem: token=abcdef123456")

    scope = Scope({"shop": Shop()})
    scope.declare("shop.mail", undo=undo)
    async with Runtime(scope, store="memory:", limits=PATIENT) as rt:
        text = await failure(rt, "with transaction():\n    shop.mail('a')\n    1 / 0")
    assert "OSError" in text
    assert "secrets" not in text
    assert "abcdef123456" not in text


# blocks inside and beside blocks


async def test_an_inner_block_undoes_its_own_part_only() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(
            rt,
            """
            with transaction():
                shop.order("a")
                try:
                    with transaction():
                        shop.order("b")
                        1 / 0
                except ZeroDivisionError:
                    shop.order("c")
            """,
        )
    assert shop.log == ["order a", "order b", "take back b", "order c"]


async def test_an_outer_block_undoes_what_an_inner_one_kept_and_nothing_twice() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(
            rt,
            """
            with transaction():
                shop.order("a")
                with transaction():
                    shop.order("b")
                try:
                    with transaction():
                        shop.order("c")
                        1 / 0
                except ZeroDivisionError:
                    pass
                1 / 0
            """,
        )
    assert shop.log == ["order a", "order b", "order c", "take back c", "take back b", "take back a"]


async def test_an_inner_block_is_held_to_what_the_outer_one_allows() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(rt, "with transaction():\n    with transaction(anyway=True):\n        shop.mail('x')")
    assert "NotReversible" in text
    assert shop.log == []


async def test_what_failed_inside_is_tried_again_outside() -> None:
    shop = Shop()
    shop.broken = {"b"}
    attempts: list[int] = []

    def mend() -> None:
        attempts.append(1)
        if len(attempts) > 1:
            shop.broken.clear()

    shop.before_undo = mend
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            with transaction():
                shop.order("a")
                with transaction():
                    shop.order("b")
                    1 / 0
            """,
        )
    assert shop.log == ["order a", "order b", "take back b", "take back a"]
    assert "RollbackFailed" in text


async def test_blocks_of_parallel_tasks_are_their_own() -> None:
    shop = Shop()
    async with session(shop) as rt:
        found = await value(
            rt,
            """
            import asyncio
            async def each(what, fails):
                async with transaction():
                    await shop.order_later(what)
                    await asyncio.sleep(0)
                    await shop.order_later(what + "2")
                    if fails:
                        raise ValueError(what)
            done = await asyncio.gather(*(each(w, w in "bd") for w in "abcd"), return_exceptions=True)
            [type(d).__name__ for d in done]
            """,
        )
    assert found == ["NoneType", "ValueError", "NoneType", "ValueError"]
    assert sorted(shop.orders.values()) == ["a", "a2", "c", "c2"]


async def test_files_of_a_block_that_was_undone_do_not_come_back_with_another() -> None:
    async with session(Shop()) as rt:
        found = await value(
            rt,
            """
            import asyncio, os
            async def first():
                async with transaction():
                    open("of_first", "w").write("1")
                    began.set()
                    await both.wait()
                    1 / 0
            async def second():
                await began.wait()
                async with transaction():
                    both.set()
                    await done.wait()
                    1 / 0
            began, both, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
            tasks = [asyncio.create_task(first()), asyncio.create_task(second())]
            await asyncio.wait(tasks[:1])
            done.set()
            await asyncio.wait(tasks)
            os.listdir()
            """,
        )
    assert found == []


async def test_calls_of_tasks_and_threads_inside_belong_to_the_block() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(
            rt,
            """
            import asyncio
            async with transaction():
                await asyncio.gather(shop.order_later("a"), asyncio.to_thread(shop.order, "b"))
                1 / 0
            """,
        )
    assert shop.orders == {}
    assert len(shop.log) == 4


async def test_a_call_under_way_is_waited_for_and_undone() -> None:
    shop = Shop()
    async with session(shop) as rt:
        running = asyncio.create_task(
            failure(
                rt,
                """
                import asyncio
                async def fails():
                    await shop.order_later("b")
                    1 / 0
                async with transaction():
                    await asyncio.gather(shop.order_at_the_gate("a"), fails())
                """,
            )
        )
        await shop.at_gate.wait()
        await eventually(lambda: _is(shop.log == ["order b"]))
        shop.gate.set()
        await running
    assert shop.orders == {}
    assert sorted(shop.log) == ["order a", "order b", "take back a", "take back b"]


async def test_a_call_that_was_given_up_is_told_as_unknown() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            import asyncio
            async with transaction():
                async with asyncio.timeout(0.05):
                    await shop.order_at_the_gate("a")
            """,
        )
    assert "TimeoutError" in text
    assert "shop.order_at_the_gate('a') in cell 1, line 5: what came of it is not known: it may have happened" in text


async def test_a_task_that_goes_on_after_its_block_was_undone_changes_nothing() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await value(
            rt,
            """
            import asyncio
            go = asyncio.Event()
            async def later():
                await go.wait()
                try:
                    await shop.order_later("late")
                except Exception as error:
                    return str(error)
            try:
                async with transaction():
                    task = asyncio.create_task(later())
                    1 / 0
            except ZeroDivisionError:
                go.set()
            await task
            """,
        )
    assert text == "shop.order_later was called in a transaction that is undone already"
    assert shop.log == []


async def test_a_cancelled_block_is_undone_to_its_end() -> None:
    shop = Shop()
    async with session(shop) as rt:
        text = await failure(
            rt,
            """
            import asyncio
            async def work():
                async with transaction():
                    await shop.order_later("a")
                    ready.set()
                    await asyncio.Event().wait()
            ready = asyncio.Event()
            task = asyncio.create_task(work())
            await ready.wait()
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await task
            """,
        )
    assert "CancelledError" in text
    assert shop.log == ["order a", "take back a"]


async def test_blocks_as_deep_as_they_come_hold_what_is_in_them() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await failure(
            rt,
            """
            import asyncio
            async def down(depth):
                if depth == 0:
                    await shop.order_later("a")
                    raise KeyError(0)
                await asyncio.create_task(down(depth - 1))
            async def blocks(depth):
                async with transaction():
                    await asyncio.create_task(down(60) if depth == 0 else blocks(depth - 1))
            await blocks(6)
            """,
        )
        text = await failure(
            rt,
            """
            def nest(depth):
                with transaction():
                    nest(depth + 1)
            nest(0)
            """,
        )
    assert shop.log == ["order a", "take back a"]
    assert "RecursionError: transactions are nested too deeply" in text


# how a cell may end in a block


async def test_a_cell_that_is_ended_in_a_block_leaves_nothing_of_it() -> None:
    shop = Shop()
    said: list[str] = []
    async with Runtime({"shop": shop}, store="memory:", limits=ENDS_LOOPS, progress=said.append) as rt:
        await value(rt, "import time; open('f', 'w').write('1')")
        outcome = await run(
            rt,
            """
            shop.order("before")
            with transaction():
                shop.order("a")
                open("f", "w").write("2")
                with transaction():
                    shop.order("b")
                while True: pass
            """,
        )
        assert await value(rt, "open('f').read()") == "1"
    assert isinstance(outcome.error, CpuLimit)
    assert "Its transaction was undone" in str(outcome.error)
    assert shop.log == ["order before", "order a", "order b", "take back b", "take back a"]
    assert "undone: shop.order('b')" in said[0]


async def test_a_cell_that_is_cancelled_in_a_block_leaves_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reversible, "LATE_S", 0.1)
    shop = Shop()
    async with session(shop) as rt:
        running = asyncio.create_task(
            run(rt, "with transaction():\n    shop.order('a')\n    await shop.order_at_the_gate('b')")
        )
        await shop.at_gate.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await value(rt, "1") == 1
    assert shop.log == ["order a", "take back a"]


async def test_a_call_that_comes_to_its_end_after_its_guest_did_is_undone_with_its_block() -> None:
    shop = Shop()
    async with session(shop) as rt:
        running = asyncio.create_task(
            run(rt, "with transaction():\n    shop.order('a')\n    shop.order_by_post('b')\nshop.order('never')")
        )

        async def posted() -> bool:
            return shop.posted.is_set()

        await eventually(posted)
        running.cancel()
        await eventually_ended(rt)
        shop.arrived.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await value(rt, "1") == 1
    assert shop.log == ["order a", "order b", "take back b", "take back a"]


async def eventually_ended(rt: Runtime) -> None:
    """Until the guest is gone, for whom no public name stands."""
    opened: Any = rt._open  # pyright: ignore[reportPrivateUsage]

    async def ended() -> bool:
        return not opened.session.guest.alive

    await eventually(ended)


async def test_a_guest_that_dies_while_it_is_undone_is_undone_to_its_end() -> None:
    shop = Shop()
    async with session(shop) as rt:
        outcome = await run(
            rt,
            """
            import os, threading
            def die():
                while len(shop.stock()) == 3: pass
                os._exit(3)
            with transaction():
                for what in "abc":
                    shop.order(what)
                threading.Thread(target=die).start()
                1 / 0
            """,
        )
    assert outcome.error is not None
    assert shop.log[3:] == ["take back c", "take back b", "take back a"]


async def test_a_block_of_an_older_task_outlives_a_cell_that_was_ended() -> None:
    shop = Shop()
    async with Runtime({"shop": shop}, store="memory:", limits=ENDS_LOOPS) as rt:
        await value(
            rt,
            """
            import asyncio
            async def work():
                async with transaction():
                    await shop.order_later("a")
                    await asyncio.sleep(0)
                    await go.wait()
                    1 / 0
            go = asyncio.Event()
            task = asyncio.create_task(work())
            None
            """,
        )
        ended = await run(rt, "await shop.order_later('x')\nawait asyncio.sleep(0.1)\nwhile True: pass")
        assert isinstance(ended.error, CpuLimit)
        assert sorted(shop.log) == ["order a", "order x"]
        text = await failure(rt, "go.set()\nawait task")
    assert "ZeroDivisionError" in text
    assert sorted(shop.log) == ["order a", "order x", "take back a"]


async def test_a_block_that_made_too_many_calls_is_undone_all_the_same() -> None:
    shop = Shop()
    async with Runtime({"shop": shop}, store="memory:", limits=Limits(wall_s=20.0, host_calls=5)) as rt:
        outcome = await run(rt, "with transaction():\n    for i in range(9):\n        shop.order(str(i))")
    assert isinstance(outcome.error, CallLimit)
    assert shop.orders == {}
    assert len(shop.log) == 8


# a session with blocks, again

STORY = """
import asyncio, os
with transaction():
    shop.order("kept")
try:
    async with transaction(anyway=True):
        open("f", "w").write("gone")
        await asyncio.gather(shop.order_later("a"), shop.order_later("b"))
        shop.mail("x")
        1 / 0
except ZeroDivisionError as error:
    notes = error.__notes__
files = os.listdir()
"""


async def test_a_session_with_blocks_is_replayed_to_the_same(tmp_path: Path) -> None:
    shop = Shop()
    store = f"sqlite:///{tmp_path / 'j.db'}"
    async with session(shop, store) as rt:
        await value(rt, STORY)
        await failure(rt, "with transaction():\n    open('g', 'w').write('1'); shop.order('c')\n    shop.mail('y')")
        before = await value(rt, "files, notes, os.listdir()")
    log = list(shop.log)
    assert (await replay("s1", store=store, limits=PATIENT)).same
    async with session(shop, store, resume=True) as rt:
        assert rt.restored is not None
        assert rt.restored.diverged is None
        assert await value(rt, "files, notes, os.listdir()") == before
        branch = await rt.fork(at=1)
        try:
            assert await value(branch, "files, notes, os.listdir()") == before
        finally:
            await branch.close()
    assert shop.log == log
    assert before[0] == before[2] == []


async def test_a_fork_undoes_its_own_and_leaves_its_parent_s_alone() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, "shop.order('a')")
        branch = await rt.fork()
        await failure(branch, "with transaction():\n    shop.order('b')\n    1 / 0")
        await branch.close()
        await failure(rt, "with transaction():\n    shop.order('c')\n    1 / 0")
    assert shop.log == ["order a", "order b", "take back b", "order c", "take back c"]


async def test_a_name_of_the_scope_goes_before_ours() -> None:
    async with Runtime({"transaction": 3}, store="memory:", limits=PATIENT) as rt:
        assert await value(rt, "transaction") == 3


async def test_without_a_journal_a_transaction_is_refused_in_one_line() -> None:
    async with Runtime(limits=PATIENT) as rt:
        text = await failure(rt, "with transaction(): pass")
    assert text.splitlines()[-1].startswith("cellwright.NotSupported: transaction() needs a journal: ")


# guests that lie

RAW = """
world = type(shop)._cellwright_world
from cellwright_guest.door import Mailbox
def send(verb, name, path, tree={"t": []}, target=0):
    number = next(world.door._ids)
    world.door._waiting[number] = Mailbox()
    world.door.send(["c", number, world.door.cell, verb, target, name, [], tree, path, 1], [])
def wait():
    import time
    time.sleep(10)
"""


@pytest.mark.parametrize(
    "frame",
    [
        'send("undo", "1+1", "1#90")',  # a block that was never begun
        'send("commit", "1+1", "1#90")',
        'send("undo", "", "1#90")',
        'send("begin", "", "1#90", {"t": [True]})',
        'send("begin", "7", "1#90", {"t": [True]})',  # that is none of its own
        'send("begin", "1", "1#90", {"t": [3]})',
        'send("begin", "1", "1#90", {"t": [[]]})',
        'send("begin", "1", "1#90", {"t": [True]}, 1)',
        'send("begin", "1", "1#90", {"t": [True]}); send("begin", "1", "1#91", {"t": [True]})',
        'send("begin", "1", "1#90", {"t": [True]}); send("commit", "1", "1#91"); send("undo", "1", "1#92")',
        'send("begin", "1" * 2000, "1#90", {"t": [True]})',
        'send("call", "order", "undo 1#1", {"t": ["z"]}, shop._grip.handle)',  # the path of an undo
        'send("call", "order", "rollback", {"t": ["z"]}, shop._grip.handle)',
    ],
)
async def test_a_guest_that_lies_about_blocks_is_ended(frame: str) -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, RAW + "shop.order('a')")
        outcome = await run(rt, f"{frame}\nwait()")
        assert isinstance(outcome.error, ProtocolError), outcome
        assert await value(rt, "shop.stock()") == ["a"]
    assert shop.log == ["order a"]


async def test_a_block_that_claims_to_hold_earlier_calls_undoes_none_of_them() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, RAW + "shop.order('a')")
        await value(
            rt,
            """
            send("begin", "1", "1#90", {"t": [True]})
            shop.order("b")
            send("undo", "1", "1#91")
            shop.order("c")
            """,
        )
    assert shop.log == ["order a", "order b", "order c"]


async def test_what_a_hostile_guest_put_into_arguments_does_not_stop_an_undo() -> None:
    shop = Shop()
    async with session(shop) as rt:
        await value(rt, RAW)
        outcome = await run(
            rt,
            """
            with transaction(anyway=True):
                shop.order("a")
                send("call", "mail", "2+1#80", {"t": [{"b": "x"}]}, shop._grip.handle)
                wait()
            """,
        )
    assert isinstance(outcome.error, ProtocolError)
    assert "not undone: shop.mail(…) in cell 2, line 1: what came of it is not known" in str(outcome.error)
    assert shop.log == ["order a", "take back a"]


async def _is(fact: bool) -> bool:
    return fact
