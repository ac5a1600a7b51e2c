"""Packing: one value of this side to one tree. A value that cannot cross raises `TypeError` here, on its own side."""

from __future__ import annotations

import datetime as dt
import decimal
import pathlib
import uuid
from collections.abc import Callable
from typing import Any

from cellwright_guest.wire import INT_BITS, Packed, type_of

LONG_STR = 1024
PIECE = 1 << 22  # characters of a text that are encoded at once
SHORT_STR = 64  # not counted in bytes: it takes less than its place in a list
INT_LOW, INT_HIGH = -(1 << 63), 1 << 64
_plain_atoms = frozenset((type(None), bool, float))

Other = Callable[[Any, "Packer"], Any]
_Pack = Callable[["Packer", Any], Any]


class TooLarge(TypeError):
    """More values or bytes than cross at once."""


class Packer:
    """One value to one tree. `other` packs what has no place in the table of plain types, or raises `TypeError`."""

    __slots__ = ("_count", "_depth", "_keep", "_nodes", "_room", "_seen", "_sizes", "blobs", "limit", "other")

    def __init__(self, other: Other, limit: int = 200, nodes: int = 1 << 30, room: int = 1 << 40) -> None:
        self.other = other
        self.blobs: list[Any] = []
        self.limit = limit
        self._depth = 0
        self._seen: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._nodes = nodes
        self._room = room  # bytes that are left
        self._count = 0
        self._keep: list[Any] = []  # an id is only good while its object lives

    def packed(self, value: Any) -> Packed:
        return Packed(self.pack(value), self.blobs)

    def pack(self, value: Any) -> Any:
        kind = type_of(value)
        if kind in _plain_atoms:
            return value
        if kind is str:
            if len(value) <= SHORT_STR:
                return value
            if len(value) > LONG_STR:
                self.require_room(len(value))
                return {"S": self.blob(encoded(value))}
            self.take_room(len(value))
            return value
        if kind is int:
            return value if INT_LOW <= value < INT_HIGH else {"i": self._integer(value)}
        packer = _PACKERS.get(kind)
        if packer is None:
            return self.other(value, self)
        if self._depth >= self.limit:
            raise TypeError(f"data nested deeper than {self.limit} levels")
        self._depth += 1
        before = self._count
        try:
            return packer(self, value)
        finally:
            self._depth -= 1
            number = self._seen.get(id(value))
            if number is not None:
                self._sizes[number] = self._count - before

    def count(self, nodes: int) -> None:
        """Count as the reader will; over its bound the value is refused here."""
        self._count += nodes
        if self._count > self._nodes:
            raise TooLarge(f"more than {self._nodes} values at once, a shared one counted in each place; send fewer")

    def require_room(self, size: int) -> None:
        """Refuse so many bytes before they are copied."""
        if size > self._room:
            raise TooLarge("more bytes than cross at once; send fewer")

    def take_room(self, size: int) -> None:
        self.require_room(size)
        self._room -= size

    def _integer(self, value: int) -> int:
        size = value.bit_length() // 8 + 1
        if size * 8 > INT_BITS:
            raise TypeError(f"an integer of more than {INT_BITS} bits is too large to cross")
        return self.blob(value.to_bytes(size, "little", signed=True))

    def blob(self, data: Any) -> int:
        self.take_room(len(data))
        self.blobs.append(data)
        return len(self.blobs) - 1

    def seen(self, value: Any) -> dict[str, int] | None:
        """A reference to `value` where it has been packed already; otherwise it gets the next number."""
        number = self._seen.get(id(value))
        if number is not None:
            self.count(self._sizes.get(number, 1))
            return {"r": number}
        self._seen[id(value)] = len(self._seen)
        self._keep.append(value)
        return None

    def has_seen(self, value: Any) -> bool:
        return id(value) in self._seen

    def items(self, values: Any) -> list[Any]:
        self.count(len(values))
        kinds = set(map(type, values))
        if kinds <= _plain_atoms:
            return list(values)
        if kinds == {int} and INT_LOW <= min(values) and max(values) < INT_HIGH:
            return list(values)
        if kinds == {str} and max(map(len, values)) <= LONG_STR:
            self.take_room(sum(map(len, values)))
            return list(values)
        return [self.pack(v) for v in values]


def encoded(text: str) -> bytes:
    """The text as UTF-8. A long one is encoded in pieces, between which other threads have a turn."""
    if len(text) <= PIECE:
        return text.encode("utf-8", "surrogatepass")
    pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
    return b"".join([piece.encode("utf-8", "surrogatepass") for piece in pieces])


def _pack_list(p: Packer, value: list[Any]) -> Any:
    return p.seen(value) or p.items(value)


