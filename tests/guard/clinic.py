"""A clinic with patients and invoices: made-up people, whose names and numbers nothing but the mail may have."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path

from cellwright import operation


@dataclass(frozen=True)
class Patient:
    id: int
    full_name: str
    email: str
    phone: str
    street: str
    date_of_birth: dt.date
    npi: int


@dataclass(frozen=True)
class Invoice:
    patient_id: int
    amount: float
    due: dt.date


@dataclass
class Record:
    """By handle: it has a method."""

    full_name: str
    email: str
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)


PATIENTS = (
    Patient(1, "Ann Lee", "ann.lee@mail.example", "+1 212 555 0147", "12 Elm Street", dt.date(1980, 3, 4), 1234567893),
    Patient(
        2, "Bo Lindqvist", "bo@lindqvist.example", "+1 212 555 0163", "7 Oak Avenue", dt.date(1971, 9, 9), 1245319599
    ),
    Patient(
        3, "Cid Moreau", "cid.moreau@web.example", "+1 646 555 0170", "99 Pine Road", dt.date(1965, 1, 31), 1679576722
    ),
)
INVOICES = (
    Invoice(1, 120.5, dt.date(2026, 9, 1)),
    Invoice(2, 80.0, dt.date(2027, 1, 1)),
    Invoice(3, 15.25, dt.date(2026, 10, 2)),
    Invoice(1, 30.0, dt.date(2026, 8, 1)),
)


def private_texts() -> list[str]:
    """What must be nowhere."""
    return [
        text for p in PATIENTS for text in (p.full_name, p.email, p.phone, p.street, str(p.npi), str(p.date_of_birth))
    ]


def found_in(content: str | bytes) -> list[str]:
    """The private texts that stand somewhere, in any case and as JSON writes them."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    return [one for one in private_texts() if one.lower() in text.lower()]


def found_below(place: Path, but: str = "") -> list[str]:
    """The same in all files of a directory, without the text `but`."""
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in place.rglob("*") if path.is_file()}
    return [
        f"{one} in {name}" for name, text in texts.items() for one in found_in(text.replace(but, "") if but else text)
    ]


class Clinic:
    """What the code has. `sent` is what left it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.given: list[str] = []
        self.record = Record("Ann Lee", "ann.lee@mail.example")

    @operation(reads=True)
    def patients(self) -> list[Patient]:
        """All patients."""
        return list(PATIENTS)

    @operation(reads=True)
    def invoices(self) -> list[Invoice]:
        """All invoices."""
        return list(INVOICES)

    @operation(reads=True)
    def card(self, id: int) -> dict[str, object]:
        """What the desk knows of a patient."""
        p = PATIENTS[id - 1]
        return {"patient_name": p.full_name, "contact": {"email": p.email, "tel": p.phone}, "visits": 3}

    @operation(reads=True)
    def letter(self) -> str:
        """A letter that came in."""
        return (
            "Dear clinic, this is Ann Lee. Write to ann.lee@mail.example, <EMAIL_1_aaaaaaaa>, or call +1 212 555 0147."
        )

    @operation(reads=True)
    def open(self, id: int) -> Record:
        """The record of a patient, to write into."""
        return self.record

    @operation(reads=True)
    def fail(self, id: int) -> None:
        """Fails."""
        raise LookupError(f"no invoice for {PATIENTS[id - 1].email}")

    @operation(may_have=["email"])
    def mail(self, to: str, text: str) -> str:
        """Send a mail."""
        self.sent.append((to, text))
        return f"sent to {to}"

    @operation()
    def log(self, text: str) -> None:
        """Write into the log of the house."""
        self.given.append(text)

    @operation(reads=True)
    def each(self, work: object) -> list[object]:
        """`work` of each address."""
        assert callable(work)
        return [work(p.email) for p in PATIENTS]
