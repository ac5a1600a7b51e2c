"""Clients of one gateway that mean each other no good: whose room, whose questions, and what stays of one that left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cells import PATIENCE_S, PATIENT
from tests.gateway.shops import Shop, opened

from cellwright.errors import PlatformError, UsageError
from cellwright.gateway import Gateway, GatewaySettings
from cellwright.gateway.client_cells import ClientCell
from cellwright.gateway.client_sessions import WAITING, Client

pytestmark = pytest.mark.usefixtures("warm")


def gateway(shop: Any, **options: Any) -> Gateway:
    return Gateway(opened(shop=shop), GatewaySettings(limits=PATIENT, check="off", **options))


def begun(made: Gateway, key: object, code: str, owner: Any = None) -> ClientCell:
    cell = ClientCell()
    cell.begin(made.sessions.run(key, code, cell, Client(owner=owner)))
    return cell


async def outcome(cell: ClientCell) -> Any:
    assert cell.task is not None
    await asyncio.wait([cell.task], timeout=PATIENCE_S)
    assert not cell.task.cancelled()
    return cell.task.result()[1]


async def test_cells_that_wait_when_their_client_leaves_are_not_run() -> None:
    shop = Shop()
    async with gateway(shop) as made:
        first = begun(made, "ann", "await shop.wait()")
        waiting = [begun(made, "ann", f"shop.delete({number})") for number in range(3)]
        await shop.under_way()
        await made.sessions.drop("ann")
        assert first.task is not None
        assert first.task.cancelled()
        for cell in waiting:
            with pytest.raises(UsageError, match="the session was closed"):
                await outcome(cell)
    assert shop.deleted == []


async def test_an_interpreter_that_opens_while_its_client_leaves_is_closed_again() -> None:
    shop = Shop()
    async with gateway(shop) as made:
        cell = begun(made, "ann", "shop.delete(1)")
        await asyncio.sleep(0)  # until it waits for its interpreter
        assert "ann" in made.sessions
        await made.sessions.drop("ann")
        with pytest.raises(UsageError, match="the session was closed"):
            await outcome(cell)
    assert shop.deleted == []


async def test_one_client_takes_half_of_the_room_and_closes_its_own_idle_sessions_for_more() -> None:
    async with gateway(Shop(), sessions=4) as made:
        await outcome(begun(made, "bob", "x = 1", "bob"))
        for number in range(5):
            await outcome(begun(made, ("ann", number), "x = 2", "ann"))
        assert "bob" in made.sessions
        assert (await outcome(begun(made, "bob", "x", "bob"))).value == 1
        assert [number for number in range(5) if ("ann", number) in made.sessions] == [3, 4]


async def test_a_client_whose_sessions_are_all_busy_is_told_so_and_another_has_room() -> None:
    shop = Shop()
    async with gateway(shop, sessions=3) as made:
        busy = [begun(made, ("ann", number), "await shop.wait()", "ann") for number in range(2)]
        await shop.under_way()
        with pytest.raises(PlatformError, match="all 2 sessions that one client may have are busy"):
            await outcome(begun(made, ("ann", 3), "1", "ann"))
        assert (await outcome(begun(made, "bob", "1", "bob"))).value == 1
        for cell in busy:
            await cell.end()


async def test_cells_of_one_session_do_not_wait_without_number() -> None:
    shop = Shop()
    async with gateway(shop) as made:
        cells = [begun(made, "ann", "await shop.wait()") for _ in range(WAITING)]
        await shop.under_way()
        with pytest.raises(UsageError, match=f"{WAITING} calls of execute run or wait"):
            await outcome(begun(made, "ann", "1"))
        await made.sessions.drop("ann")
        await asyncio.gather(*(cell.task for cell in cells if cell.task is not None), return_exceptions=True)


async def test_a_server_that_asks_reaches_only_the_client_whose_code_is_calling_it() -> None:
    shop = Shop()
    async with gateway(shop) as made:
        cell = begun(made, "ann", "await shop.wait()")
        cell.can_ask = True
        asked: list[str] = []

        async def asker(question: Any) -> None:
            asked.append(question.text)
            question.settle({"pin": "1234"})

        cell.asker = asker
        await shop.under_way()
        assert await made.elicit("another", "Your PIN?", {}) is None
        assert asked == []
        assert await made.elicit("shop", "Which one?", {}) == {"pin": "1234"}
        await cell.end()
