"""A host object whose operations can be undone, or not, or badly; and how to run cells against one under a journal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from cellwright import Limits, Outcome, Runtime, operation
from cellwright.scope import Undoing, current_call
from cellwright.store import Store

PATIENT = Limits(wall_s=20.0, cpu_s=20.0)


def _rename_back(old: str, call: Undoing) -> None:
    ticket: Ticket = call.target
    ticket.put_back(old)


class Ticket:
    """Crosses by handle."""

    def __init__(self, shop: Shop, name: str) -> None:
        self._shop = shop
        self.name = name

    @operation(undo=_rename_back)
    def rename(self, name: str) -> str:
        old, self.name = self.name, name
        self._shop.log.append(f"rename {old} to {name}")
        return old

    def put_back(self, name: str) -> None:
        self._shop.log.append(f"rename back to {name}")
        self.name = name

    def close(self) -> None:
        self._shop.log.append(f"close {self.name}")


def _cancel(ticket: Ticket) -> None:
    ticket.close()


def _take_back(number: int, call: Undoing) -> None:
    shop: Shop = call.target
    shop.take_back(number, call.args[0])


async def _take_back_later(number: int, call: Undoing) -> None:
    await asyncio.sleep(0)
    shop: Shop = call.target
    shop.take_back(number, call.args[0])


class Shop:
    """Logs what it did, and what it undid. An undo of what is in `broken` fails, of what is in `odd` too, otherwise."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.orders: dict[int, str] = {}
        self.broken: set[str] = set()
        self.keys: list[str] = []
        self.gate = asyncio.Event()
        self.at_gate = asyncio.Event()
        self.posted, self.arrived = threading.Event(), threading.Event()
        self.before_undo: Callable[[], None] = lambda: None

    @operation(undo=_take_back)
    def order(self, what: str) -> int:
        return self._ordered(what)

    @operation(undo=_take_back_later)
    async def order_later(self, what: str) -> int:
        await asyncio.sleep(0)
        return self._ordered(what)

    @operation(undo=_take_back_later)
    async def order_at_the_gate(self, what: str) -> int:
        self.at_gate.set()
        await self.gate.wait()
        return self._ordered(what)

    @operation(undo=_take_back)
    def order_by_post(self, what: str) -> int:
        self.posted.set()
        assert self.arrived.wait(20)
        return self._ordered(what)

    @operation(undo=_cancel)
    def ticket(self, name: str) -> Ticket:
        self.log.append(f"ticket {name}")
        return Ticket(self, name)

    @operation(reads=True)
    def find(self, name: str) -> Ticket:
        return Ticket(self, name)

    def mail(self, text: str) -> None:
        self.log.append(f"mail {text}")

    def fail(self, text: str) -> None:
        raise LookupError(text)

    @operation(reads=True)
    def stock(self) -> list[str]:
        return list(self.orders.values())

    def _ordered(self, what: str) -> int:
        number = len(self.log) + 1
        self.orders[number] = what
        self.log.append(f"order {what}")
        return number

    def take_back(self, number: int, what: str) -> None:
        self.before_undo()
        self.keys.append(current_call().idempotency_key)
        if what in self.broken:
            raise ValueError(f"{what} is gone already")
        del self.orders[number]
        self.log.append(f"take back {what}")


def session(shop: Shop, journal: Store | str = "memory:", **options: Any) -> Runtime:
    """A new session, or one that goes on with `resume=True`."""
    if options.pop("resume", False):
        return Runtime.resume("s1", store=journal, scope={"shop": shop}, limits=PATIENT, take_over=True, **options)
    return Runtime({"shop": shop}, store=journal, session="s1", limits=PATIENT, **options)


async def run(rt: Runtime, code: str) -> Outcome:
    return await rt.execute(dedent(code))


async def value(rt: Runtime, code: str) -> Any:
    return (await run(rt, code)).unwrap()


async def failure(rt: Runtime, code: str) -> str:
    """What the agent reads of the error."""
    outcome = await run(rt, code)
    assert outcome.error is not None, outcome
    return str(outcome.error)
