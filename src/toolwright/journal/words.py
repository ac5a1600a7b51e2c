"""A recorded call in words, for people."""

from __future__ import annotations

from typing import Any, cast

from toolwright.doors import Call
from toolwright.journal.rows import Row
from toolwright_guest.wire import Packed

LONGEST = 200
_NAMED = ("call", "new", "op")


def shown(title: str, call: Call | Row) -> str:
    """A call for people, with its arguments as far as they are plain and short."""
    return f"{title}{_arguments(call.arguments)}" if call.verb in _NAMED else f"{call.verb} {title}"


def _arguments(packed: Packed) -> str:
    match plain(packed):
        case (tuple() as args, dict() as kwargs):
            pairs = cast("dict[str, Any]", kwargs).items()
            parts = [*map(repr, cast("tuple[Any, ...]", args)), *(f"{k}={v!r}" for k, v in pairs)]
        case tuple() as args:
            parts = [*map(repr, cast("tuple[Any, ...]", args))]
        case other:
            parts = [repr(other)]
    text = ", ".join(parts)
    return f"({text})" if len(text) <= LONGEST else f"({text[:LONGEST]}…)"


def plain(packed: Packed) -> Any:
    """A packed value as it would print. What has no plain form stands as the word for it."""
    return _plain(packed.tree, packed.blobs)


class _Word(str):
    def __repr__(self) -> str:
        return str(self)


def _plain(tree: Any, blobs: list[Any]) -> Any:
    if isinstance(tree, list):
        return [_plain(item, blobs) for item in cast("list[Any]", tree)]
    if not isinstance(tree, dict):
        return tree
    ((tag, body),) = cast("dict[str, Any]", tree).items()
    if tag == "t":
        return tuple(_plain(item, blobs) for item in body)
    if tag == "m":
        return {key: _plain(value, blobs) for key, value in body.items()}
    if tag == "h":
        return _Word(f"<object {body}>")
    if tag in ("b", "B", "S") and isinstance(body, int) and body < len(blobs):
        return _Word(f"<{len(blobs[body])} bytes>")
    if tag == "g":
        return _Word(f"<function {body[2]}>")
    return _Word(f"<{tag}>")
