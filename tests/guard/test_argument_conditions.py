"""Conditions on arguments: odd values, and what no text tells."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from tests.cells import PATIENT

from cellwright import Runtime
from cellwright.guard import Policy, PolicyRule
from cellwright.guard.argument_conditions import LEAVES, LONGEST, Condition


def nested(value: Any, levels: int = 50) -> Any:
    return nested([value], levels - 1) if levels else value


UNKNOWN: list[tuple[Any, Any]] = [
    ("> 1000", 10**400),
    ("= 5", 10**5000),
    ("1*", 10**5000),
    ("> 1000", float("inf")),
    ("= 5", float("nan")),
    ("> 1000", Decimal("sNaN")),
    ("1*", Decimal("1E+1000000")),
    ("> 1000", None),
    ("*", b"x"),
    ("*", dt.date(2024, 1, 1)),
    ("> 2024-01-01", dt.datetime(2024, 6, 1)),
    ("= x", complex(1, 2)),
    ("x*", "x" * (LONGEST + 1)),
    ("x*", ["x"] * (LEAVES + 1)),
    ("= x", [nested("x"), []]),
    # what counts as true, or as one, is for the operation to say
    (True, 1),
    (True, "yes"),
    (False, None),
    ("= 1", True),
    ("!= 0", True),
    # a path that leads elsewhere
    ("/data/*", "/data/../etc/passwd"),
    ("/data/*", "/data/.."),
    ("not /data/*", "/data/../etc/passwd"),
    ("C:/data/*", "C:/data/\\..\\x"),
    ("https://api.example/public/*", "https://api.example/public/%2E%2e/admin"),
    ("https://api.example/public/*", "https://api.example/public/..%2fadmin"),
    ("https://api.example/public/*", "https://api.example/public/..?x"),
    # a star that would leave the host
    ("*.corp.example", "evil.example/.corp.example"),
    ("*.corp.example", "evil.example?.corp.example"),
    # what some code reads as a text that matches, and some does not
    ("*@strasse.example", "eve@stra\u00dfe.example"),
    ("eve@evil.example", "eve@ev\u200bil.example"),
    ("eve@evil.example", "eve@evil.example."),
    ("*@evil.example", "eve@evil\u3002example"),
    ("*.txt", "a.exe\x00.txt"),
    ("= eve", "e\u200bve"),
    ("!= eve", "e\u200bve"),
]


@pytest.mark.parametrize(("condition", "value"), UNKNOWN, ids=lambda one: type(one).__name__)
def test_what_is_not_known_is_never_allowed_and_always_asked_about(condition: Any, value: Any) -> None:
    held = Condition.of(condition)
    assert None in held.holds(value)
    assert not held.allows(value)
    assert held.may_hold(value)


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("> 5", 10**299, True),
        ("< 5", -(10**299), True),
        ("> 9007199254740993", 9007199254740994, True),
        ("= 0.1", Decimal("0.1"), True),
        ("= 0.1", 0.1, True),
        ("= -0", 0.0, True),
        ("< 5", Decimal("1E-900"), True),
        (True, False, False),
        ("= true", "true", True),
        ("none", None, True),
        ("\ud800*", "\ud800x", True),
        ("= Straße", "STRASSE", None),
        ("= Straße", "straße", True),
        ("/data/*", "/data/..a/b..", True),
        ("x", nested("x"), True),
    ],
    ids=str,
)
def test_what_is_known_holds_or_does_not(condition: Any, value: Any, holds: bool) -> None:
    assert Condition.of(condition).holds(value) == [holds]


class Bank:
    def __init__(self) -> None:
        self.paid: list[Any] = []

    def pay(self, iban: Any, amount: Any = 10, *rest: Any, note: Any = "", **more: Any) -> None:
        self.paid.append((iban, amount, *rest, note, more))


CALLS = [  # code, and whether it may be made where `amount` and `note` are under a rule
    ("bank.pay('a', 5, note='n')", True),
    ("bank.pay(iban='a', amount=5, note='n')", True),
    ("bank.pay(**{'iban': 'a', 'amount': 5, 'note': 'n'})", True),
    ("bank.pay(*('a', 5), note='n')", True),
    ("functools.partial(bank.pay, 'a', note='n')(5)", True),
    ("bank.pay('a', 500, note='n')", False),
    ("bank.pay('a', note='n', amount=500)", False),
    ("bank.pay('a', note='n')", False),  # a default is not known
    ("bank.pay('a', 5, note='eve')", False),
    ("bank.pay('a', 5)", False),
    ("bank.pay('a', 10**400, note='n')", False),
    ("bank.pay('a', decimal.Decimal('sNaN'), note='n')", False),
    ("bank.pay('a', [5, 500], note='n')", False),
    ("bank.pay('a', bank, note='n')", False),
    ("bank.pay('a' * 5_000_000, 5, note='n')", True),
    ("bank.pay('a', 5, note='n' * 5_000_000)", False),
    ("functools.partial(bank.pay, 'a', note='n')(500)", False),
]


@pytest.mark.parametrize("action", ["allow", "deny"])
async def test_a_rule_knows_arguments_however_they_are_given(warm: None, action: Any) -> None:
    small = {"amount": "< 100", "note": "n*"} if action == "allow" else None
    rules = (
        [PolicyRule(action="allow", operation="bank.pay", arguments=small)]
        if small
        else [
            PolicyRule(action="deny", operation="bank.pay", arguments={"amount": ">= 100"}),
            PolicyRule(action="deny", operation="bank.pay", arguments={"note": "not n*"}),
        ]
    )
    bank = Bank()
    policy = Policy(rules=tuple(rules), default="deny" if small else "allow")
    async with Runtime({"bank": bank}, limits=PATIENT, policy=policy) as rt:
        for code, may in CALLS:
            before = len(bank.paid)
            outcome = await rt.execute(f"import decimal, functools\n{code}")
            assert (len(bank.paid) > before, outcome.ok) == (may, may), code
            assert may or "denied by the policy" in str(outcome.error)
