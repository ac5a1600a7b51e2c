"""Other ways to an operation that has a hook, and hooks that treat a call as it is not meant to be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cells import PATIENT, said

from cellwright import Runtime
from cellwright.errors import Denied
from cellwright.guard import Hook, HookedCall

pytestmark = pytest.mark.usefixtures("warm")


class Bank:
    def __init__(self) -> None:
        self.paid: list[Any] = []

    def pay(self, to: Any) -> str:
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


def told_to_nobody(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None: ...


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


async def test_a_hook_that_changes_an_argument_in_its_place_lets_no_call_through() -> None:
    async def without_eve(call: HookedCall) -> HookedCall:
        call.args[0].remove("eve")
        return call.changed(*call.args)

    async def without_eve_in_a_copy(call: HookedCall) -> HookedCall:
        return call.changed([to for to in call.args[0] if to != "eve"])

    for hook, told in ((without_eve, "a hook of the host failed"), (without_eve_in_a_copy, "paid")):
        bank = Bank()
        async with Runtime({"bank": bank}, limits=PATIENT, hooks=[Hook(before=hook)]) as rt:
            asyncio.get_running_loop().set_exception_handler(told_to_nobody)
            assert told in await said(rt, "bank.pay(['ann', 'eve'])")
        assert bank.paid == ([["ann"]] if told == "paid" else [])
