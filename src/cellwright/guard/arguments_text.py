"""The arguments of a call as text, for the person who is asked about it: all of them, plain, up to a bound.

The text is made from the tree that the call will be made with. Only plain data is built from it, and no code of a host
object runs: host objects are shown by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cellwright.short_texts import printable
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import Bounds, Packed, WireError, type_of

LONGEST = 20_000  # characters
MOST = 1 << 26  # of them, where all is asked for: more than crosses in one call
CUT = "… [cut: there is more than is shown here]"
_DEPTH = 250  # beyond what crosses: only a list that holds itself is deeper
_LARGE_BITS = 4000
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}

Name = Callable[[int], str]
"""What a host object (a number above zero) or a class (below) is called."""


def arguments_text(arguments: Packed, name: Name, longest: int | None = LONGEST) -> str:
    """`(7, to='ann')`, up to `longest` characters. Raises `WireError` for what no honest guest sends."""

    def other(tag: str, body: Any, unpacker: Unpacker) -> Any:
        return _stand_in(tag, body, unpacker, name)

    given = Unpacker(arguments.blobs, other, Bounds()).unpack(arguments.tree)
    if type_of(given) is not tuple:
        raise WireError("arguments that are not a tuple")
    text: list[str] = []
    room = MOST if longest is None else longest
    for part in _given(given, room + 1):
        text.append(part[:room])
        room -= len(part)
        if room < 0:
            return printable("".join(text)) + CUT
    return printable("".join(text))


def _given(given: tuple[Any, ...], most: int) -> Iterator[str]:
    args: tuple[Any, ...] = given
    kwargs: dict[Any, Any] = {}
    if len(given) == 2 and type_of(given[0]) is tuple and type_of(given[1]) is dict:
        args, kwargs = given
    yield "("
    for place, value in enumerate(args):
        yield ", " if place else ""
        yield from _value(value, 1, most)
    for place, (key, value) in enumerate(kwargs.items()):
        yield ", " if place or args else ""
        yield f"{_word(key)}="
        yield from _value(value, 1, most)
    yield ")"


def _value(value: Any, depth: int, most: int) -> Iterator[str]:
    kind = type_of(value)
    if depth > _DEPTH:
        yield "…"
    elif kind is dict:
        yield from _pairs(value, depth + 1, most)
    elif kind is _StandIn:
        yield value.word
        if value.fields is not None:
            yield from _items("(", value.fields, ")", depth + 1, most)
    elif kind is slice:
        yield from _items("slice(", (value.start, value.stop, value.step), ")", depth + 1, most)
    elif kind in _BRACKETS and (value or kind in (list, tuple)):
        first, last = _BRACKETS[kind]
        last = f",{last}" if kind is tuple and len(value) == 1 else last
        yield from _items(first, value, last, depth + 1, most)
    elif kind in (str, bytes, bytearray):
        yield repr(value[:most])  # what is left out here is over the bound, and marked there
    elif kind is int and value.bit_length() > _LARGE_BITS:
        yield hex(value)  # Python refuses to write so many decimal digits
    else:
        yield repr(value)


def _items(first: str, values: Iterable[Any], last: str, depth: int, most: int) -> Iterator[str]:
    yield first
    for place, value in enumerate(values):
        yield ", " if place else ""
        yield from _value(value, depth, most)
    yield last


def _pairs(values: dict[Any, Any], depth: int, most: int) -> Iterator[str]:
    yield "{"
    for place, (key, value) in enumerate(values.items()):
        yield ", " if place else ""
        yield from _value(key, depth, most)
        yield ": "
        yield from _value(value, depth, most)
    yield "}"


class _StandIn:
    """In the place of what is no plain data. Equal to itself alone: as a key it takes no other key's place."""

    __slots__ = ("fields", "word")

    def __init__(self, word: str, fields: list[Any] | None = None) -> None:
        self.word = word
        self.fields = fields


def _stand_in(tag: str, body: Any, unpacker: Unpacker, name: Name) -> _StandIn:
    """Unpacks the same parts as whoever builds the value: later parts refer to them by number."""
    match tag, body:
        case (("h" | "c"), int(number)):
            return _StandIn(f"<{name(number)}>")
        case "o", [int(number), fields]:
            return _StandIn(name(number), unpacker.values(fields))
        case "e", [int(number), (str() | int()) as member]:
            return _StandIn(f"{name(number)}.{_word(member)}")
        case "g", [int(), str(), str(function)]:
            return _StandIn(f"<function {_word(function)}>")
        case "E", [_, arguments, str(kind), text]:
            return _StandIn(f"<exception {_word(kind)}>", [unpacker.unpack(arguments), unpacker.unpack(text)])
        case "a", [str(kind), *_]:
            return _StandIn(f"<a {_word(kind)}>")
        case "T" | "G", _:
            return _StandIn("<a type>")
        case _:
            raise WireError(f"a value of the kind {tag!r:.20}")


def _word(text: Any) -> str:
    """A name that the guest chose, so that it can be taken for nothing else."""
    if type_of(text) is str and all(part.isidentifier() for part in text.split(".")):
        return text[: LONGEST + 1]
    return repr(text[: LONGEST + 1] if type_of(text) is str else text) if type_of(text) in (str, int) else "?"
