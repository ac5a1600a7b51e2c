"""A call's path: the cell, the task or thread in it, the count there."""

from __future__ import annotations

from textwrap import dedent

import pytest
from tests.guest import scripted


def paths(*cells: str) -> list[str]:
    """The paths of the calls that the cells make, in order; each cell comes to a value."""
    played = scripted.same(*map(dedent, cells))
    errors = [one for one in played.said if one[0] == "d" and one[2] != "value"]
    assert not errors
    return [path for path, _, _ in played.calls]


def test_calls_are_counted_within_their_cell() -> None:
    assert paths("get(1); get(2)", "await aget(3)", "get(4)") == ["1#1", "1#2", "2#1", "3#1"]


def test_a_task_counts_its_own_calls_and_its_own_tasks() -> None:
    cell = """
    import asyncio
    async def inner():
        await aget("inner")
    async def outer():
        await aget("outer")
        await asyncio.create_task(inner())
    await asyncio.gather(outer(), inner())
    get("cell")
    """
    assert sorted(paths(cell)) == ["1#1", "1.1#1", "1.1.1#1", "1.2#1"]


def test_a_task_left_over_keeps_the_path_of_its_cell() -> None:
    cells = (
        "import asyncio\nasync def two():\n    await aget(1)\n    await aget(2)\ntask = asyncio.create_task(two())",
        "get(3)\nawait task",
    )
    assert paths(*cells) == ["1.1#1", "2#1", "1.1#2"]


def test_a_task_made_with_a_context_of_its_own_has_a_path() -> None:
    cell = """
    import asyncio, contextvars
    mine = contextvars.copy_context()
    for context in (mine, mine, contextvars.Context()):
        await asyncio.create_task(aget(1), context=context)
    contextvars.Context().run(get, 2)
    """
    assert paths(cell) == ["1.1#1", "1.2#1", "1.3#1", "1#1"]


def test_a_loop_of_the_cells_own_counts_on_below_its_cell() -> None:
    cell = "import asyncio\nasync def one():\n    await aget(1)\nasyncio.run(one())\nasyncio.run(one())\nget(1)"
    # the two between them are asyncio's own: they close what the first loop left open
    assert paths(cell) == ["1.1#1", "1.4#1", "1#1"]


def test_a_callback_counts_below_the_path_it_came_with() -> None:
    cell = """
    import asyncio
    async def awaited(x):
        await asyncio.gather(aget(1), aget(2))
        await aget(3)
    def plain(x):
        get(x)
    callback(plain)
    callback(awaited)
    await acallback(plain)
    await acallback(awaited)
    """
    within = ["{}/1#1", "{}/2#1"], ["{}/1.1#1", "{}/1.2#1", "{}/1#1", "{}/2.1#1", "{}/2.2#1", "{}/2#1"]
    expected = [f"1#{n}" for n in range(1, 5)] + [
        path.format(f"1#{n}") for n, kind in zip(range(1, 5), (0, 1, 0, 1), strict=True) for path in within[kind]
    ]
    assert sorted(paths(cell)) == sorted(expected)


def test_what_begins_in_a_block_has_its_prefix() -> None:
    cell = """
    import asyncio, threading
    from cellwright_guest import paths
    get(1)
    block = paths.block()
    get(2)
    await asyncio.create_task(aget(3))
    thread = threading.Thread(target=get, args=(4,))
    thread.start()
    thread.join()
    inner = paths.block()
    get(5)
    inner.close()
    get(6)
    block.close()
    get(7)
    other = paths.block()
    get(8)
    other.close()
    other.close()
    get(9)
    """
    assert paths(cell) == ["1#1", "1+1#1", "1+1.1#1", "1+1~1#1", "1+1+1#1", "1+1#2", "1#2", "1+2#1", "1#3"]


def test_a_generator_that_the_collector_ends_moves_no_number() -> None:
    cell = """
    import asyncio, gc
    async def left_open():
        try:
            yield 1
        finally:
            await aget("closed")
    async def abandon():
        generator = left_open()
        await anext(generator)
        holder = [generator]
        holder.append(holder)
    await abandon()
    gc.collect()
    await asyncio.create_task(aget(1))
    await asyncio.create_task(aget(2))
    """
    assert sorted(paths(cell)) == ["1!.1#1", "1.1#1", "1.2#1"]


@pytest.mark.slow
def test_a_path_stays_short_however_deep_the_tasks_nest() -> None:
    cell = """
    import asyncio
    async def down(n):
        await aget(n)
        if n:
            await asyncio.create_task(down(n - 1))
    await down(300)
    """
    found = [path for path in paths(cell) if ":" not in path]
    assert len(set(found)) == 301
    assert max(map(len, found)) < 250
    assert all(path.startswith("1") for path in found)


def test_a_call_tells_the_line_of_the_cell_it_came_from() -> None:
    cell = """
    import asyncio
    def one():
        return get(1)
    one()
    await aget(
        2)
    await asyncio.gather(
        aget(3),
        aget(4),
    )
    sorted([1, 2], key=lambda x: get(x))
    """
    played = scripted.play(dedent(cell))
    lines = [one[7] for one in played.said if one[0] == "c"]
    assert lines[:2] == [4, 6]
    assert all(line in (8, 9, 10) for line in lines[2:4])
    assert lines[4:] == [12, 12]


def test_calls_that_a_finalizer_makes_have_a_path_too() -> None:
    cell = """
    class Left:
        def __del__(self):
            get("gone")
    left = Left()
    del left
    get(1)
    """
    assert paths(cell) == ["1#1", "1#2"]


def test_tasks_in_a_set_have_the_same_order_on_every_run() -> None:
    cell = """
    import asyncio
    async def one(i):
        return i
    done, _ = await asyncio.wait([asyncio.create_task(one(i)) for i in range(20)])
    [await aget(task.result()) for task in done]
    """
    assert len(paths(cell)) == 20
