"""The wire: values as packed trees. Both sides use it; it knows neither. `framing` makes bytes of the trees.

A packed tree is JSON: atoms and lists stand for themselves, an object with one key is a tag. Bytes and long strings
travel beside the tree as blobs, so that a hundred megabytes are copied, never escaped. No pickle. Reading is bounded in
every direction; what breaks a bound raises `WireError` and costs the sender its session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

# The builtin `type`, with types of its own: of an `Any` the checker makes a `type[Unknown]`, and every check of it
# turns the value into a `list[Unknown]`. Not a wrapper: it costs what `type` costs.
type_of: Callable[[Any], type[Any]] = type


class WireError(ValueError):
    """Bytes or trees that no honest peer sends, or that pass a bound."""


INT_BITS = 1 << 20
NODES = 4_000_000


class Bounds(NamedTuple):
    """How much one frame may hold. A reference counts as many nodes as what it refers to: sharing saves no work."""

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
NODE_BYTES = 64  # of a small value in memory


def size_of(packed: Packed) -> int:
    """About how many bytes a value takes in memory."""
    size = sum(map(len, packed.blobs)) + NODE_BYTES
    pending: list[Any] = [packed.tree]
    while pending:
        part: Any = pending.pop()
        kind = type_of(part)
        if kind is str:
            size += len(part)
        elif kind in (list, dict):
            size += NODE_BYTES * len(part)
            pending.extend(part.values() if kind is dict else part)
    return size


_LIGHT = frozenset((type(None), bool, int, float))
LARGE, LARGE_BYTES = 20_000, 1 << 22


def is_large(packed: Packed, large: int = LARGE, large_bytes: int = LARGE_BYTES) -> bool:
    """Whether unpacking takes so long that an event loop would stand still: many values, long texts, long blobs."""
    if packed.blobs and sum(map(len, packed.blobs)) > large_bytes:
        return True
    pending: list[Any] = [packed.tree]
    size = 0
    for part in pending:
        kind = type_of(part)
        if kind is str:
            size += len(part) >> 5
        elif kind is list or kind is dict:
            size += len(part)
            if size > large:
                return True
            inner = part.values() if kind is dict else part
            if not _LIGHT.issuperset(map(type, inner)):
                pending.extend(inner)
    return size > large
