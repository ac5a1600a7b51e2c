"""Unpacking: one tree of the other side to one value. It may have been made by an enemy: every step is bounded."""

from __future__ import annotations

import codecs
import datetime as dt
import decimal
import pathlib
import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from cellwright_guest.wire import Bounds, WireError, type_of

PIECE = 1 << 22  # bytes of a text that are decoded before other threads have a turn
KEYS_AT_ONCE = 64
KEY_S, KEYS_S = 20e-6, 0.25  # processor time that inserting keys may take: per key, and whatever their number

Other = Callable[[str, Any, "Unpacker"], Any]


class Unpacker:
    """One tree to one value. `other(tag, body, unpacker)` builds what is not plain data, or raises."""

    __slots__ = ("_blobs", "_depth", "_made", "_nodes", "_sizes", "_taken", "bounds", "other")

    def __init__(self, blobs: list[Any], other: Other, bounds: Bounds) -> None:
        self.other = other
        self._blobs = blobs
        self.bounds = bounds
        self._depth = 0
        self._nodes = 0
        self._made: list[Any] = []
        self._sizes: list[int] = []  # how many nodes each of `_made` stands for; 1 while it is not whole
        self._taken: set[int] = set()

    def unpack(self, tree: Any) -> Any:
        kind = type_of(tree)
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
        if self._nodes > self.bounds.nodes:
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
        if type_of(tree) is not list:
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

    def _enter(self) -> Callable[[Any], Any]:
        self._depth += 1
        if self._depth > self.bounds.depth or self._nodes > self.bounds.nodes:
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
        bounds = self.bounds
        if len(keys) > bounds.keys:
            raise WireError(f"{len(keys)} keys are over the bound of {bounds.keys}")
        counts: Counter[int] = Counter()
        try:
            self.insert(lambda some: counts.update(map(hash, some)), keys)
        except (TypeError, RecursionError):
            raise WireError("a key that cannot be hashed") from None
        if counts and max(counts.values()) > bounds.collisions:
            raise WireError(f"more than {bounds.collisions} keys with the same hash")
        return keys

    def insert(self, update: Callable[[Any], None], keys: list[Any], values: list[Any] | None = None) -> None:
        """Put checked keys into a dict or a set, a few at a time: different hashes may still be chosen to collide."""
        if len(keys) <= KEYS_AT_ONCE:  # as nearly always: too few to take long
            return update(keys if values is None else zip(keys, values, strict=True))
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
    if type_of(body) is not dict:
        raise WireError("a tag without its object")
    made: dict[str, Any] = {}
    number, before = u.number(made), u.nodes
    if len(body) > u.bounds.keys:
        raise WireError("too many keys")
    values: list[Any] = []
    u.fill(values, list(body.values()))
    u.insert(made.update, list(body), values)
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
    if len(data) * 8 > u.bounds.integer_bits:
        raise WireError("an integer over the bound")
    return int.from_bytes(data, "little", signed=True)


def _unpack_text(u: Unpacker, body: Any) -> str:
    data = u.blob(body)
    try:
        if len(data) <= PIECE:
            return bytes(data).decode("utf-8", "surrogatepass")
        decode = codecs.getincrementaldecoder("utf-8")("surrogatepass").decode
        ends = range(PIECE, len(data) + PIECE, PIECE)
        return "".join(decode(data[end - PIECE : end], end >= len(data)) for end in ends)
    except UnicodeDecodeError:
        raise WireError("text that is not UTF-8") from None


def _unpack_extra(u: Unpacker, body: Any) -> Any:
    name, *parts = u.values(body) or (None,)
    build = _EXTRAS.get(name) if type(name) is str else None
    if build is None:
        raise WireError("a kind of value that is not known")
    if name != "slice" and not all(type(part) in _EXTRA_PARTS for part in parts):
        raise WireError(f"an invalid {name}")  # else methods of a host object would run in place of those of a str
    try:
        return build(*parts)
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, OSError):
        raise WireError(f"an invalid {name}") from None


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


def _time(text: str, fold: int) -> dt.time:
    return dt.time.fromisoformat(text).replace(fold=fold)


def _timezone(seconds: float) -> dt.timezone:
    return dt.timezone(dt.timedelta(seconds=seconds))


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(hex=text)


def _path(text: str) -> pathlib.Path:
    return pathlib.Path(text + "")  # a text: a number has no `+ ""`


def _complex(real: float, imag: float) -> complex:
    return complex(real + 0.0, imag + 0.0)


_EXTRAS: dict[str, Callable[..., Any]] = {
    "datetime": _datetime,
    "date": dt.date.fromisoformat,
    "time": _time,
    "timedelta": lambda *parts: dt.timedelta(*_whole(*parts)),
    "timezone": _timezone,
    "decimal": _decimal,
    "uuid": _uuid,
    "path": _path,
    "complex": _complex,
    "range": lambda *parts: range(*_whole(*parts)),
    "slice": slice,
    "ellipsis": lambda: ...,
    "notimplemented": lambda: NotImplemented,
}

_UNPACKERS: dict[str, Callable[[Unpacker, Any], Any]] = {
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


_SIMPLE = frozenset((type(None), bool, float, int, str))
_FEW = 100


def simple_arguments(tree: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments in a tree that holds nothing but atoms; None for every other tree."""
    body = _only(tree, "t", list)
    if body is None:
        return None
    if _SIMPLE.issuperset(map(type, body)):
        return tuple(body), {}
    if len(body) != 2:
        return None
    args, kwargs = _only(body[0], "t", list), _only(body[1], "m", dict)
    if args is None or kwargs is None or len(kwargs) > _FEW:
        return None
    if _SIMPLE.issuperset(map(type, args)) and _SIMPLE.issuperset(map(type, kwargs.values())):
        return tuple(args), kwargs
    return None


def _only(tree: Any, tag: str, kind: type) -> Any:
    """What stands under `tag`, where the tree is that tag and what stands there is of the right kind."""
    if type_of(tree) is not dict or len(tree) != 1:
        return None
    body = tree.get(tag)
    return body if type_of(body) is kind else None