def _pack_tuple(p: Packer, value: tuple[Any, ...]) -> Any:
    if not value:
        return {"t": []}
    # A tuple cannot be filled later, so it takes its number when it is whole: a cycle through it ends in a list.
    if p.has_seen(value):
        return p.seen(value)
    body = {"t": p.items(value)}
    p.seen(value)
    return body


def _pack_dict(p: Packer, value: dict[Any, Any]) -> Any:
    known = p.seen(value)
    if known:
        return known
    p.count(2 * len(value))
    if all(type(k) is str and len(k) <= LONG_STR for k in value):
        if len(value) > LONG_STR:
            p.take_room(sum(map(len, value)))
        return {"m": {k: p.pack(v) for k, v in value.items()}}
    return {"d": [p.pack(x) for pair in value.items() for x in pair]}


def _pack_set(p: Packer, value: set[Any]) -> Any:
    known = p.seen(value)
    if known:
        return known
    p.count(len(value))
    return {"s": [p.pack(v) for v in value]}


def _pack_frozenset(p: Packer, value: frozenset[Any]) -> Any:
    p.count(len(value))
    return {"F": [p.pack(v) for v in value]}


def _pack_bytearray(p: Packer, value: bytearray) -> Any:
    p.require_room(len(value))
    return {"B": p.blob(bytes(value))}


def _pack_datetime(p: Packer, value: dt.datetime) -> Any:
    zone = value.tzinfo
    if zone is None:
        return {"x": ["datetime", value.isoformat(), None, value.fold]}
    key = getattr(zone, "key", None)
    if isinstance(key, str):
        return {"x": ["datetime", value.replace(tzinfo=None).isoformat(), key, value.fold]}
    return {"x": ["datetime", value.isoformat(), None, value.fold]}


def _pack_slice(p: Packer, value: slice) -> Any:
    return {"x": ["slice", p.pack(value.start), p.pack(value.stop), p.pack(value.step)]}


def _extra(name: str, *read: Callable[[Any], Any]) -> _Pack:
    return lambda _packer, value: {"x": [name, *(f(value) for f in read)]}


_PACKERS: dict[type[Any], _Pack] = {
    list: _pack_list,
    tuple: _pack_tuple,
    dict: _pack_dict,
    set: _pack_set,
    frozenset: _pack_frozenset,
    bytes: lambda p, v: {"b": p.blob(v)},
    bytearray: _pack_bytearray,
    dt.datetime: _pack_datetime,
    dt.date: _extra("date", dt.date.isoformat),
    dt.time: _extra("time", dt.time.isoformat, lambda v: v.fold),
    dt.timedelta: _extra("timedelta", lambda v: v.days, lambda v: v.seconds, lambda v: v.microseconds),
    dt.timezone: _extra("timezone", lambda v: v.utcoffset(None).total_seconds()),
    decimal.Decimal: _extra("decimal", str),
    uuid.UUID: _extra("uuid", lambda v: v.hex),
    type(pathlib.Path()): _extra("path", str),
    pathlib.PurePosixPath: _extra("path", str),
    complex: _extra("complex", lambda v: v.real, lambda v: v.imag),
    range: lambda p, v: {"x": ["range", p.pack(v.start), p.pack(v.stop), p.pack(v.step)]},
    slice: _pack_slice,
    type(...): _extra("ellipsis"),
    type(NotImplemented): _extra("notimplemented"),
}


def plain(value: Any, packer: Packer) -> Any:
    """The `other` of a packer that takes plain data only."""
    raise TypeError(f"{type(value).__name__} is not plain data")


_SIMPLE = frozenset((type(None), bool, float, int, str))


def simple(value: Any) -> bool:
    """Whether a value is its own tree: most arguments and answers are, and need no packer."""
    kind = type_of(value)
    if kind is int:
        return INT_LOW <= value < INT_HIGH
    return kind in _SIMPLE and (kind is not str or len(value) <= LONG_STR)


BULKY, OBJECT = 2000, 10  # small values that are packed on the loop, and what an object counts for
_LIGHT = frozenset((type(None), bool, int, float))
_COUNTED = frozenset((list, tuple, dict, set, frozenset))
_FRAMES = ("DataFrame", "Series", "Table", "RecordBatch", "ndarray")


def is_bulky(value: Any) -> bool:
    """Whether packing takes so long that an event loop would stand still. It looks at a few parts only."""
    pending: list[Any] = [value]
    weight = 0
    for part in pending:
        kind = type_of(part)
        if kind is str or kind is bytes or kind is bytearray:
            weight += len(part) >> 10
        elif kind in _COUNTED:
            weight += len(part)
            if weight > BULKY:
                return True
            inner = part.values() if kind is dict else part
            if not _LIGHT.issuperset(map(type, inner)):
                pending.extend(inner)
        elif kind not in _LIGHT:
            weight += OBJECT if kind.__name__ not in _FRAMES else 2 * BULKY
    return weight > BULKY
