"""Live objects for the demo: a customer list, a database, a slow API, and a vault with a secret. No network, no key."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Customer:
    """A record without methods: it crosses by value."""

    id: int
    name: str
    city: str


class NoSuchCustomer(LookupError):
    """Raised by `Crm.find`. Guest code can catch it, also as a LookupError."""


class Crm:
    """Customers. An object with methods: guest code gets a handle, and every call runs here."""

    def __init__(self, customers: list[Customer]) -> None:
        self._customers = customers

    def customers(self, city: str | None = None) -> list[Customer]:
        """All customers, or those of one city."""
        return [c for c in self._customers if city in (None, c.city)]

    def find(self, name: str) -> Customer:
        """The customer of this name."""
        for customer in self._customers:
            if customer.name == name:
                return customer
        raise NoSuchCustomer(f"nobody here is called {name!r}")

    def ranked(self, key: Callable[[Customer], Any]) -> list[str]:
        """Names, in the order that `key` gives. `key` may be a function of the guest."""
        return [c.name for c in sorted(self._customers, key=key)]


class Rates:
    """An API that takes its time, as they do."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._euro = {"USD": 0.92, "GBP": 1.17, "NOK": 0.086, "JPY": 0.0061, "CHF": 1.05}

    async def euro(self, currency: str) -> float:
        """How many euros one unit of a currency is."""
        place = list(self._euro).index(currency)
        await asyncio.sleep(self._wait_s * (1 + place % 3) / 3)
        return self._euro[currency]


class Vault:
    """Signs, and keeps what it signs with."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def sign(self, text: str) -> str:
        return hashlib.sha256(f"{self._secret}:{text}".encode()).hexdigest()[:12]


def invoices() -> sqlite3.Connection:
    """A real sqlite3 connection; it is bound as it is."""
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("create table invoices (customer int, amount real, paid int)")
    rows = [(1, 120.0, 0), (1, 80.5, 1), (2, 990.0, 0), (3, 15.25, 0), (4, 310.0, 1), (5, 42.0, 0), (5, 58.0, 0)]
    db.executemany("insert into invoices values (?, ?, ?)", rows)
    db.commit()
    return db


def everything(wait_s: float = 0.6) -> dict[str, Any]:
    """The scope of the demo."""
    people = {"Ada": "Oslo", "Grace": "Bergen", "Linus": "Oslo", "Edsger": "Oslo", "Barbara": "Bergen"}
    return {
        "crm": Crm([Customer(number, name, city) for number, (name, city) in enumerate(people.items(), 1)]),
        "db": invoices(),
        "rates": Rates(wait_s),
        "vault": Vault("correct horse battery staple"),
    }
