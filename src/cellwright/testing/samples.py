"""Sample rows with every field, and values of every kind and size; and how results are compared."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from cellwright.errors import CellwrightError
from cellwright.store import Facts, Row
from cellwright_guest.wire import NOTHING, Packed

PATIENCE_S = 60.0
BREAKS = (  # what a broken store may raise
    AssertionError,
    CellwrightError,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
LONE = "a\ud800b\x00c\N{GRINNING FACE}"  # a text that is no UTF-8
TREE: Any = {"d": [["a", [1, {"t": [True, None]}]]], "f": [0.1, -0.0, 1e300, float("nan"), float("-inf")], LONE: LONE}
LARGE_TREE: Any = [["word", n, {"h": n}] for n in range(2000)]
VALUES = (
    NOTHING,
    Packed(10**4000, []),
    Packed(TREE, []),
    Packed(LARGE_TREE, []),
    Packed({"b": 0}, [b"small \x00\xff"]),
    Packed([TREE, {"b": 0}, {"b": 1}], [b"large " * 1000, b""]),
    Packed(LARGE_TREE, [b"x" * 100_000, b"x" * 100_000]),
)


def facts(**fields: Any) -> Facts:
    """Facts of a session with a new id."""
    known: dict[str, Any] = {"id": uuid.uuid4().hex, "created": 1.5, "seed": b"\x00\xff", "pins": {}, "names": NOTHING}
    return Facts(**known | fields)


def row(cell: int, path: str, **fields: Any) -> Row:
    return Row(cell=cell, path=f"{cell}/{path}", **fields)


def expect(found: object, wanted: object) -> None:
    """Compare by `repr`: `==` does not tell True from 1, nor NaN from itself."""
    if repr(found) != repr(wanted):
        raise AssertionError(f"{_short(found)} instead of {_short(wanted)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 500 else f"{text[:300]} … {text[-150:]}"


def expect_refused(kind: type[Exception], tried: Callable[[], object]) -> None:
    try:
        given = tried()
    except kind:
        return
    raise AssertionError(f"{_short(given)} instead of {kind.__name__}")
