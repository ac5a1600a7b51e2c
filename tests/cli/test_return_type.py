"""`--returns` is read as a type, and nothing in it is run."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest

from cellwright.cli.return_type import read_type
from cellwright.errors import UsageError


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("int", int),
        ("list[str]", list[str]),
        ("dict[str, list[float]]", dict[str, list[float]]),
        ("tuple[int, ...]", tuple[int, ...]),
        ("str | None", str | None),
        ("Literal['a:b', 2]", Literal["a:b", 2]),
        ("date", date),
        ("decimal:Decimal", Decimal),
        ("list[decimal:Decimal | None]", list[Decimal | None]),
        ("Any", Any),
    ],
)
def test_a_type_is_read(text: str, type: Any) -> None:
    assert read_type(text) == type


@pytest.mark.parametrize(
    "text",
    [
        "", "list[", "lots", "int[str]", "[int]", "int, str", "lambda: 1", "__import__('os').abort()", "print('x')",
        "int.__class__", "list[int for int in ()]", "os:path", "no_such:Thing", "list[" * 500 + "]" * 500, "a" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_type_is_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="--returns") as raised:
        read_type(text)
    assert "\n" not in str(raised.value)
