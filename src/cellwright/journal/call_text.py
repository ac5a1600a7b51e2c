"""A recorded call in words, for people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cellwright.doors import Call
from cellwright.short_texts import cut, printable
from cellwright.store import CellRow, Row
from cellwright_guest.wire import Packed, type_of

LONGEST = 200
ITEMS = 40  # of all that is in the arguments of a call; more would not be seen
_NAMED = ("call", "new", "op")


def call_line(title: str, call: Call | Row) -> str:
    """A call for people, with its arguments as far as they are plain and short."""
    text = f"{title}{_arguments(call.arguments)}" if call.verb in _NAMED else f"{call.verb} {title}"
    return printable(text)


def value_text(packed: Packed | None) -> str:
    """What a cell came to, its beginning; "" where that was nothing."""
    packed = None if packed is None else Packed(*packed)
    if packed is None or packed.tree is None:
        return ""
    try:
        match packed.tree:
            case {"stays": [str(), str(text)]}:
                return printable(text[: LONGEST + 1])
            case _:
                return printable(repr(plain(packed))[: 5 * LONGEST])
    except (TypeError, LookupError, AttributeError, RecursionError):  # a tree of a guest that lies
        return "…"


def _arguments(packed: Packed) -> str:
    try:
        given: Any = plain(packed)
    except (TypeError, LookupError, AttributeError, RecursionError):  # a tree of a guest that lies
        return "(…)"
    if type_of(given) is tuple and len(given) == 2 and list(map(type_of, given)) == [tuple, dict]:
        parts = [*map(repr, given[0]), *(f"{name}={value!r}" for name, value in given[1].items())]
    else:
        parts = [repr(one) for one in (given if type_of(given) is tuple else (given,))]
    return f"({cut(', '.join(parts), LONGEST)})"


def plain(packed: Packed) -> Any:
    """A packed value as it would print, its beginning. What has no plain form stands as the word for it."""
    return _plain(packed.tree, packed.blobs, iter(range(ITEMS)))


class _Word(str):
    def __repr__(self) -> str:
        return str(self)


def _plain(tree: Any, blobs: list[Any], room: Iterator[int]) -> Any:
    """`room` has one for each part that is still to be shown."""
    if next(room, None) is None:
        return _Word("…")
    if type_of(tree) is str:
        return tree[: LONGEST + 1]
    if type_of(tree) is list:
        return [_plain(item, blobs, room) for item in tree[:ITEMS]]
    if type_of(tree) is not dict or len(tree) != 1:
        return tree if type_of(tree) is not dict else _Word("{…}")
    ((tag, body),) = tree.items()
    if tag == "t":
        return tuple(_plain(item, blobs, room) for item in body[:ITEMS])
    if tag == "m":
        items = itertools.islice(body.items(), ITEMS)
        return {key[: LONGEST + 1]: _plain(value, blobs, room) for key, value in items}
    if tag in ("b", "B", "S") and 0 <= body < len(blobs):
        return _Word(f"<{len(blobs[body])} bytes>")
    text = f"<object {body}>" if tag == "h" else f"<function {body[2]}>" if tag == "g" else f"<{tag}>"
    return _Word(text[: LONGEST + 1])


def ended_by_done(cell: CellRow) -> bool:
    """Whether a cell gave the turn's answer: `done` leaves it by an exception, and that is no failure."""
    return cell.status == "failed" and cell.error.get("type") == "Finished"
