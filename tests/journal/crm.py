"""Host objects of each kind that guest code may hold when its process dies. Each process makes its own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cellwright import operation


class Contact:
    """A connector's record: it knows its own data."""

    def __init__(self, crm: Crm, name: str) -> None:
        self.crm = crm
        self.name = name

    def greet(self) -> str:
        return f"hello {self.name}, from {self.crm.url}"

    def to_journal(self) -> Any:
        return {"name": self.name}

    @classmethod
    def from_journal(cls, kept: Any, root: Any) -> Contact:
        root.log.append(f"from_journal {kept['name']}")
        return cls(root, kept["name"])


class Contacts:
    """An attribute of the crm."""

    def __init__(self, crm: Crm) -> None:
        self._crm = crm

    def get(self, name: str) -> Contact:
        return Contact(self._crm, name)

    def several(self, *names: str) -> list[Contact]:
        return [Contact(self._crm, name) for name in names]


class Deal:
    def __init__(self, title: str) -> None:
        self.title = title
        self.notes: list[str] = []

    @operation(reads=True)
    def summary(self) -> str:
        return f"{self.title}: {len(self.notes)}"

    def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)


class Report:
    def __init__(self, title: str, url: str) -> None:
        self.title = title
        self.url = url

    def text(self) -> str:
        return f"{self.title} of {self.url}"


def _report(crm: Crm, title: str) -> Report:
    crm.log.append(f"revive {title}")
    return Report(title, crm.url)


class Crm:
    """Logs what is asked of it."""

    def __init__(self, url: str = "first") -> None:
        self.url = url
        self.log: list[str] = []
        self.contacts = Contacts(self)

    @operation(reads=True)
    def deal(self, title: str) -> Deal:
        self.log.append(f"deal {title}")
        return Deal(title)

    @operation(reads=True)
    def deals(self, *titles: str) -> list[Deal]:
        self.log.append(f"deals {' '.join(titles)}")
        return [Deal(title) for title in titles]

    @operation(revive=_report)
    def report(self, title: str) -> Report:
        self.log.append(f"report {title}")
        return Report(title, self.url)

    def draft(self, title: str) -> Report:
        self.log.append(f"draft {title}")
        return Report(title, self.url)

    def cursor(self) -> sqlite3.Cursor:
        return sqlite3.connect(":memory:").execute("select 1 union select 2 order by 1")

    def file(self) -> Any:
        return Path(os.devnull).open("rb")

    @operation(reads=True)
    def pages(self) -> Iterator[int]:
        yield from range(10)

    def titles(self, first: Any, more: list[Any]) -> list[str]:
        self.log.append("titles")
        return [one.title for one in (first, *more)]


def first_scope() -> dict[str, Any]:
    return {"crm": Crm()}
