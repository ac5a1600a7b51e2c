"""The wire: values as packed trees. Both sides use it; it knows neither. `framing` makes bytes of the trees.

A packed tree is JSON: atoms and lists stand for themselves, an object with one key is a tag. Bytes and long strings
travel beside the tree as blobs, so that a hundred megabytes are copied, never escaped. No pickle. Reading is bounded in
every direction; what breaks a bound raises `WireError` and costs the sender its session.
"""

from __future__ import annotations

import datetime as dt
import decimal
import pathlib
import time
import uuid
from typing import Any, NamedTuple


class WireError(ValueError):
    """Bytes or trees that no honest peer sends, or that pass a bound."""


INT_BITS = 1 << 20


NODES = 4_000_000


class Bounds(NamedTuple):
    """How much one frame may hold. A reference counts as many nodes as what it refers to: sharing saves no work here."""

    header_bytes: int = 64 << 20
    blob_bytes: int = 256 << 20
    blobs: int = 100_000
    nodes: int = NODES
    depth: int = 200
    keys: int = 1_000_000
    collisions: int = 32
    integer_bits: int = INT_BITS


class Packed(NamedTuple):
    """A value on its way: a JSON tree and the blobs that it refers to by number."""

    tree: Any
    blobs: list[Any]


NOTHING = Packed(None, [])
LONG_STR = 1024
INT_LOW, INT_HIGH = -(1 << 63), 1 << 64

LARGE, LARGE_BYTES = 20_000, 1 << 22
KEYS_AT_ONCE = 64
KEY_S, KEYS_S = 20e-6, 0.25  # processor time that inserting keys may take: per key, and whatever their number
_plain_atoms = frozenset((type(None), bool, float))


def is_large(packed: Packed) -> bool:
    """Whether unpacking takes so long that an event loop would stand still: many values, long texts, long blobs."""
    if sum(map(len, packed.blobs)) > LARGE_BYTES:
        return True
    pending: list[Any] = [packed.tree]
    found = 0
    while pending and found <= LARGE:
        part = pending.pop()
        if type(part) is str:
            found += len(part) >> 5
        elif type(part) in (list, dict):
            found += len(part)
            if found <= LARGE:
                pending.extend(part.values() if type(part) is dict else part)
    return found > LARGE


# packing --------------------------------------------------------------------------------------------------------------


class Packer:
    """One value to one tree. `other` packs what has no place in the table of plain types, or raises `TypeError`."""

    __slots__ = ("_count", "_depth", "_keep", "_nodes", "_seen", "_sizes", "blobs", "limit", "other")

    def __init__(self, other: Any, limit: int = 200, nodes: int = 1 << 30) -> None:
        self.other = other
        self.blobs: list[Any] = []
        self.limit = limit
        self._depth = 0
        self._seen: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._nodes = nodes
        self._count = 0
        self._keep: list[Any] = []  # an id is only good while its object lives

    def packed(self, value: Any) -> Packed:
        return Packed(self.pack(value), self.blobs)

    def pack(self, value: Any) -> Any:
        kind = type(value)
        if kind in _plain_atoms:
            return value
        if kind is str:
            return value if len(value) <= LONG_STR else {"S": self.blob(value.encode("utf-8", "surrogatepass"))}
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
        """As the reader will count: what is over its bound is refused here."""
        self._count += nodes
        if self._count > self._nodes:
            raise TypeError(f"more than {self._nodes} values at once, a shared one counted in each place; send fewer")

    def _integer(self, value: int) -> int:
        size = value.bit_length() // 8 + 1
        if size * 8 > INT_BITS:
            raise TypeError(f"an integer of more than {INT_BITS} bits is too large to cross")
        return self.blob(value.to_bytes(size, "little", signed=True))

    def blob(self, data: Any) -> int:
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
            return list(values)
        return [self.pack(v) for v in values]


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
        return {"m": {k: p.pack(v) for k, v in value.items()}}
    return {"d": [p.pack(x) for pair in value.items() for x in pair]}


def _pack_set(p: Packer, value: set[Any]) -> Any:
    return p.seen(value) or {"s": [p.pack(v) for v in value]}


def _pack_frozenset(p: Packer, value: frozenset[Any]) -> Any:
    return {"F": [p.pack(v) for v in value]}


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


def _extra(name: str, *read: Any) -> Any:
    return lambda _packer, value: {"x": [name, *(f(value) for f in read)]}


