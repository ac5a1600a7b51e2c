"""Binding an object lets guest code call it, and does not let guest code change it: attributes, items, `+=`."""

from __future__ import annotations

import logging
import types
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from cellwright import Limits, Runtime, Scope

LAYER = "binding"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


@dataclass
class Account:
    """By handle: it has a method, a property with a setter, and items."""

    owner: str = "ada"
    limit: int = 10
    audit: Callable[[], str] = field(default=lambda: "audited")
    rows: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def nickname(self) -> str:
        return self.owner[:1]

    @nickname.setter
    def nickname(self, value: str) -> None:
        self.owner = value + self.owner

    @property
    def balance(self) -> int:
        return 7

    def may_spend(self, amount: int) -> bool:
        return amount <= self.limit

    def __getitem__(self, key: str) -> int:
        return self.rows[key]

    def __setitem__(self, key: str, value: int) -> None:
        self.rows[key] = value

    def __delitem__(self, key: str) -> None:
        del self.rows[key]

    def __iadd__(self, amount: int) -> Account:
        self.limit += amount
        return self


async def told(code: str, scope: Scope | None = None, **names: Any) -> str:
    """The value of a cell as text, or the text of its error."""
    async with Runtime(scope or Scope(names), limits=Limits()) as rt:
        outcome = await rt.execute(code)
    return str(outcome.value) if outcome.error is None else str(outcome.error).splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("account.limit = 1_000_000", 'scope.declare("account.limit", writable=True)'),
        ("account.fresh = 1", 'scope.declare("account.fresh", writable=True)'),
        ("del account.limit", 'scope.declare("account.limit", writable=True)'),
        ("setattr(account, 'owner', 'eve')", 'scope.declare("account.owner", writable=True)'),
        ("account.balance = 9", 'scope.declare("account.balance", writable=True)'),
        ("account['a'] = 1", 'scope.declare("account.[]", writable=True)'),
        ("del account['b']", 'scope.declare("account.[]", writable=True)'),
        ("account += 5", 'scope.declare("account.iadd", writable=True)'),
    ],
)
async def test_what_guest_code_would_change_of_a_bound_object_is_refused(code: str, line: str) -> None:
    account = Account(rows={"b": 2})
    before = (account.owner, account.limit, dict(account.rows), account.audit)
    text = await told(code, account=account)
    assert "unless that is declared" in text
    assert line in text
    assert (account.owner, account.limit, dict(account.rows), account.audit) == before


async def test_the_declared_lines_grant_it() -> None:
    account = Account(rows={"b": 2})
    scope = Scope({"account": account})
    scope.declare("account.limit", writable=True)
    scope.declare("account.*", writable=["[]", "iadd"])
    code = "account.limit = 20\naccount['a'] = 1\ndel account['b']\naccount += 5\naccount.limit"
    assert await told(code, scope) == "25"
    assert account.rows == {"a": 1}
    assert "unless that is declared" in await told("account.owner = 'eve'", scope)
    assert await told("account.nickname = 'l'\naccount.owner", scope) == "lada"  # a property with a setter


async def test_a_declaration_by_type_holds_and_a_later_one_overrides_it() -> None:
    scope = Scope({"account": Account()})
    scope.declare(Account, writable=True)
    assert await told("account.limit = 20\naccount.limit", scope) == "20"
    scope.declare("account.limit", writable=False)
    assert "unless that is declared" in await told("account.limit = 30", scope)


async def test_code_is_never_replaced_on_the_class_or_on_the_instance() -> None:
    space = types.SimpleNamespace(check=lambda amount: amount < 5, count=1)  # pyright: ignore[reportUnknownLambdaType]
    scope = Scope({"space": space, "account": Account()})
    scope.declare("*", writable=True)
    for code in (
        "space.check = lambda amount: True",
        "del space.check",
        "account.may_spend = lambda amount: True",
        "account.audit = lambda: ''",
        "del account.may_spend",
    ):
        assert "is code of the host" in await told(code, scope), code
    assert await told("space.count = 2\nspace.count, space.check(9)", scope) == "(2, False)"


class Slotted:
    __slots__ = ("check", "count")

    def __init__(self) -> None:
        self.check: Callable[[], bool] = lambda: False
        self.count = 1

    def state(self) -> str:
        return "fine"


class Stored:
    """Keeps its attributes elsewhere."""

    def __init__(self) -> None:
        object.__setattr__(self, "_kept", {"check": lambda: False, "count": 1})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._kept[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._kept[name] = value


@pytest.mark.parametrize("made", [Slotted, Stored])
async def test_code_in_a_slot_or_behind_the_objects_own_lookup_is_not_replaced(made: Callable[[], Any]) -> None:
    scope = Scope({"it": made()})
    scope.declare("it.*", writable=True)
    assert "is code of the host" in await told("it.check = lambda: True", scope)
    assert await told("it.count = 2\nit.count, it.check()", scope) == "(2, False)"


async def test_items_of_containers_stay_writable() -> None:
    class Basket(dict[str, int]):
        def total(self) -> int:
            return sum(self.values())

    class Shelf(UserDict[str, int]):
        def total(self) -> int:
            return sum(self.values())

    class Rows(list[int]):
        def total(self) -> int:
            return sum(self)

    names: dict[str, Any] = {"basket": Basket(a=1), "shelf": Shelf(a=1), "rows": Rows([1])}
    code = "basket['b'] = 2\nshelf['b'] = 3\nrows[0] = 4\nrows += [5]\nbasket.total(), shelf.total(), rows.total()"
    assert await told(code, **names) == "(3, 4, 9)"


async def test_settings_of_a_library_stay_the_owners() -> None:
    with httpx.Client(base_url="https://example.test") as client:
        for name in ("base_url", "headers", "auth", "timeout"):
            text = await told(f"client.{name} = 'https://evil.test'", client=client)
            assert "does not grant" in text or "hidden" in text or "unless that is declared" in text
        assert str(client.base_url) == "https://example.test"
    log = logging.getLogger("cellwright.attacks.setting")
    assert "unless that is declared" in await told("log.level = 99", log=log)
    assert log.level != 99
