"""Kinds of private values, where one stands in a text, and what a detector of the developer's own is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from cellwright.errors import UsageError
from cellwright.settings import install_command

KINDS = (
    "email", "phone", "card", "iban", "national_id", "ip", "address", "birth_date", "medical_record", "npi", "secret",
    "name",
)  # fmt: skip


class PrivateSpan(NamedTuple):
    """A private value: `text[start:end]`."""

    start: int
    end: int
    kind: str


class Detector(Protocol):
    """Finds values of one kind, which may be one of `KINDS` or new. `columns` are names whose values are of it."""

    @property
    def kind(self) -> str: ...
    @property
    def columns(self) -> Sequence[str]: ...
    def find(self, text: str) -> Iterable[tuple[int, int]]:
        """Start and end of each value. The time must grow with the text, and not with its square."""
        ...


class NameFinder(Protocol):
    """Finds names of people in free text."""

    def names(self, text: str) -> list[tuple[int, int]]: ...


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A detector by a regular expression; its group `value`, if it has one, is the value. `check` may refuse it."""

    kind: str
    pattern: str
    check: Callable[[str], bool] | None = None
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except (re.error, TypeError) as error:
            raise UsageError(f"private: the pattern {self.pattern!r:.50} of {self.kind!r:.50}: {error}") from None
        if isinstance(self.columns, str):
            raise UsageError(f"private: columns={self.columns!r:.50} of {self.kind!r:.50} is no list")

    def find(self, text: str) -> Iterable[tuple[int, int]]:
        compiled = re.compile(self.pattern)
        group = "value" if "value" in compiled.groupindex else 0
        for found in compiled.finditer(text):
            if found[group] and (self.check is None or self.check(found[group])):
                yield found.span(group)


@cache
def library(name: str, extra: str = "privacy") -> Any:
    """A module of an extra, loaded when it is first needed."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"finding private data needs {name.partition('.')[0]}: {install_command(extra)}") from None
