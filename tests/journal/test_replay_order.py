"""What a guest is told again: in the recorded order, one at a time, whenever it asks."""

from __future__ import annotations

import asyncio
import itertools
import random

from cellwright.doors import Call
from cellwright.journal.guest_clock import GuestClock
from cellwright.journal.replay import Replay
from cellwright.journal.writer import DryWriter
from cellwright.store import MemoryStore
from cellwright.store.rows import CellRow, Row
from cellwright_guest.wire import NOTHING, Packed


def row(path: str, delivered: int) -> Row:
    return Row(cell=1, path=path, verb="call", status="done", value=Packed(path, []), delivered=delivered)


def call(path: str) -> Call:
    return Call(id=hash(path), cell=1, verb="call", target=0, name="", arguments=NOTHING, path=path)


def replay_of(*rows: Row) -> Replay:
    async def restore(tree: str) -> None:
        raise AssertionError(tree)

    def nothing(row: Row) -> None:
        raise AssertionError(row)

    writer = DryWriter(MemoryStore())
    return Replay(writer, GuestClock(), restore=restore, adopted=nothing, invoke_again=nothing, recorded=rows)


async def turns(replay: Replay, told: list[str], path: str) -> None:
    """As a call under way does it."""
    replay.ask(call(path))
    await replay.turn(replay.host_rows[path])
    told.append(path)


async def test_answers_are_told_in_their_order_however_they_are_asked_for() -> None:
    chance = random.Random(7)
    for _ in range(50):
        paths = [f"1.{n}#1" for n in range(12)]
        order = chance.sample(paths, len(paths))
        told: list[str] = []
        replay = replay_of(*(row(path, n) for n, path in enumerate(order, 1)))
        replay.begin(CellRow(number=1, code=""))
        tasks: list[asyncio.Task[None]] = []
        for path in paths:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            tasks.append(asyncio.create_task(turns(replay, told, path)))
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        assert told == order
        await asyncio.wait_for(replay.caught_up(), 10)


async def test_an_answer_does_not_overtake_one_that_is_on_its_way() -> None:
    told: list[str] = []
    replay = replay_of(row("1.1#1", 1), row("1.2#1", 2), row("1.3#1", 3))
    replay.begin(CellRow(number=1, code=""))
    for _ in range(4):
        await asyncio.sleep(0)
    second = asyncio.create_task(turns(replay, told, "1.2#1"))
    await asyncio.sleep(0)
    first = asyncio.create_task(turns(replay, told, "1.1#1"))
    await asyncio.sleep(0)  # the first is told; the turn of the second comes next
    replay.pump()
    await turns(replay, told, "1.3#1")  # asked for in the very moment between the turn of the second and its telling
    await asyncio.gather(first, second)
    assert told == ["1.1#1", "1.2#1", "1.3#1"]


async def test_what_was_told_after_a_cell_is_not_told_before_its_end() -> None:
    told: list[str] = []
    replay = replay_of(row("1.1#1", 1), row("1.2#1", 2))
    replay.begin(CellRow(number=1, code="", status="done", before=0, after=1))
    tasks = [asyncio.create_task(turns(replay, told, path)) for path in ("1.2#1", "1.1#1")]
    for _ in range(20):
        await asyncio.sleep(0)
    assert told == ["1.1#1"]
    assert not replay.live
    replay.end()
    await asyncio.wait_for(asyncio.gather(*tasks), 10)
    assert told == ["1.1#1", "1.2#1"]
    await asyncio.wait_for(replay.caught_up(), 10)


async def test_an_answer_that_the_guest_gave_up_holds_nobody_up() -> None:
    for moments in itertools.product(range(4), repeat=2):
        told: list[str] = []
        replay = replay_of(row("1.1#1", 1), row("1.2#1", 2), row("1.3#1", 3))
        replay.begin(CellRow(number=1, code=""))
        tasks = {path: asyncio.create_task(turns(replay, told, path)) for path in ("1.3#1", "1.2#1")}
        for _ in range(1 + moments[0]):
            await asyncio.sleep(0)
        tasks["1.1#1"] = asyncio.create_task(turns(replay, told, "1.1#1"))
        for _ in range(moments[1]):
            await asyncio.sleep(0)
        tasks["1.2#1"].cancel()
        await asyncio.wait_for(asyncio.gather(*tasks.values(), return_exceptions=True), 10)
        assert told in (["1.1#1", "1.3#1"], ["1.1#1", "1.2#1", "1.3#1"])
        await asyncio.wait_for(replay.caught_up(), 10)
