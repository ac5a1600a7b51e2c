"""Other ways to an operation that has a hook, and hooks that treat a call as it is not meant to be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cells import PATIENT, said
from tests.guard.test_hostile_guests import RAW

from cellwright import Runtime
from cellwright.errors import Denied
from cellwright.guard import Hook, HookedCall

pytestmark = pytest.mark.usefixtures("warm")


class Bank:
    def __init__(self) -> None:
        self.paid: list[Any] = []

    def pay(self, to: Any, how: str = "") -> str:
        self.paid.append(to)
        return "paid"


class Desk:
    """Hands out what pays, and calls what it is given."""

    def __init__(self, bank: Bank) -> None:
        self.deliver = bank.pay
        self._bank = bank

    def payer(self) -> Any:
        return self._bank.pay

    def each(self, function: Any, to: str) -> Any:
        return function(to)


async def not_eve(call: HookedCall) -> None:
    if call.args[0] == "eve":
        raise Denied("not eve")


@pytest.mark.parametrize("way", ["bank.pay('eve')", "desk.deliver('eve')", "desk.payer()('eve')", "pay('eve')"])
@pytest.mark.parametrize("operation", ["bank.pay", "Bank.pay"])
async def test_a_hook_sees_a_call_under_whatever_name(operation: str, way: str) -> None:
    bank = Bank()
    scope = {"bank": bank, "desk": Desk(bank), "pay": bank.pay}
    hooks = [Hook(operation=operation, before=not_eve)]
    async with Runtime(scope, limits=PATIENT, hooks=hooks) as rt:
        assert "not eve" in await said(rt, way)
        assert await said(rt, way.replace("eve", "ann")) == "paid"
    assert bank.paid == ["ann"]


async def test_host_code_is_not_given_a_function_that_it_would_call_past_a_hook() -> None:
    bank = Bank()
    scope = {"desk": Desk(bank), "pay": bank.pay}
    async with Runtime(scope, limits=PATIENT, hooks=[Hook(operation="pay", before=not_eve)]) as rt:
        assert "pay has a hook" in await said(rt, "desk.each(pay, 'eve')")
        assert await said(rt, "desk.each(lambda to: pay(to), 'ann')") == "paid"
    assert bank.paid == ["ann"]


@pytest.mark.parametrize("given", ["[{'t': ['ann', 'eve']}, {'d': []}]", "['ann', 'eve']"])
async def test_what_a_hook_leaves_as_it_was_is_given_as_the_hook_saw_it(given: str) -> None:
    async def kept(call: HookedCall) -> HookedCall:
        return call.changed(call.args[0], "checked")

    bank = Bank()
    async with Runtime({"bank": bank}, limits=PATIENT, hooks=[Hook(operation="bank.pay", before=kept)]) as rt:
        raw = RAW.replace("mail", "bank")
        await said(rt, f"{raw}\nask('call', MAIL, 'pay', {{'t': {given}}})")
        assert await said(rt, "bank.pay('bo', 'unchecked')") == "paid"
    assert bank.paid == ["bo"]
