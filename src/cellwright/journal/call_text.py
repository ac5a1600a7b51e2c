"""A recorded call in words, for people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cellwright.doors import Call
from cellwright.short_texts import cut, cut_counted, printable
from cellwright.store import CellRow, Row
from cellwright_guest.wire import Packed, type_of

LONGEST = 200
LONGEST_WHOLE = 20_000
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


def whole_line(title: str, call: Call | Row) -> str:
    """A call that a stranger tells of, for the person who is asked about it: on one line, and a cut has a mark."""
    verb = "" if call.verb in _NAMED else f"{escaped(call.verb)} "
    return f"{verb}{escaped(title)}{whole_text(call.arguments)}"


def whole_text(packed: Packed | None) -> str:
    """All of a packed value on one line, also what has no plain form. A cut says how much is missing."""
    packed = Packed(None, []) if packed is None else Packed(*packed)
    try:
        text = repr(_whole(packed.tree, packed.blobs))
    except (TypeError, LookupError, RecursionError):
        return "[it cannot be shown]"
    return cut_counted(escaped(text), LONGEST_WHOLE)


def escaped(text: str) -> str:
    """The text on one line, as it was written: what does not print stands as its number."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _whole(tree: Any, blobs: list[Any]) -> Any:
    if type_of(tree) is list:
        return [_whole(item, blobs) for item in tree]
    if type_of(tree) is not dict:
        return tree
    only: tuple[Any, Any] = next(iter(tree.items())) if len(tree) == 1 else ("", None)
    tag, body = only
    if tag == "t" and type_of(body) is list:
        return tuple(_whole(item, blobs) for item in body)
    if tag == "m" and type_of(body) is dict:
        return {key: _whole(value, blobs) for key, value in body.items()}
    if tag in ("b", "B", "S") and type_of(body) is int:
        content = bytes(blobs[body])
        return content.decode("utf-8", "backslashreplace") if tag == "S" else content
    return _Word(f"<{', '.join(f'{ascii(key)[1:-1]} {_whole(value, blobs)!r}' for key, value in tree.items())}>")


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
