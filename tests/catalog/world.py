"""A scope as an agent would be given one: customers, mail, a database, an HTTP service, statistics, some functions."""

from __future__ import annotations

import enum
import functools
import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import pydantic
from tests.catalog import analytics

from cellwright.scope import Scope, operation

T = TypeVar("T")
NOW = datetime(2026, 5, 4, 12, 30)


class Stage(enum.Enum):
    NEW = "new"
    TALKING = "talking"
    WON = "won"
    LOST = "lost"


class Level(enum.IntEnum):
    DEBUG = 10
    INFO = 20
    ERROR = 40


class Currency(enum.Enum):
    EUR = "EUR"
    NOK = "NOK"
    USD = "USD"


@dataclass
class Contact:
    """Somebody we know."""

    name: str
    email: str
    city: str = "Oslo"
    stage: Stage = Stage.NEW
    tags: list[str] = field(default_factory=list[str])
    seen: datetime | None = None
    score: float = 0.0


@dataclass(frozen=True, order=True)
class Deal:
    """What may be sold."""

    id: int
    contact: str
    amount: float
    stage: Stage = Stage.NEW
    closes: date | None = None


@dataclass(frozen=True)
class Message:
    id: int
    to: list[str]
    subject: str
    body: str
    sent: datetime


@dataclass
class User:
    id: int
    login: str
    admin: bool = False


class Ticket(pydantic.BaseModel):
    """What somebody asked for."""

    title: str
    priority: int = 3
    labels: list[str] = []
    due: date | None = None


class Point(NamedTuple):
    latitude: float
    longitude: float


class Event(NamedTuple):
    topic: str
    number: int


