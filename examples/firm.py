"""A small firm, for `make demo`: customers, their invoices, and a mailbox. The answers are computed here, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from toolwright import operation


@dataclass(frozen=True)
class Customer:
    id: int
    name: str
    city: str
    email: str


@dataclass(frozen=True)
class Invoice:
    number: int
    customer_id: int
    amount: float
    paid: bool


@dataclass
class Report:
    """Who owes most."""

    name: str
    city: str
    owed: float


CUSTOMERS = [
    Customer(1, "Ada", "Oslo", "ada@example.com"),
    Customer(2, "Bo", "Bergen", "bo@example.com"),
    Customer(3, "Cleo", "Oslo", "cleo@example.com"),
    Customer(4, "Dag", "Narvik", "dag@example.com"),
]
INVOICES = [
    Invoice(501, 1, 120.0, True),
    Invoice(502, 1, 80.0, False),
    Invoice(503, 2, 310.5, True),
    Invoice(504, 3, 99.5, False),
    Invoice(505, 3, 240.0, False),
    Invoice(506, 4, 60.0, False),
]


class Firm:
    """Customers and invoices."""

    @operation(reads=True)
    def customers(self, city: str | None = None) -> list[Customer]:
        """All customers, or those of one city."""
        return [c for c in CUSTOMERS if city in (None, c.city)]

    @operation(reads=True)
    def invoices(self, customer_id: int | None = None, paid: bool | None = None) -> list[Invoice]:
        """Invoices: all, or those of one customer, or those that are (not) paid."""
        return [i for i in INVOICES if customer_id in (None, i.customer_id) and paid in (None, i.paid)]


@dataclass
class Mail:
    """Sends letters."""

    sent: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def send(self, to: str, subject: str, body: str) -> None:
        """Send one email."""
        self.sent.append((to, subject, body))


@dataclass(frozen=True, kw_only=True)
class Task:
    """Words for the agent, the type of the answer, and what is wrong with one ("" for nothing)."""

    words: str
    returns: Any
    check: Callable[[Any, Mail], str]


def _owed() -> dict[str, float]:
    owed: dict[str, float] = {}
    for invoice in INVOICES:
        if not invoice.paid:
            name = CUSTOMERS[invoice.customer_id - 1].name
            owed[name] = owed.get(name, 0) + invoice.amount
    return owed


def _total(value: float, mail: Mail) -> str:
    right = sum(_owed().values())
    return "" if abs(value - right) < 0.005 else f"right is {right}"


def _reminded(value: list[str], mail: Mail) -> str:
    right = {c.email for c in CUSTOMERS if c.name in _owed()}
    if sorted(to for to, _, _ in mail.sent) != sorted(right):
        return f"letters went to {[to for to, _, _ in mail.sent]}"
    return "" if sorted(value) == sorted(_owed()) else f"right is {sorted(_owed())}"


def _most(value: Report, mail: Mail) -> str:
    name, owed = max(_owed().items(), key=lambda pair: pair[1])
    city = next(c.city for c in CUSTOMERS if c.name == name)
    return "" if (value.name, value.city, value.owed) == (name, city, owed) else f"right is {name}, {city}, {owed}"


TASKS = (
    Task(words="How much is owed to us in all? Add up the invoices that are not paid.", returns=float, check=_total),
    Task(
        words="Send one reminder by email to each customer who has an unpaid invoice. Give their names.",
        returns=list[str],
        check=_reminded,
    ),
    Task(words="Which customer owes us most, over all their unpaid invoices?", returns=Report, check=_most),
)
