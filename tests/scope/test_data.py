"""Plain data over the wire: cycles, shared references, odd numbers, odd text, depth and size."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cells import failure, outcomes, value

from cellwright import GuestValue, Limits, Runtime


async def there_and_back(data: Any) -> Any:
    """What the host gets when the guest hands back what it was given."""
    got: list[Any] = []
    await value("take(data)", data=data, take=got.append)
    return got[0]


async def test_a_cycle_arrives_as_a_cycle_in_both_directions() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    knot: dict[str, Any] = {"a": 1}
    knot["self"] = [knot]
    assert await value("data[1] is data, knot['self'][0] is knot", data=loop, knot=knot) == (True, True)
    back = await there_and_back(loop)
    assert back[1] is back
    back = await there_and_back(knot)
    assert back["self"][0] is back


async def test_a_value_made_in_the_guest_with_a_cycle_arrives_as_one() -> None:
    made = await value("a = [1]\nb = {'a': a}\na.append(b)\na")
    assert made[1]["a"] is made


async def test_a_cycle_through_a_tuple_arrives() -> None:
    inner: list[Any] = []
    pair = (inner, 2)
    inner.append(pair)
    got = await there_and_back(inner)
    assert got[0][0] is got
    assert got[0][1] == 2


async def test_shared_references_stay_shared() -> None:
    shared = {"x": 1}
    got = await there_and_back([shared, shared, (shared,)])
    assert got[0] is got[1] is got[2][0]
    assert await value("data[0]['x'] = 9\ndata[1]['x']", data=[shared, shared]) == 9


async def test_odd_floats_arrive() -> None:
    got = await there_and_back([math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, math.nan])
    assert got[:5] == [math.inf, -math.inf, 0.0, 5e-324, 1.7976931348623157e308]
    assert math.copysign(1, got[2]) == -1
    assert math.isnan(got[5])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**30, -(10**400), 1 << 100_000], ids=int.bit_length)
async def test_large_integers_arrive(number: int) -> None:
    assert await there_and_back(number) == number
    assert await there_and_back([number, {number: number}]) == [number, {number: number}]


async def test_an_integer_beyond_the_bound_is_refused_and_the_session_goes_on_or_ends_clearly() -> None:
    first, second = await outcomes("take(1 << (1 << 22))", "1 + 1", take=lambda x: None)  # pyright: ignore[reportUnknownLambdaType]
    assert first.error is not None
    assert "bound" in str(first.error) or "large" in str(first.error)
    assert second.unwrap() == 2


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfffb" * 2000, "\x00\x7f\x85\u2028", "e\u0301", "\U0010ffff", "x" * 100_000]
)
async def test_odd_text_arrives(text: str) -> None:
    assert await there_and_back(text) == text
    assert await there_and_back({text: [text]}) == {text: [text]}


@pytest.mark.parametrize(
    "when",
    [
        dt.datetime(2026, 3, 29, 2, 30, tzinfo=ZoneInfo("Europe/Oslo")),
        dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Oslo")),
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
        dt.datetime(1, 1, 1),
        dt.datetime.max,
        dt.datetime(2026, 1, 1, fold=1),
        dt.time(1, 2, 3, 4, tzinfo=dt.UTC),
        dt.time(1, 2, fold=1),
    ],
    ids=str,
)
async def test_moments_arrive_with_zone_and_fold(when: Any) -> None:
    got = await there_and_back(when)
    assert got == when
    assert got.utcoffset() == when.utcoffset()
    assert got.fold == when.fold
    assert str(got.tzinfo) == str(when.tzinfo)


@pytest.mark.parametrize("number", ["NaN", "sNaN", "-Infinity", "1E+400", "0.10", "-0"])
async def test_odd_decimals_arrive(number: str) -> None:
    assert str(await there_and_back(Decimal(number))) == number


async def test_paths_and_pure_paths_arrive_as_paths() -> None:
    assert await value("data.name, data.parent.name, str(data)", data=PurePosixPath("/a/b.txt")) == (
        "b.txt",
        "a",
        "/a/b.txt",
    )


async def test_mixed_keys_and_nested_sets_arrive() -> None:
    data = {(1, ("a", None)): {frozenset({1, 2})}, frozenset({3}): (), 1.5: b"", True: "one"}
    assert await there_and_back(data) == data


async def test_keys_that_are_objects_are_handles() -> None:
    class Key:
        pass

    key = Key()
    assert await value("list(data)[0] is key, data[key]", data={key: 5}, key=key) == (True, 5)


async def test_data_nested_deeper_than_the_bound_is_told_on_either_side() -> None:
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]

    def give() -> list[Any]:
        return deep

    error = await failure("give()", give=give)
    assert "nested" in error.message
    error = await failure("d = []\nfor _ in range(1000): d = [d]\ntake(d)", take=lambda x: None)  # pyright: ignore[reportUnknownLambdaType]
    assert "nested" in error.message


async def test_a_value_nested_deeper_than_the_bound_stays_in_the_guest_and_is_told() -> None:
    first, second = await outcomes("d = []\nfor _ in range(1000): d = [d]\nd", "1 + 1")
    assert first.ok
    assert isinstance(first.value, GuestValue)
    assert second.unwrap() == 2


async def test_data_as_deep_as_a_document_arrives() -> None:
    deep: Any = "end"
    for i in range(90):
        deep = {"k": deep} if i % 2 else [deep]
    assert await there_and_back(deep) == deep


@pytest.mark.slow
async def test_twenty_thousand_rows_arrive() -> None:
    rows = [{"id": i, "name": f"row {i}", "tags": ["a", None, 1.5]} for i in range(20_000)]
    async with Runtime({"rows": rows, "echo": lambda: rows}, limits=Limits(memory_mb=1024)) as rt:
        assert (await rt.execute("len(rows), rows[-1]")).unwrap() == (20_000, rows[-1])
        assert (await rt.execute("echo()")).unwrap() == rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bytes", "str"])
async def test_a_hundred_megabytes_cross_in_both_directions(kind: str) -> None:
    size = 100 << 20
    data: Any = b"\xff" * size if kind == "bytes" else "é" * (size // 2)

    def give() -> Any:
        return data

    def take(given: Any) -> bool:
        return given == data

    async with Runtime({"give": give, "take": take}, limits=Limits(memory_mb=2000)) as rt:
        assert (await rt.execute("data = give()\nlen(data)")).unwrap() == len(data)
        assert (await rt.execute("take(data)")).unwrap() is True
        assert (await rt.execute("data")).unwrap() == data


async def test_a_frame_over_the_bound_costs_the_cell_a_clear_error_and_the_session_goes_on() -> None:
    def take(data: bytes) -> int:
        return len(data)

    async with Runtime({"take": take}, limits=Limits(memory_mb=4000)) as rt:
        out = await rt.execute("take(bytes(600 << 20))")
        assert out.error is not None
        assert "bound" in str(out.error) or "large" in str(out.error)
        assert (await rt.execute("take(b'abc')")).unwrap() == 3
