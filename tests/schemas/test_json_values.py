"""What code gives, as JSON."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any

import pytest

from cellwright.errors import WrongArguments
from cellwright.schemas import jsonable
from cellwright.scope import record_class


class Mood(enum.Enum):
    GOOD = "good"


@dataclasses.dataclass
class Point:
    x: int
    at: datetime.date


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ([1, 2.5, "a", True, None], [1, 2.5, "a", True, None]),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        ({2: "a", None: "b", True: "c"}, {"2": "a", "true": "c", "null": "b"}),
        (datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC), "2026-01-02T03:00:00+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.timedelta(seconds=90), "PT90S"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (Mood.GOOD, "good"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (b"hi", "aGk="),
        (Point(x=1, at=datetime.date(2026, 1, 2)), {"x": 1, "at": "2026-01-02"}),
    ],
)
def test_a_value_has_its_plain_form(value: Any, plain: Any) -> None:
    assert jsonable(value) == plain


def test_a_record_is_the_object_that_it_came_as() -> None:
    came = {"+1": 1, "_json": 2, "items": [3], "keys": 4}
    made = record_class("test", "R", fields={"plus_1": "+1"})._of(came)  # pyright: ignore[reportPrivateUsage]
    assert jsonable([made]) == [came]


@pytest.mark.parametrize("value", [object(), {(1, 2): 3}, [lambda: 0]])
def test_a_value_without_a_form_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(WrongArguments, match=r"^[^\n]+; give [^\n]+$"):
        jsonable(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(WrongArguments, match="holds itself"):
        jsonable(loop)