_PACKERS: dict[type, Any] = {
    list: _pack_list,
    tuple: _pack_tuple,
    dict: _pack_dict,
    set: _pack_set,
    frozenset: _pack_frozenset,
    bytes: lambda p, v: {"b": p.blob(v)},
    bytearray: lambda p, v: {"B": p.blob(bytes(v))},
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


# unpacking ------------------------------------------------------------------------------------------------------------


class Unpacker:
    """One tree to one value. `other(tag, body, unpacker)` builds what is not plain data, or raises."""

    __slots__ = ("_blobs", "_bounds", "_depth", "_made", "_nodes", "_sizes", "_taken", "other")

    def __init__(self, blobs: list[Any], other: Any, bounds: Bounds) -> None:
        self.other = other
        self._blobs = blobs
        self._bounds = bounds
        self._depth = 0
        self._nodes = 0
        self._made: list[Any] = []
        self._sizes: list[int] = []  # how many nodes each of `_made` stands for; 1 while it is not whole
        self._taken: set[int] = set()

    def unpack(self, tree: Any) -> Any:
        kind = type(tree)
        if kind is dict:
            return self._tagged(tree)
        if kind is list:
            made: list[Any] = []
            number, before = self.number(made), self._nodes
            self.fill(made, tree)
            self.whole(number, before)
            return made
        return tree

    def number(self, made: Any) -> int:
        """The number by which the rest of the tree may refer to `made`."""
        self._made.append(made)
        self._sizes.append(1)
        return len(self._made) - 1

    def whole(self, number: int, before: int) -> None:
        """What has this number is filled; `before` is how many nodes there were when that began."""
        self._sizes[number] += self._nodes - before

    @property
    def nodes(self) -> int:
        return self._nodes

    def referred(self, number: Any) -> Any:
        """What has been made under `number`. It counts as if it were sent again: hashing and checking walk it again."""
        if type(number) is not int or not 0 <= number < len(self._made):
            raise WireError("a reference to nothing")
        self._nodes += self._sizes[number]
        if self._nodes > self._bounds.nodes:
            raise WireError("data deeper or larger than the bound")
        return self._made[number]

    def fill(self, made: list[Any], tree: list[Any]) -> None:
        self._nodes += len(tree)
        kinds = set(map(type, tree))
        if list not in kinds and dict not in kinds:
            made.extend(tree)
            return
        with_room = self._enter()
        try:
            made.extend(map(with_room, tree))
        finally:
            self._depth -= 1

    def values(self, tree: Any) -> list[Any]:
        """The items of a list that stands inside a tag, and has no number of its own."""
        if type(tree) is not list:
            raise WireError("a tag without its list")
        out: list[Any] = []
        self.fill(out, tree)
        return out

    def blob(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._blobs):
            raise WireError("a blob that is not there")
        if number in self._taken:  # reading copies it: a blob used a thousand times would be a thousand copies
            raise WireError("a blob that is used twice")
        self._taken.add(number)
        return self._blobs[number]

    def _enter(self) -> Any:
        self._depth += 1
        if self._depth > self._bounds.depth or self._nodes > self._bounds.nodes:
            raise WireError("data deeper or larger than the bound")
        return self.unpack

    def _tagged(self, tree: dict[str, Any]) -> Any:
        if len(tree) != 1:
            raise WireError("a tag with more than one name")
        ((tag, body),) = tree.items()
        unpacker = _UNPACKERS.get(tag)
        self._enter()
        try:
            if unpacker is None:
                return self.other(tag, body, self)
            return unpacker(self, body)
        finally:
            self._depth -= 1

    def checked_keys(self, keys: list[Any]) -> list[Any]:
        """Keys that may be hashed together: hashable, not too many, and not chosen to collide."""
        bounds = self._bounds
        if len(keys) > bounds.keys:
            raise WireError(f"{len(keys)} keys are over the bound of {bounds.keys}")
        try:
            hashes = sorted(map(hash, keys))
        except (TypeError, RecursionError):
            raise WireError("a key that cannot be hashed") from None
        step = bounds.collisions
        if any(hashes[i] == hashes[i + step] for i in range(len(hashes) - step)):
            raise WireError(f"more than {step} keys with the same hash")
        return keys

    def insert(self, update: Any, keys: list[Any], values: list[Any] | None = None) -> None:
        """Put checked keys into a dict or a set, a few at a time: different hashes may still be chosen to collide."""
        most = time.thread_time() + KEYS_S + KEY_S * len(keys)
        for i in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[i : i + KEYS_AT_ONCE]
            update(some if values is None else zip(some, values[i : i + KEYS_AT_ONCE], strict=True))
            if time.thread_time() > most:
                raise WireError("keys chosen to collide")


def _unpack_dict(u: Unpacker, body: Any) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    number, before = u.number(made), u.nodes
    flat = u.values(body)
    if len(flat) % 2:
        raise WireError("a key without its value")
    u.insert(made.update, u.checked_keys(flat[::2]), flat[1::2])
    u.whole(number, before)
    return made


def _unpack_str_dict(u: Unpacker, body: Any) -> dict[str, Any]:
    if type(body) is not dict:
        raise WireError("a tag without its object")
    made: dict[str, Any] = {}
    number, before = u.number(made), u.nodes
    if len(body) > u._bounds.keys:  # pyright: ignore[reportPrivateUsage]
        raise WireError("too many keys")
    values: list[Any] = []
    u.fill(values, list(body.values()))
    made.update(zip(body, values, strict=True))
    u.whole(number, before)
    return made


def _unpack_set(u: Unpacker, body: Any) -> set[Any]:
    made: set[Any] = set()
    number, before = u.number(made), u.nodes
    u.insert(made.update, u.checked_keys(u.values(body)))
    u.whole(number, before)
    return made


def _unpack_frozenset(u: Unpacker, body: Any) -> frozenset[Any]:
    made: set[Any] = set()
    u.insert(made.update, u.checked_keys(u.values(body)))
    return frozenset(made)


def _unpack_tuple(u: Unpacker, body: Any) -> tuple[Any, ...]:
    before = u.nodes
    made = tuple(u.values(body))
    if made:
        u.whole(u.number(made), before)
    return made


def _unpack_integer(u: Unpacker, body: Any) -> int:
    data = u.blob(body)
    if len(data) * 8 > u._bounds.integer_bits:  # pyright: ignore[reportPrivateUsage]
        raise WireError("an integer over the bound")
    return int.from_bytes(data, "little", signed=True)


def _unpack_text(u: Unpacker, body: Any) -> str:
    try:
        return bytes(u.blob(body)).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise WireError("text that is not UTF-8") from None


def _unpack_extra(u: Unpacker, body: Any) -> Any:
    name, *parts = u.values(body) or (None,)
    build = _EXTRAS.get(name) if type(name) is str else None
    if build is None:
        raise WireError("a kind of value that is not known")
    if name != "slice" and not all(type(part) in _EXTRA_PARTS for part in parts):
        raise WireError(f"a {name} that is none")  # a host object's own methods would run in the place of a text's
    try:
        return build(*parts)
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, OSError):
        raise WireError(f"a {name} that is none") from None