class NotFound(LookupError):
    """There is nobody of that name."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no {key}")
        self.key = key


class RateLimited(Exception):
    """Too many requests."""

    def __init__(self, retry_s: float) -> None:
        super().__init__(f"again in {retry_s} s")
        self.retry_s = retry_s


def people() -> list[Contact]:
    return [
        Contact("Ada", "ada@example.org", "Oslo", Stage.WON, ["vip", "math"], NOW, 9.5),
        Contact("Bo", "bo@example.org", "Bergen", Stage.NEW, [], None, 2.0),
        Contact("Cy", "cy@example.org", "Oslo", Stage.TALKING, ["math"], NOW - timedelta(days=40), 5.25),
        Contact("Di", "", "Tromsø", Stage.LOST, [], None, 1.0),
    ]


class Contacts:
    """The people. Can be counted, walked through, and asked for by name."""

    def __init__(self) -> None:
        self._people = {person.name: person for person in people()}
        self._listeners: list[Callable[[Contact], None]] = []

    def list(self, city: str | None = None, *, stage: Stage | None = None, limit: int = 100) -> list[Contact]:
        """Those of a city, in a stage."""
        found = [p for p in self._people.values() if city in (None, p.city) and stage in (None, p.stage)]
        return found[:limit]

    def get(self, name: str) -> Contact:
        """One by name; NotFound where there is none."""
        if name not in self._people:
            raise NotFound(name)
        return self._people[name]

    def find(self, name: str) -> Contact | None:
        """One by name, or None."""
        return self._people.get(name)

    def create(
        self,
        name: str,
        email: str,
        *,
        city: str = "Oslo",
        stage: Stage = Stage.NEW,
        tags: list[str] | None = None,
    ) -> Contact:
        """Make one."""
        made = self._people[name] = Contact(name, email, city, stage, tags or [])
        for listener in self._listeners:
            listener(made)
        return made

    def update(self, contact: Contact) -> Contact:
        """Keep what was changed."""
        if contact.name not in self._people:
            raise NotFound(contact.name)
        self._people[contact.name] = contact
        return contact

    def delete(self, name: str) -> bool:
        return self._people.pop(name, None) is not None

    def on_change(self, listener: Callable[[Contact], None]) -> None:
        """Call the listener for each that is made."""
        self._listeners.append(listener)

    def filter(self, keep: Callable[[Contact], bool]) -> list[Contact]:
        return [p for p in self._people.values() if keep(p)]

    def rank(self, key: Callable[[Contact], float]) -> list[Contact]:
        return sorted(self._people.values(), key=key, reverse=True)

    def tag(self, names: list[str], tag: str) -> int:
        """Put a tag on many."""
        for name in names:
            self.get(name).tags.append(tag)
        return len(names)

    def __len__(self) -> int:
        return len(self._people)

    def __iter__(self) -> Iterator[Contact]:
        return iter(list(self._people.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._people

    def __getitem__(self, name: str) -> Contact:
        return self.get(name)


class Deals:
    """What may be sold."""

    def __init__(self) -> None:
        self._deals = {
            1: Deal(1, "Ada", 1200.0, Stage.WON, date(2026, 4, 1)),
            2: Deal(2, "Ada", 300.5, Stage.TALKING, date(2026, 6, 1)),
            3: Deal(3, "Cy", 80.0, Stage.TALKING),
        }

    def open(self) -> list[Deal]:
        return [d for d in self._deals.values() if d.stage not in (Stage.WON, Stage.LOST)]

    def all(self) -> tuple[Deal, ...]:
        return tuple(self._deals.values())

    def total(self, *, stage: Stage | None = None) -> float:
        return sum(d.amount for d in self._deals.values() if stage in (None, d.stage))

    def by_contact(self) -> dict[str, list[Deal]]:
        found: dict[str, list[Deal]] = {}
        for deal in self._deals.values():
            found.setdefault(deal.contact, []).append(deal)
        return found

    def move(self, deal_id: int, stage: Stage) -> Deal:
        """Put a deal into another stage."""
        if deal_id not in self._deals:
            raise NotFound(f"deal {deal_id}")
        moved = self._deals[deal_id] = replace(self._deals[deal_id], stage=stage)
        return moved

    def schedule(self, deal_id: int, *, closes: date) -> Deal:
        moved = self._deals[deal_id] = replace(self._deals[deal_id], closes=closes)
        return moved

    def batches(self, size: int) -> Iterator[list[Deal]]:
        deals = list(self._deals.values())
        for i in range(0, len(deals), size):
            yield deals[i : i + size]


class Crm:
    """The customers and their deals."""

    def __init__(self) -> None:
        self.contacts = Contacts()
        self.deals = Deals()
        self.region = "north"

    @property
    def name(self) -> str:
        return "crm"

    @property
    def opened(self) -> datetime:
        return NOW

    async def refresh(self, *, full: bool = False) -> int:
        """Read everything anew; how many there are."""
        return len(self.contacts)

    @contextmanager
    def lock(self, name: str) -> Generator[str]:
        """Nobody else works on it meanwhile."""
        yield name


class Draft:
    """A message that is being written."""

    def __init__(self, mail: Mail, to: str) -> None:
        self._mail = mail
        self.to = to
        self.subject = ""
        self._lines: list[str] = []
        self._files: list[str] = []

    def write(self, line: str) -> Draft:
        self._lines.append(line)
        return self

    def attach(self, path: Path, *, name: str | None = None) -> Draft:
        self._files.append(name or path.name)
        return self

    @property
    def files(self) -> list[str]:
        return list(self._files)

    def send(self) -> Message:
        return self._mail.send(self.to, self.subject, "\n".join(self._lines))


class Mail:
    """A mailbox."""

    def __init__(self) -> None:
        self._sent: list[Message] = []
        self.signature = "— the team"

    def send(
        self,
        to: str | list[str],
        subject: str,
        body: str = "",
        *,
        cc: list[str] | None = None,
        priority: Literal["low", "normal", "high"] = "normal",
    ) -> Message:
        """Send a message."""
        message = Message(len(self._sent) + 1, [to] if isinstance(to, str) else to, subject, body, NOW)
        self._sent.append(message)
        return message

    def outbox(self, limit: int = 10) -> list[Message]:
        return self._sent[:limit]

    def draft(self, to: str) -> Draft:
        return Draft(self, to)

    @property
    def unread(self) -> int:
        return 3

    def archive(self, older_than: timedelta) -> None:
        """Put old ones away."""


class Response:
    """What the service answered."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self._body = body

    @property
    def ok(self) -> bool:
        return self.status < 400

    @property
    def text(self) -> str:
        return str(self._body)

    def json(self) -> Any:
        return self._body

    def header(self, name: str, default: str = "") -> str:
        return default or name


class Batch:
    """Requests that go out together."""

    def __init__(self) -> None:
        self._paths: list[str] = []

    def add(self, path: str) -> None:
        self._paths.append(path)

    @property
    def size(self) -> int:
        return len(self._paths)

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._paths.clear()


