"""A small firm, for `make demo`: customers, their invoices, and a mailbox. The answers are computed here, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cellwright import operation


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
    """What a customer owes."""

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
    def find(self, name: str) -> Customer:
        """The customer of that name; LookupError where there is none."""
        found = [c for c in CUSTOMERS if c.name == name]
        if not found:
            raise LookupError(f"no customer is called {name!r}")
        return found[0]

    @operation(reads=True)
    def invoices(self, customer_id: int | None = None, paid: bool | None = None) -> list[Invoice]:
        """Invoices: all, or those of one customer, or those that are (not) paid."""
        return [i for i in INVOICES if customer_id in (None, i.customer_id) and paid in (None, i.paid)]


class Mail:
    """Sends letters."""

    def __init__(self, sent: list[str]) -> None:
        self._sent = sent

    def send(self, to: str, subject: str, body: str) -> None:
        """Send one email."""
        self._sent.append(to)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Words for the agent, the type of the answer, and what is wrong with it or with the letters sent ("": nothing)."""

    words: str
    returns: Any
    check: Callable[[Any, list[str]], str]


def _owed() -> dict[str, float]:
    owed: dict[str, float] = {}
    for invoice in INVOICES:
        if not invoice.paid:
            name = CUSTOMERS[invoice.customer_id - 1].name
            owed[name] = owed.get(name, 0) + invoice.amount
    return owed


def _total(value: float, sent: list[str]) -> str:
    right = sum(_owed().values())
    return "" if abs(value - right) < 0.005 else f"right is {right}"


def _told(value: list[str], sent: list[str]) -> str:
    right = [c for c in CUSTOMERS if c.city == "Oslo"]
    if sorted(sent) != sorted(c.email for c in right):
        return f"letters went to {sent}"
    return "" if sorted(value) == sorted(c.name for c in right) else f"right is {[c.name for c in right]}"


def _reported(value: Report, sent: list[str]) -> str:
    right = Report(name="Cleo", city="Oslo", owed=_owed()["Cleo"])
    return "" if value == right else f"right is {right}"


TASKS = (
    Task(words="How much is owed to us in all? Add up the invoices that are not paid.", returns=float, check=_total),
    Task(
        words="Send an email to each customer in Oslo: the office moves in May. Give their names.",
        returns=list[str],
        check=_told,
    ),
    Task(words="Report on the customer Cleo: add up her invoices that are not paid.", returns=Report, check=_reported),
)
