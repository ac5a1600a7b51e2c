"""Packed values in a store: `pack` sets their large parts aside by digest, `unpack` reads them back.

Whoever reads the rows of a session gets `StoredPacked` values in place of large ones: they hold the digests, and read
the parts each time somebody asks for them. So a journal of any size takes little memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from cellwright.errors import JournalFailed, UsageError
from cellwright_guest.framing import encoded
from cellwright_guest.wire import Packed, is_large

LARGE_BLOB = 1 << 10
LARGE_TREE = 8 << 10

Large = dict[str, bytes]  # what was set aside, by digest
Fetch = Callable[[str], bytes]

_encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
# As in `cellwright_guest.framing`: json makes this anew for every text, which takes longer than a short text does.
_chunks: Any = getattr(json.encoder, "c_make_encoder", None)
if _chunks is not None:
    _escape: Any = getattr(json.encoder, "c_encode_basestring_ascii")  # noqa: B009  no public name
    _chunks = _chunks(None, _encoder.default, _escape, None, ":", ",", False, False, True)


def dumps(tree: Any) -> str:
    """A tree as ASCII. Lone surrogates, infinities and NaN come back as they were."""
    try:
        if is_large(Packed(tree, [])):
            return encoded(tree)
        return "".join(_chunks(tree, 0)) if _chunks is not None else _encoder.encode(tree)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a journal keeps plain trees only: {error}") from error


def digest_of(content: bytes) -> str:
    """The name of these bytes."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def pack(packed: Packed, large: Large) -> dict[str, Any]:
    """A packed value in a store, with what is large of it set aside."""
    tree, blobs = packed
    text = dumps(tree)
    part: dict[str, Any] = {"at": _aside(text.encode("ascii"), large)} if len(text) >= LARGE_TREE else {"tree": tree}
    if blobs:
        part["blobs"] = [_blob(bytes(blob), large) for blob in blobs]
    return part


def unpack(part: dict[str, Any], fetch: Fetch) -> Packed:
    """The value that `pack` was given."""
    blobs: list[Any] = part.get("blobs", [])
    if "at" in part or any(type(blob) is not str for blob in blobs):
        return StoredPacked.at(part, fetch)
    return Packed(part["tree"], [base64.b64decode(blob) for blob in blobs])


def _blob(content: bytes, large: Large) -> Any:
    if len(content) < LARGE_BLOB:
        return base64_of(content)
    return {"at": _aside(content, large)}


def _aside(content: bytes, large: Large) -> str:
    digest = digest_of(content)
    large[digest] = content
    return digest


def base64_of(content: bytes, _: object = None) -> str:
    return base64.b64encode(content).decode("ascii")


_tuple: Any = tuple
_new, _slot = _tuple.__new__, _tuple.__getitem__  # to what a tuple holds, whatever its class makes of that


class StoredPacked(Packed):
    """A packed value with parts in the store. Each use reads them, in the thread that uses it, and keeps nothing.

    As a tuple it holds what `pack` made, and what reads a part; only this class sees that. `Packed(*value)` is the same
    value in memory.
    """

    __slots__ = ()

    @classmethod
    def at(cls, part: dict[str, Any], fetch: Fetch) -> StoredPacked:
        if "at" not in part:
            part["tree"]  # `KeyError` where it has neither
        named = [part.get("at", ""), *(blob["at"] for blob in part.get("blobs", ()) if type(blob) is not str)]
        if not all(type(name) is str for name in named):
            raise ValueError("a part without a name")
        return _new(cls, (part, fetch))

    @property
    def part(self) -> dict[str, Any]:
        """What `pack` made of it."""
        return _slot(self, 0)

    @property
    def tree(self) -> Any:
        part = self.part
        if "at" not in part:
            return part["tree"]
        try:
            return json.loads(self._read(part["at"]))
        except (ValueError, RecursionError) as error:
            raise JournalFailed(f"blob {part['at']} of the journal is no tree: {error}") from error

    @property
    def blobs(self) -> list[Any]:  # pyright: ignore[reportIncompatibleVariableOverride] - read when they are asked for
        blobs: list[Any] = self.part.get("blobs", [])
        return [base64.b64decode(blob) if type(blob) is str else self._read(blob["at"]) for blob in blobs]

    def _read(self, digest: str) -> bytes:
        fetch: Fetch = _slot(self, 1)
        return fetch(digest)

    @property
    def is_short(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        yield self.tree
        yield self.blobs

    def __getitem__(self, at: Any) -> Any:
        return (self.tree, self.blobs)[at]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StoredPacked) and self.part == other.part:
            return True
        return isinstance(other, tuple) and tuple(self) == tuple(other)  # pyright: ignore[reportUnknownArgumentType]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as that of every packed value, whose blobs are a list

    def __repr__(self) -> str:
        return repr(Packed(*self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Packed, tuple(self)


class BodyPacked(StoredPacked):
    """A packed value in the body of a row, which is read again for it. `is_short`: it is a tree below `LARGE_TREE`."""

    __slots__ = ()

    @classmethod
    def of(cls, load: Callable[[], Packed], *, is_short: bool, mark: str = "") -> BodyPacked:
        """`load` reads it. `mark` is its fingerprint where that is known."""
        return _new(cls, (load, mark, is_short))

    def __iter__(self) -> Iterator[Any]:
        load: Callable[[], Packed] = _slot(self, 0)
        return iter(load())

    @property
    def mark(self) -> str:
        return _slot(self, 1)

    @property
    def is_short(self) -> bool:
        return _slot(self, 2)

    @property
    def part(self) -> dict[str, Any]:
        return pack(Packed(*self), {})

    @property
    def tree(self) -> Any:
        return Packed(*self).tree

    @property
    def blobs(self) -> list[Any]:
        return Packed(*self).blobs


def fingerprint(packed: Packed) -> str:
    """The same for the same value, in memory or in the store. Large parts count by their digests, and are not read."""
    if isinstance(packed, BodyPacked) and packed.mark:
        return packed.mark
    part = packed.part if isinstance(packed, StoredPacked) else pack(packed, {})
    return digest_of(dumps(part).encode("ascii"))
