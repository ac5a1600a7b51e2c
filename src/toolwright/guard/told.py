"""The arguments of a call as the person reads them who is asked for it: all of them, plain, up to a bound.

What is shown is read from the same tree as what will be called. Nothing is built of it but plain data, and no code of
a host object runs: those are told by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from toolwright.journal import printable
from toolwright_guest.unpacking import Unpacker
from toolwright_guest.wire import Bounds, Packed, WireError, type_of

LONGEST = 20_000  # characters
CUT = "… [cut: there is more than is shown here]"
_DEPTH = 250  # beyond what crosses: only a list that holds itself is deeper
_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}

Name = Callable[[int], str]
"""What a host object (a number above zero) or a class (below) is called."""


def told(arguments: Packed, name: Name) -> str:
    """`(7, to='ann')`. Raises `WireError` for what no honest guest sends."""
    given = Unpacker(arguments.blobs, _Words(name).read, Bounds()).unpack(arguments.tree)
    parts = _given(given) if type_of(given) is tuple else _value(given, 0)
    text: list[str] = []
    room = LONGEST
    for part in parts:
        text.append(part[:room])
        room -= len(part)
        if room < 0:
            return printable("".join(text)) + CUT
    return printable("".join(text))


def _given(given: tuple[Any, ...]) -> Iterator[str]:
    args, kwargs = given, {}
    if len(given) == 2 and type_of(given[0]) is tuple and type_of(given[1]) is dict:
        args, kwargs = given
    yield "("
    for place, value in enumerate(args):
        yield ", " if place else ""
        yield from _value(value, 1)
    for place, (key, value) in enumerate(kwargs.items()):
        yield ", " if place or args else ""
        yield f"{str(key)[:LONGEST]}="
        yield from _value(value, 1)
    yield ")"


def _value(value: Any, depth: int) -> Iterator[str]:
    kind = type_of(value)
    if depth > _DEPTH:
        yield "…"
    elif kind is dict:
        yield from _items("{", value.items(), "}", depth)
    elif kind is _Record:
        yield from _items(f"{value.name}(", value.values, ")", depth)
    elif kind is frozenset:
        yield from _items("frozenset({", value, "})", depth)
    elif kind is set and not value:
        yield "set()"
    elif kind in _BRACKETS:
        first, last = _BRACKETS[kind]
        yield from _items(first, value, "," + last if kind is tuple and len(value) == 1 else last, depth)
    elif kind in (str, bytes, bytearray):
        yield repr(value[: LONGEST + 1])  # what is cut off here is over the bound, and marked there
    elif kind is int and value.bit_length() > 4000:
        yield hex(value)  # which Python writes at any length
    else:
        yield repr(value)


def _items(first: str, values: Any, last: str, depth: int) -> Iterator[str]:
    pairs = type_of(values) is type_of({}.items())
    yield first
    for place, value in enumerate(values):
        yield ", " if place else ""
        if pairs:
            yield from _value(value[0], depth + 1)
            yield ": "
            value = value[1]
        yield from _value(value, depth + 1)
    yield last


class _Word(str):
    def __repr__(self) -> str:
        return str(self)


class _Record:
    """An object of a data class, as its fields came."""

    def __init__(self, name: str, values: list[Any]) -> None:
        self.name = name
        self.values = values

    __hash__ = object.__hash__  # as a key it is told like any other


class _Words:
    """Reads what is no plain data. What stands for it is a word, and no object."""

    def __init__(self, name: Name) -> None:
        self._name = name

    def read(self, tag: str, body: Any, unpacker: Unpacker) -> Any:
        match tag, body:
            case ("h" | "c"), int(number):
                return _Word(f"<{self._name(number)}>")
            case "o", [int(number), list(values)]:
                return _Record(self._name(number), unpacker.values(values))
            case "e", [int(number), str() | int() as member]:
                return _Word(f"{self._name(number)}.{member}"[: LONGEST + 1])
            case "g", [_, _, str(name)]:
                return _Word(f"<function {name}>"[: LONGEST + 1])
            case "T" | "G", _:
                return _Word("<a type>")
            case "E", [_, _, _, str(text)]:
                return _Word(f"<an exception: {text!r}>"[: LONGEST + 1])
            case "E" | "a", _:
                return _Word("<an exception>" if tag == "E" else "<a table or an array>")
            case _:
                raise WireError(f"a value of the kind {tag!r:.20}")