class Api:
    """An HTTP service."""

    async def get(self, path: str, *, params: dict[str, str] | None = None) -> Response:
        if path == "/limited":
            raise RateLimited(1.5)
        if path == "/missing":
            return Response(404, {"error": "missing"})
        return Response(200, {"path": path, "items": [1, 2, 3], "params": params or {}})

    async def post(self, path: str, body: dict[str, object]) -> Response:
        return Response(201, body)

    async def user(self, user_id: int) -> User:
        """One user by number."""
        if user_id > 100:
            raise NotFound(f"user {user_id}")
        return User(user_id, f"user{user_id}", admin=user_id == 1)

    async def users(self, *, page: int = 1, size: int = 3) -> list[User]:
        return [await self.user(i) for i in range((page - 1) * size + 1, page * size + 1)]

    async def count(self) -> int:
        return 42

    async def upload(self, content: bytes, name: str) -> str:
        return f"{name}:{len(content)}"

    async def stream(self, topic: str, count: int = 3) -> AsyncIterator[Event]:
        for number in range(count):
            yield Event(topic, number)

    def batch(self) -> Batch:
        return Batch()


class Settings:
    """Whatever anybody put there."""

    def __init__(self) -> None:
        self._values = {"theme": "dark", "size": 12}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]


class Money:
    """An amount that can be reckoned with."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __mul__(self, times: int) -> Money:
        return Money(self.cents * times)

    def __lt__(self, other: Money) -> bool:
        return self.cents < other.cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.cents == self.cents

    def __hash__(self) -> int:
        return hash(self.cents)

    def __float__(self) -> float:
        return self.cents / 100

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f}"


class Archive:
    """Old things. Only to be read."""

    @operation(reads=True)
    def read(self, year: int) -> list[str]:
        return [f"{year}-{month:02}" for month in (1, 2)]

    def erase(self, year: int) -> None: ...


def convert(amount: Decimal, to: Currency, *, source: Currency = Currency.EUR) -> Decimal:
    """Change money."""
    return amount * (Decimal("11.5") if to is Currency.NOK else Decimal(1))


def geocode(city: str) -> Point:
    return Point(59.9, 10.7) if city == "Oslo" else Point(60.4, 5.3)


def log(message: str, *, level: Level = Level.INFO, **fields: str) -> None: ...


def new_id() -> uuid.UUID:
    return uuid.UUID(int=7)


def today() -> date:
    return NOW.date()


def price(cents: int) -> Money:
    return Money(cents)


def first(items: list[T]) -> T:
    return items[0]


def each(items: list[T], work: Callable[[T], Any]) -> list[Any]:
    return [work(item) for item in items]


async def notify(name: str, text: str, /, *, urgent: bool = False) -> bool:
    return True


def database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("create table orders (id integer primary key, customer text, amount real, day text)")
    rows = [("Ada", 12.5, "2026-01-02"), ("Bo", 7.0, "2026-01-03"), ("Ada", 30.0, "2026-02-01")]
    db.executemany("insert into orders (customer, amount, day) values (?, ?, ?)", rows)
    return db


def names() -> dict[str, Any]:
    """What is bound, made anew."""
    classes: dict[str, Any] = {cls.__name__: cls for cls in (Contact, Deal, Stage, Level, Currency, Ticket, Point)}
    errors: dict[str, Any] = {cls.__name__: cls for cls in (NotFound, RateLimited)}
    functions = (convert, geocode, log, new_id, today, price, first, each, notify)
    return {
        "crm": Crm(),
        "mail": Mail(),
        "db": database(),
        "api": Api(),
        "stats": analytics,
        "settings": Settings(),
        "archive": Archive(),
        "cities": ["Oslo", "Bergen", "Tromsø"],
        "rates": {"EUR": 1.0, "NOK": 11.5},
        "limits": (10, "soft"),
        "config": {"retries": 3, "host": "example.org", "tags": ["a"]},
        "send_high": functools.partial(Mail().send, priority="high"),
        **{function.__name__: function for function in functions},
        **classes,
        **errors,
    }


def scope() -> Scope:
    made = Scope(names())
    made.declare("Draft.subject", writable=True)
    made.declare("archive.*", read_only=True)
    return made
