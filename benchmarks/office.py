"""What the token counts are about: a calendar, and an office of six services with ten operations that need each other.

Fresh objects each time, with the same contents. Records are as long as those of the services that people use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    id: str
    title: str
    start: datetime
    end: datetime
    time_zone: str
    attendees: list[str]
    location: str
    description: str
    reminders: list[int]
    organizer: str
    status: str
    link: str
    created: datetime


class Calendar:
    """A person's calendar."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    async def create(
        self,
        title: str,
        start: datetime,
        end: datetime,
        *,
        attendees: list[str] | None = None,
        location: str = "",
        description: str = "",
        reminders: list[int] | None = None,
        time_zone: str = "Europe/Oslo",
    ) -> Event:
        """Create an event and invite its attendees, with `reminders` in minutes before the start."""
        number = len(self._events) + 1
        event = Event(
            id=f"evt_7f3a9c{number:04}",
            title=title,
            start=start,
            end=end,
            time_zone=time_zone,
            attendees=attendees or [],
            location=location,
            description=description,
            reminders=reminders or [],
            organizer="ada@example.com",
            status="confirmed",
            link=f"https://calendar.example.com/events/evt_7f3a9c{number:04}",
            created=datetime(2026, 12, 14, 10, 30, number % 60),
        )
        self._events.append(event)
        return event


def events_of(calendar: Calendar) -> list[Event]:
    """What is in it, for who checks the effect; not for the agent."""
    return calendar._events  # pyright: ignore[reportPrivateUsage] - what is private is not offered to the agent


@dataclass(frozen=True, kw_only=True)
class Customer:
    id: str
    name: str
    contact: str
    email: str
    city: str
    since: date


@dataclass(frozen=True, kw_only=True)
class Contract:
    id: str
    customer_id: str
    plan: str
    discount_percent: int
    late_fee_percent: int
    renews: date


@dataclass(frozen=True, kw_only=True)
class Invoice:
    id: str
    customer_id: str
    issued: date
    due: date
    amount: int
    currency: str
    status: str


@dataclass(frozen=True, kw_only=True)
class Fee:
    invoice_id: str
    amount: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Delivery:
    id: str
    invoice_id: str
    carrier: str
    delivered: date
    signed_by: str


@dataclass(frozen=True, kw_only=True)
class Ticket:
    id: str
    delivery_id: str
    subject: str
    status: str
    opened: date


@dataclass(frozen=True, kw_only=True)
class Credit:
    id: str
    customer_id: str
    amount: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Document:
    id: str
    title: str
    url: str
    pages: int


@dataclass(frozen=True, kw_only=True)
class Sent:
    id: str
    to: str
    subject: str
    at: datetime


class Crm:
    async def find_customer(self, name: str) -> Customer:
        """The customer of that name."""
        return Customer(
            id="cus_1881",
            name=name,
            contact="Grace Hansen",
            email="grace@nordlys.example.com",
            city="Tromsø",
            since=date(2021, 4, 6),
        )

    async def contract(self, customer_id: str) -> Contract:
        """The contract that is in force with a customer."""
        return Contract(
            id="con_0417",
            customer_id=customer_id,
            plan="business",
            discount_percent=5,
            late_fee_percent=2,
            renews=date(2027, 4, 6),
        )


class Billing:
    async def invoices(self, customer_id: str, *, since: date, limit: int = 50) -> list[Invoice]:
        """Invoices of a customer, the oldest first."""
        return [
            Invoice(
                id=f"inv_{2600 + month}",
                customer_id=customer_id,
                issued=date(2026, month, 1),
                due=date(2026, month, 15),
                amount=1200 + 35 * month,
                currency="NOK",
                status="open" if month in (3, 7, 8) else "paid",
            )
            for month in range(1, 13)
        ][:limit]

    async def late_fees(self, contract_id: str, invoice_ids: list[str]) -> list[Fee]:
        """What the contract asks for invoices that are late."""
        return [Fee(invoice_id=i, amount=26, reason="2 % for each month begun") for i in invoice_ids]

    async def credit(self, customer_id: str, ticket_ids: list[str], *, amount: int) -> Credit:
        """Give a customer credit for what went wrong."""
        return Credit(id="crd_0091", customer_id=customer_id, amount=amount, reason=", ".join(ticket_ids))


class Shipping:
    async def deliveries(self, invoice_ids: list[str]) -> list[Delivery]:
        """Deliveries that belong to invoices."""
        return [
            Delivery(
                id=f"del_{i[4:]}", invoice_id=i, carrier="Bring", delivered=date(2026, 9, 2), signed_by="G. Hansen"
            )
            for i in invoice_ids
        ]


class Support:
    async def tickets(self, delivery_ids: list[str]) -> list[Ticket]:
        """Tickets about deliveries."""
        return [
            Ticket(
                id=f"tic_{i[4:]}",
                delivery_id=i,
                subject="Part of the delivery was missing",
                status="open",
                opened=date(2026, 9, 3),
            )
            for i in delivery_ids
        ]

    async def close(self, ticket_ids: list[str], *, answer: str) -> list[Ticket]:
        """Answer tickets and close them."""
        return [
            Ticket(id=i, delivery_id=f"del_{i[4:]}", subject=answer, status="closed", opened=date(2026, 9, 3))
            for i in ticket_ids
        ]


class Documents:
    async def write(self, title: str, lines: list[str], *, folder: str = "/") -> Document:
        """Write a document of these lines."""
        return Document(id="doc_5512", title=title, url="https://documents.example.com/doc_5512", pages=1)


@dataclass
class Mail:
    _sent: list[Sent] = field(default_factory=list[Sent])

    async def send(self, to: str, subject: str, body: str, *, attachments: list[str] | None = None) -> Sent:
        """Send a mail, with documents as `attachments` by their ids."""
        sent = Sent(id="msg_3020", to=to, subject=subject, at=datetime(2026, 12, 14, 10, 30))
        self._sent.append(sent)
        return sent


def sent_of(mail: Mail) -> list[Sent]:
    return mail._sent  # pyright: ignore[reportPrivateUsage] - as above


def calendar_scope() -> dict[str, Any]:
    return {"calendar": Calendar()}


def office_scope() -> dict[str, Any]:
    return {
        "crm": Crm(),
        "billing": Billing(),
        "shipping": Shipping(),
        "support": Support(),
        "documents": Documents(),
        "mail": Mail(),
    }
