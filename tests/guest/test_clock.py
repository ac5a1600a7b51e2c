"""The guest's clock: that of the messages, and the waits that move it."""

from __future__ import annotations

import itertools
from textwrap import dedent
from typing import Any

import pytest
from tests.guest import scripted


def values(*cells: str, site: str = "") -> list[Any]:
    played = scripted.same(*map(dedent, cells), site=site)
    assert [one[2:] for one in played.said if one[0] == "d" and one[2] != "value"] == []
    return played.values


def sleeps(*cells: str) -> list[Any]:
    """Path and seconds of each wait that the cells ask for; "k" and the path of what they take back."""
    played = scripted.same(*map(dedent, cells))
    return [
        [one[6], one[5]["t"][0]] if one[0] == "c" else one
        for one in played.said
        if one[0] == "k" or (one[0] == "c" and one[2] == "sleep")
    ]


def test_each_read_is_later_than_the_one_before_and_near_the_time_of_the_message() -> None:
    cell = """
    import time, datetime
    [
        time.time(), time.time_ns() / 1e9, datetime.datetime.now().timestamp(), time.clock_gettime(time.CLOCK_REALTIME),
        datetime.datetime.now(datetime.timezone.utc).timestamp(), datetime.datetime.today().timestamp(), time.time(),
    ]
    """
    (found,) = values(cell)
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert abs(found[0] - scripted.START - 1) < 0.001
    assert found[-1] - found[0] < 0.001


def test_clocks_that_only_go_on_begin_small_and_go_on_together() -> None:
    cell = """
    import time
    [
        time.monotonic(), time.perf_counter(), time.process_time(), time.thread_time(),
        time.clock_gettime(time.CLOCK_MONOTONIC), time.monotonic_ns() / 1e9, time.perf_counter_ns() / 1e9,
        time.process_time_ns() / 1e9, time.thread_time_ns() / 1e9, time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e9,
    ]
    """
    (found,) = values(cell)
    assert found == sorted(found)
    assert 0 < found[0] < 10
    assert found[-1] - found[0] < 0.001


def test_times_made_from_now_are_those_of_the_clock() -> None:
    cell = """
    import time, datetime
    at = time.time()
    same = [
        time.mktime(time.localtime()), time.mktime(time.localtime(None)), time.mktime(time.strptime(time.ctime())),
        time.mktime(time.strptime(time.asctime())), time.mktime(time.strptime(time.strftime("%x %X"), "%x %X")),
    ]
    [
        [int(at) == one for one in same],
        str(datetime.date.today()) == time.strftime("%Y-%m-%d"),
        time.gmtime()[:5] == datetime.datetime.now(datetime.timezone.utc).timetuple()[:5],
        time.localtime(0).tm_year, time.strftime("%Y", time.gmtime(0)), time.ctime(0)[-4:],
    ]
    """
    assert values(cell)[0] == [[True] * 5, True, True, 1970, "1970", "1970"]


def test_a_subclass_of_datetime_makes_its_own_kind() -> None:
    cell = """
    import datetime
    class Mine(datetime.datetime):
        pass
    [type(Mine.now()).__name__, type(Mine.today()).__name__, type(datetime.datetime.now()).__name__]
    """
    assert values(cell) == [["Mine", "Mine", "datetime"]]


def test_the_clock_follows_the_answers_and_never_goes_back() -> None:
    cell = """
    import asyncio, time
    seen = [time.time()]
    async def look(i):
        await aget(i)
        seen.append(time.time())
        get(i)
        seen.append(time.time())
    await asyncio.gather(*(look(i) for i in range(5)))
    seen
    """
    (found,) = values(cell)
    assert found == sorted(found)
    assert found[-1] - found[0] > 0.01


def test_functions_of_time_stay_no_methods_and_are_pickled_by_name() -> None:
    cell = """
    import copy, logging, pickle, time, os
    class Timed:
        clock = time.time
        nap = time.sleep
    Timed().nap(0)
    kept = (time.time, time.sleep, os.urandom)
    same = [pickle.loads(pickle.dumps(one)) is one and copy.deepcopy(one) is one for one in kept]
    logging.Formatter("%(asctime)s").format(logging.makeLogRecord({}))
    [Timed().clock() > 0, same, time.sleep.__name__, time.sleep.__module__, repr(time.time)]
    """
    assert values(cell) == [[True, [True] * 3, "sleep", "time", "<built-in function time>"]]


def test_a_sleep_asks_the_host_and_takes_as_long() -> None:
    cell = """
    import time
    before = time.time()
    time.sleep(2)
    time.sleep(0.25)
    time.time() - before
    """
    played = scripted.same(dedent(cell))
    assert played.calls == [["1#1", "sleep", [2]], ["1#2", "sleep", [0.25]]]
    assert 2.25 <= played.values[0] < 2.26


@pytest.mark.parametrize("length", ["-1", "float('nan')", "'1'", "None", "float('inf')", "10**30"])
def test_a_sleep_of_no_length_raises_what_pythons_own_raises(length: str) -> None:
    cell = f"""
    import time
    try:
        time.sleep({length})
    except Exception as error:
        said = [type(error).__name__, str(error)]
    said
    """
    journaled = scripted.play(dedent(cell))
    assert journaled.calls == []
    assert journaled.values == scripted.play(dedent(cell), journaled=False).values


def test_the_time_of_loops_is_not_moved_by_reading_it() -> None:
    cell = """
    import asyncio, time
    loop = asyncio.get_running_loop()
    [loop.time() == loop.time(), loop.time() < time.monotonic() <= loop.time()]
    """
    assert values(cell) == [[True, True]]


