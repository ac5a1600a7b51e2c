"""A recorded call in words, for people."""

from __future__ import annotations

from typing import Any

from toolwright.doors import Call
from toolwright.journal.rows import Row
from toolwright_guest.wire import Packed, type_of

LONGEST = 200
_NAMED = ("call", "new", "op")


def counted(number: int, word: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def shown(title: str, call: Call | Row) -> str:
    """A call for people, with its arguments as far as they are plain and short."""
    return f"{title}{_arguments(call.arguments)}" if call.verb in _NAMED else f"{call.verb} {title}"


def _arguments(packed: Packed) -> str:
    try:
        given: Any = plain(packed)
    except (TypeError, LookupError, AttributeError, RecursionError):  # a tree of a guest that lies
        return "(…)"
    if type_of(given) is tuple and len(given) == 2 and list(map(type_of, given)) == [tuple, dict]:
        parts = [*map(repr, given[0]), *(f"{name}={value!r}" for name, value in given[1].items())]
    else:
        parts = [repr(one) for one in (given if type_of(given) is tuple else (given,))]
    text = ", ".join(parts)
    return f"({text})" if len(text) <= LONGEST else f"({text[:LONGEST]}…)"


def plain(packed: Packed) -> Any:
    """A packed value as it would print. What has no plain form stands as the word for it."""
    return _plain(packed.tree, packed.blobs)


class _Word(str):
    def __repr__(self) -> str:
        return str(self)


def _plain(tree: Any, blobs: list[Any]) -> Any:
    if type_of(tree) is list:
        return [_plain(item, blobs) for item in tree]
    if type_of(tree) is not dict or len(tree) != 1:
        return tree
    ((tag, body),) = tree.items()
    if tag == "t":
        return tuple(_plain(item, blobs) for item in body)
    if tag == "m":
        return {key: _plain(value, blobs) for key, value in body.items()}
    if tag in ("b", "B", "S") and body < len(blobs):
        return _Word(f"<{len(blobs[body])} bytes>")
    return _Word(f"<object {body}>" if tag == "h" else f"<function {body[2]}>" if tag == "g" else f"<{tag}>")