_EXTRA_PARTS = frozenset((type(None), int, float, str))


def _datetime(text: str, zone: str | None, fold: int) -> dt.datetime:
    value = dt.datetime.fromisoformat(text).replace(fold=fold)
    if zone is None:
        return value
    from zoneinfo import ZoneInfo

    return value.replace(tzinfo=ZoneInfo(zone))


def _decimal(text: str) -> decimal.Decimal:
    if len(text) > 100_000:
        raise ValueError
    return decimal.Decimal(text)


def _whole(*parts: Any) -> tuple[int, ...]:
    if not all(type(p) is int for p in parts):
        raise ValueError
    return parts


def _index(part: Any) -> Any:
    return part


_EXTRAS: dict[str, Any] = {
    "datetime": _datetime,
    "date": dt.date.fromisoformat,
    "time": lambda text, fold: dt.time.fromisoformat(text).replace(fold=fold),
    "timedelta": lambda *parts: dt.timedelta(*_whole(*parts)),
    "timezone": lambda seconds: dt.timezone(dt.timedelta(seconds=seconds)),
    "decimal": _decimal,
    "uuid": lambda text: uuid.UUID(hex=text),
    "path": lambda text: pathlib.Path(text + ""),  # a text: a number has no `+ ""`
    "complex": lambda real, imag: complex(real + 0.0, imag + 0.0),
    "range": lambda *parts: range(*_whole(*parts)),
    "slice": slice,
    "ellipsis": lambda: ...,
    "notimplemented": lambda: NotImplemented,
}

_UNPACKERS: dict[str, Any] = {
    "m": _unpack_str_dict,
    "d": _unpack_dict,
    "s": _unpack_set,
    "F": _unpack_frozenset,
    "t": _unpack_tuple,
    "r": Unpacker.referred,
    "i": _unpack_integer,
    "S": _unpack_text,
    "b": lambda u, body: bytes(u.blob(body)),
    "B": lambda u, body: bytearray(u.blob(body)),
    "x": _unpack_extra,
}


def refuse(tag: str, body: Any, unpacker: Unpacker) -> Any:
    """The `other` of an unpacker that takes plain data only."""
    raise WireError(f"a value of the kind {tag!r} has no place here")


def plain(value: Any, packer: Packer) -> Any:
    """The `other` of a packer that takes plain data only."""
    raise TypeError(f"{type(value).__name__} is not plain data")
