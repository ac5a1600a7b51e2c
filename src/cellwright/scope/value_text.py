"""Values as text for a model or a person: as `repr` writes them, up to a bound.

A guest may have made the value: ten lists that hold each other print without end, and Python refuses to write long
numbers. So plain data is written here piece by piece; only live objects are asked, and what they say is cleaned, as it
is where guest code asks them.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Iterator
from typing import Any

from cellwright.redaction import clean
from cellwright.scope.classes import is_model, kind_of
from cellwright.scope.hidden_values import text_of
from cellwright.short_texts import LONGEST_WORD, whole_words
from cellwright_guest.wire import type_of

MOST = 1_000_000  # characters
_OPENED: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
_STANDARD = ("builtins", "datetime", "decimal", "uuid", "pathlib", "zoneinfo")


def shown(value: Any, most: int = MOST) -> str:
    """`repr(value)`; of a longer text the first `most` characters and a mark."""
    text: list[str] = []
    room = most
    for part in ValueWriter(most).parts(value):
        text.append(part[:room])
        room -= len(part)
        if room < 0:
            return f"{''.join(text)}… [cut after {most:,} characters]"
    return "".join(text)


class ValueWriter:
    """Writes one value, piece by piece. `within` are the ids of the containers round the part that is being written."""

    LARGE_BITS = 14_000  # of a number; Python writes 4300 decimal digits and no more

    def __init__(self, most: int) -> None:
        self._most = most
        self.within: list[int] = []

    def parts(self, value: Any) -> Iterator[str]:
        kind = type_of(value)
        if kind in (str, bytes, bytearray):
            yield repr(value[: self._most + 1])
        elif kind is int and value.bit_length() > self.LARGE_BITS:
            yield hex(value)
        elif mark := self.instead(value, kind):
            yield mark
        elif (inner := self.inner(value, kind)) is not None:
            self.within.append(id(value))
            yield from inner
            self.within.pop()
        else:
            yield _own(value, self._most)

    def instead(self, value: Any, kind: type) -> str:
        """What is written for a value inside of itself, "" for any other value."""
        if id(value) not in self.within:
            return ""
        return "{...}" if kind is dict else "[...]" if kind is list else "..."

    def inner(self, value: Any, kind: type) -> Iterator[str] | None:
        """The parts of a container, a record or an error; None for a value that has to write itself."""
        if kind is dict:
            return self._pairs("{", ": ", value.items(), "}")
        if kind in _OPENED and (value or kind in (list, tuple)):
            first, last = _OPENED[kind]
            return self.items(first, value, f",{last}" if kind is tuple and len(value) == 1 else last)
        if kind in (slice, range):
            parts = (value.start, value.stop, value.step)
            return self.items(f"{kind.__name__}(", parts[:2] if kind is range and value.step == 1 else parts, ")")
        if issubclass(kind, BaseException):
            return self.items(f"{kind.__name__}(", value.args, ")")
        how = kind_of(kind)
        if how == "namedtuple":
            fields: Iterable[tuple[Any, Any]] = zip(kind._fields, value, strict=True)  # type: ignore[attr-defined]
            return self._pairs(f"{kind.__name__}(", "=", fields, ")")
        if how == "object":
            return self._pairs(f"{kind.__name__}(", "=", value.__dict__.items(), ")")
        if how in ("record", "model") and (names := _field_names(kind)) is not None:
            return self._pairs(f"{kind.__name__}(", "=", ((n, getattr(value, n, None)) for n in names), ")")
        return None

    def items(self, first: str, values: Iterable[Any], last: str) -> Iterator[str]:
        yield first
        for place, value in enumerate(values):
            yield ", " if place else ""
            yield from self.parts(value)
        yield last

    def _pairs(self, first: str, between: str, pairs: Iterable[tuple[Any, Any]], last: str) -> Iterator[str]:
        yield first
        for place, (key, value) in enumerate(pairs):
            yield ", " if place else ""
            yield from self.parts(key) if between == ": " else (key,)
            yield between
            yield from self.parts(value)
        yield last


def _field_names(cls: Any) -> list[str] | None:
    """The fields that the generated `repr` of a class shows; None where the developer wrote the `repr`."""
    if is_model(cls):
        written = cls.__repr__.__module__.startswith("pydantic.")
        return [name for name, field in cls.model_fields.items() if field.repr] if written else None
    written = hasattr(cls.__repr__, "__wrapped__")  # as `dataclass` makes it
    return [field.name for field in dataclasses.fields(cls) if field.repr] if written else None


def _own(value: Any, most: int) -> str:
    """The `repr` of an object, cleaned."""
    try:
        text = repr(value)
    except Exception as error:  # an outer edge: the developer's `repr` must not end a turn
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    standard = type_of(value).__module__ in _STANDARD or isinstance(value, type | types.GenericAlias)
    return text if standard else clean(text_of(value, whole_words(text, most + LONGEST_WORD)))