def test_one_wait_serves_all_timers_until_an_earlier_one_is_needed() -> None:
    cell = """
    import asyncio
    async def nap(s):
        await asyncio.sleep(s)
    later = asyncio.create_task(nap(10))
    await aget(1)
    await aget(2)
    await nap(3)
    await nap(3)
    await later
    """
    # after the second wait of 3 the first one, for 10, is still under way: nothing is asked for the rest
    assert sleeps(cell) == [["1:timer#1", 10.0], ["1:timer#2", 3.0], ["1:timer#3", 3.0]]


def test_a_wait_that_nothing_needs_is_taken_back_at_the_end_of_the_cell() -> None:
    cell = "import asyncio\nawait asyncio.wait_for(aget(1), 30)"
    assert sleeps(cell, cell) == [
        ["1:timer#1", 30.0],
        ["k", "1:timer#1"],
        ["2:timer#1", 30.0],
        ["k", "2:timer#1"],
    ]


def test_a_wait_that_a_task_needs_goes_on_into_the_next_cell() -> None:
    cells = (
        "import asyncio\ntask = asyncio.create_task(asyncio.sleep(5, 'slept'))\nawait aget(1)",
        "get(2)",
        "await task",
    )
    assert sleeps(*cells) == [["1:timer#1", 5.0]]
    assert scripted.play(*cells).values == [1, 2, "slept"]


def test_a_loop_that_is_closed_takes_its_waits_back() -> None:
    cell = "import asyncio\nasyncio.run(asyncio.wait_for(aget(1), 30))\nget(1)"
    assert sleeps(cell) == [["1:timer#1", 30.0], ["k", "1:timer#1"]]


def test_waits_under_way_stay_few_however_many_are_asked_for() -> None:
    cell = "import asyncio\nfor s in range(60, 0, -1):\n    await asyncio.wait_for(aget(s), s)"
    asked, under_way = sleeps(cell), 0
    for _, what in asked:
        under_way += -1 if isinstance(what, str) else 1
        assert under_way <= 8
    assert sum(not isinstance(what, str) for _, what in asked) == 60


def test_timers_fire_by_their_times_and_in_order() -> None:
    cell = """
    import asyncio
    fired = []
    loop = asyncio.get_running_loop()
    began = loop.time()
    for s in (0.3, 0.1, 86400 * 3, 0.2):
        loop.call_later(s, lambda s=s: fired.append([s, loop.time() - began]))
    await asyncio.sleep(86400 * 4)
    fired
    """
    (found,) = values(cell)
    assert [s for s, _ in found] == [0.1, 0.2, 0.3, 86400 * 3]
    assert all(s - 1e-6 <= at < s + 0.01 for s, at in found)


@pytest.mark.slow
def test_code_that_spins_looks_for_messages_less_and_less_often() -> None:
    cell = """
    import asyncio
    for _ in range({}):
        await asyncio.sleep(0)
    """
    assert sleeps(cell.format(60)) == []
    assert sleeps(cell.format(64 + 128 + 256)) == [["1:timer#1", 0], ["1:timer#2", 0], ["1:timer#3", 0]]
    assert len(sleeps(cell.format(50_000))) == 6 + (50_000 - 64 * (2**6 - 1)) // 4096


def test_code_that_waits_for_a_thread_by_spinning_sees_it_end() -> None:
    cell = """
    import asyncio, threading
    done = []
    thread = threading.Thread(target=lambda: done.append(sum(range(100_000))))
    thread.start()
    other = asyncio.create_task(slow(1))
    while not done:
        await asyncio.sleep(0)
    other.cancel()
    len(done)
    """
    assert scripted.play(dedent(cell)).values == [1]


def test_waits_for_threads_keep_the_machines_time() -> None:
    cell = """
    import concurrent.futures, queue, threading
    never = concurrent.futures.Future()
    said = []
    for wait in (
        lambda: queue.Queue().get(timeout=0.01),
        lambda: never.result(0.01),
        lambda: list(concurrent.futures.as_completed([never], 0.01)),
    ):
        try:
            wait()
        except (queue.Empty, TimeoutError) as error:
            said.append(type(error).__name__)
    said + [threading.Event().wait(0.01)]
    """
    assert values(cell) == [["Empty", "TimeoutError", "TimeoutError", False]]


def test_a_loop_whose_wait_is_refused_ends_with_the_reason() -> None:
    refused = scripted.play("import asyncio\nawait asyncio.sleep(1, await asyncio.sleep(7e-3))", "get(1)", refuse=0.007)
    (_, _, verdict, told), after = (one for one in refused.said if one[0] == "d")
    assert (verdict, told["type"], told["message"]) == ("error", "ValueError", "no more")
    assert after[2:] == ["value", 1]


def test_a_checkpoint_takes_the_clock_up_where_it_was() -> None:
    cells = (
        "from cellwright_guest import clock\nimport time\ndef read():\n    return [time.time(), time.monotonic()]",
        "kept = clock.state()\nfirst = read()",
        "clock.restore(kept)\nfirst == read()",
    )
    assert values(*cells)[2] is True


@pytest.mark.slow
def test_pandas_reads_the_same_clock(venv: Any) -> None:
    site = next(str(path) for path in venv.glob("lib/python*/site-packages"))
    cell = """
    import pandas, time
    before = time.time()
    read = [pandas.Timestamp.now(), pandas.Timestamp.today(), pandas.to_datetime("now")]
    [*(one.timestamp() for one in read), time.time()]
    """
    (found,) = values(cell, site=site)
    assert found[0] < found[1] < found[2] < found[3] < found[0] + 0.001


def test_ticks_are_microseconds() -> None:
    (found,) = values("import time\n[time.time_ns() for _ in range(50)]")
    assert {late - early for early, late in itertools.pairwise(found)} == {1000}
