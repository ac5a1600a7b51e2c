"""`current_call()`: what host code may know of the call that it serves."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from tests.scope.lives import Guest, Life

from cellwright import Scope, operation
from cellwright.doors import Call
from cellwright.errors import UsageError
from cellwright.scope import CurrentCall, ScopeHost, current_call
from cellwright_guest.wire import Packed


class Bank:
    def __init__(self) -> None:
        self.seen: list[CurrentCall] = []
        self.threads: list[str] = []

    def pay(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.seen.append(current_call())

    async def pay_later(self) -> None:
        await asyncio.sleep(0)
        self.seen.append(current_call())

    @operation(thread="loop")
    def pay_on_loop(self) -> None:
        self.seen.append(current_call())

    @property
    def balance(self) -> int:
        self.seen.append(current_call())
        return 1

    def twice(self) -> None:
        self.seen += [current_call(), current_call()]

    @operation(reads=True)
    def account(self) -> Bank:
        self.seen.append(current_call())
        return self

    def back(self, function: Any) -> None:
        function()


@pytest.mark.parametrize("name", ["pay", "pay_later", "pay_on_loop"])
async def test_host_code_knows_its_call_on_every_thread(name: str) -> None:
    bank = Bank()
    life = Life({"bank": bank})
    call = life.call("call", life.name("bank"), name)
    await life.answer(call)
    (seen,) = bank.seen
    assert (seen.name, seen.cell, seen.path, seen.session) == (f"bank.{name}", 1, call.path, "s1")
    assert len(seen.idempotency_key) == 32
    assert all(thread == "cellwright-host-calls" for thread in bank.threads)
    life.host.close()


async def test_a_property_knows_its_call_too() -> None:
    bank = Bank()
    life = Life({"bank": bank})
    await life.ask("get", life.name("bank"), "balance")
    assert bank.seen[0].name == "bank.balance"
    life.host.close()


async def test_the_key_is_the_same_in_every_attempt_and_of_no_other_call() -> None:
    bank = Bank()
    life = Life({"bank": bank})
    call = life.call("call", life.name("bank"), "twice")
    other = life.call("call", life.name("bank"), "twice")
    await life.answer(call)
    await life.answer(other)
    again = Life({"bank": bank}, life)
    await again.answer(call)
    elsewhere = Life({"bank": bank}, session="s2")
    await elsewhere.answer(call)
    one, same, two, _, after, _, foreign, _ = [seen.idempotency_key for seen in bank.seen]
    assert one == same == after
    assert len({one, two, foreign}) == 3
    for host in (life.host, again.host, elsewhere.host):
        host.close()


async def test_without_a_journal_each_call_has_a_key_of_its_own() -> None:
    bank = Bank()
    keys: set[str] = set()
    for _ in range(2):
        host = ScopeHost(Scope({"bank": bank}))
        host.open(Guest(), frozenset())
        for _ in range(3):
            bank.seen.clear()
            call = Call(id=1, cell=1, verb="call", target=1, name="twice", arguments=Packed({"t": []}, []))
            assert not (await host.call(call)).failed
            assert bank.seen[0] == bank.seen[1]
            assert (bank.seen[0].path, bank.seen[0].session) == ("", "")
            keys.add(bank.seen[0].idempotency_key)
        host.close()
    assert len(keys) == 6


async def test_calls_at_once_do_not_see_each_other() -> None:
    bank = Bank()
    life = Life({"bank": bank})
    calls = [life.call("call", life.name("bank"), name) for name in ("pay", "pay_later") * 20]
    await asyncio.gather(*map(life.answer, calls))
    assert sorted(seen.path for seen in bank.seen) == sorted(call.path for call in calls)
    life.host.close()


async def test_outside_of_a_call_it_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="outside of a call"):
        current_call()
    bank = Bank()
    life = Life({"bank": bank})
    await life.ask("call", life.name("bank"), "pay_on_loop")
    with pytest.raises(UsageError):
        current_call()
    life.host.close()


async def test_reading_again_after_a_resume_serves_the_call_that_read() -> None:
    class Desk:
        @operation(reads=True)
        def find(self) -> Bank:
            bank = Bank()
            bank.seen.append(current_call())
            found.append(bank)
            return bank

    found: list[Bank] = []
    first = Life({"desk": Desk()})
    number = await first.handle("call", first.name("desk"), "find")
    second = first.resumed({"desk": Desk()})
    await second.ask("call", number, "account")
    assert found[0].seen[0] == found[1].seen[0]
    assert found[1].seen[1].name == f"Bank#{number}.account"
    second.host.close()


async def test_a_callback_into_another_session_has_no_parent_there() -> None:
    guest = Guest()
    other = Life({"bank": Bank()}, guest=guest)
    lent: list[Any] = []
    keeper = Life({"keep": lent.append}, guest=guest)
    given = Packed({"t": [{"g": [1, "function", "f"]}]}, [])
    await keeper.answer(Call(id=5, cell=1, verb="call", target=keeper.name("keep"), name="", arguments=given))
    mine = Life({"use": lambda: lent[0]()})
    await mine.ask("call", mine.name("use"))
    await other.answer(Call(id=6, cell=1, verb="call", target=other.name("bank"), name="back", arguments=given))
    assert guest.parents == [0, 6]
    for life in (other, keeper, mine):
        life.host.close()
