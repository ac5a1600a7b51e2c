"""A scope as a firm's agent would be given one: customers, calendar, mail, files, payments, tickets, staff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict

from cellwright.scope import Scope


@dataclass(frozen=True)
class Person:
    """Somebody we know."""

    id: int
    name: str
    email: str
    city: str = "Oslo"


@dataclass(frozen=True)
class Meeting:
    id: int
    title: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Letter:
    id: int
    sender: str
    subject: str
    body: str


class Forecast(TypedDict):
    """The weather of one day."""

    day: date
    celsius: float
    rain_mm: NotRequired[float]


class Contacts:
    """The address book."""

    def create(self, name: str, email: str, *, city: str = "Oslo") -> Person:
        """Add a person to the address book. The email must be new."""
        raise NotImplementedError

    def get(self, contact_id: int) -> Person:
        """One contact by its id."""
        raise NotImplementedError

    def list(self, city: str | None = None, limit: int = 50) -> list[Person]:
        """All contacts, or those of a city."""
        raise NotImplementedError

    def update(self, contact_id: int, **fields: Any) -> Person:
        """Change fields of a contact."""
        raise NotImplementedError

    def delete(self, contact_id: int) -> None:
        """Remove a contact for good."""


class Deal:
    """What may be sold."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.amount = Decimal(0)

    def win(self, on: date | None = None) -> None:
        """Mark the deal as won."""

    def lose(self, reason: str) -> None:
        """Mark the deal as lost."""

    def add_note(self, text: str) -> None:
        """Write a remark on the deal."""

    @property
    def contact(self) -> Person:
        """Who it is with."""
        raise AssertionError("a property was read")


class Deals:
    """The sales pipeline."""

    def open(self, contact_id: int, amount: Decimal) -> Deal:
        """Start a new deal with a contact."""
        raise NotImplementedError

    def pipeline(self, stage: Literal["new", "talking", "won", "lost"] = "new") -> list[Deal]:
        """Deals in a stage."""
        raise NotImplementedError

    def revenue(self, year: int) -> Decimal:
        """The sum of all deals won in a year."""
        raise NotImplementedError


class Crm:
    """Customers and deals."""

    def __init__(self) -> None:
        self.contacts = Contacts()
        self.deals = Deals()
        self.password = "hunter2"

    @property
    def owner(self) -> Crm:
        """Itself, by a property that must not be read."""
        raise AssertionError("a property was read")


class Calendar:
    """Meetings."""

    async def schedule_meeting(self, title: str, start: datetime, minutes: int = 30) -> Meeting:
        """Put a meeting into the calendar."""
        raise NotImplementedError

    async def meetings(self, day: date) -> list[Meeting]:
        """The meetings of a day."""
        raise NotImplementedError

    async def cancelMeeting(self, meeting_id: int) -> None:
        """Cancel a meeting and tell the guests."""

    async def free_slots(self, day: date, minutes: int = 30) -> list[datetime]:
        """When nothing is planned."""
        raise NotImplementedError

    async def invite(self, meeting_id: int, email: str) -> None:
        """Ask somebody to a meeting."""


class Mail:
    """The mailbox."""

    def send(self, to: str, subject: str, body: str) -> int:
        """Send an email. Gives its id."""
        raise NotImplementedError

    def inbox(self, unread: bool = True) -> list[Letter]:
        """Letters that came in."""
        raise NotImplementedError

    def reply(self, letter_id: int, body: str) -> int:
        """Answer a letter."""
        raise NotImplementedError

    def forward(self, letter_id: int, to: str) -> int:
        """Send a letter on to somebody else."""
        raise NotImplementedError

    def archive(self, letter_id: int) -> None:
        """Move a letter out of the inbox."""


class Files:
    """Shared documents."""

    def upload(self, path: str, content: bytes) -> str:
        """Store a file."""
        raise NotImplementedError

    def download(self, path: str) -> bytes:
        """The content of a file."""
        raise NotImplementedError

    def list_folder(self, path: str = "/") -> list[str]:
        """The names in a directory."""
        raise NotImplementedError

    def rename(self, path: str, new_name: str) -> None:
        """Give a file another name."""

    def share(self, path: str, email: str, can_write: bool = False) -> str:
        """Let somebody read a file. Gives a link."""
        raise NotImplementedError


class Payments:
    """Invoices and money."""

    def createInvoice(self, customer_id: int, amount: Decimal, currency: str = "EUR") -> int:
        """Bill a customer."""
        raise NotImplementedError

    def charge_card(self, customer_id: int, amount: Decimal) -> str:
        """Take money from a customer's card."""
        raise NotImplementedError

    def refund(self, payment_id: str, amount: Decimal | None = None) -> None:
        """Give money back."""

    def balance(self) -> Decimal:
        """What is on the account."""
        raise NotImplementedError

    def overdue(self, days: int = 30) -> list[int]:
        """Invoices that nobody has paid in time."""
        raise NotImplementedError


class Tickets:
    """What customers ask for."""

    def open_ticket(self, title: str, text: str, priority: int = 3) -> int:
        """Report a problem."""
        raise NotImplementedError

    def assign(self, ticket_id: int, employee: str) -> None:
        """Give a ticket to an employee."""

    def close_ticket(self, ticket_id: int, resolution: str) -> None:
        """End the work on a ticket."""

    def comment(self, ticket_id: int, text: str) -> None:
        """Write below a ticket."""


class Staff:
    """Employees."""

    def hire(self, name: str, salary: Decimal) -> int:
        """Take on a new employee."""
        raise NotImplementedError

    def vacation_days(self, employee: str) -> int:
        """How many days off are left."""
        raise NotImplementedError

    def request_leave(self, employee: str, first: date, last: date) -> None:
        """Ask for days off."""


def weather(city: str, days: int = 1) -> list[Forecast]:
    """The forecast for a city."""
    raise NotImplementedError


def convert_currency(amount: Decimal, source: str, target: str) -> Decimal:
    """An amount in another currency, at today's rate."""
    raise NotImplementedError


def translate(text: str, language: str) -> str:
    """A text in another language."""
    raise NotImplementedError


def scope() -> Scope:
    """The whole of it."""
    return Scope(
        {
            "crm": Crm(),
            "calendar": Calendar(),
            "mail": Mail(),
            "files": Files(),
            "payments": Payments(),
            "tickets": Tickets(),
            "staff": Staff(),
            "weather": weather,
            "convert_currency": convert_currency,
            "translate": translate,
            "rates": {"EUR": 11.5, "USD": 10.4},
        }
    )
