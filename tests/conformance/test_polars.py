"""`polars`: frames and expressions by handle where the guest has no polars, frames by value where it has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import polars as pl
import pytest
from tests.cells import failure, value

from cellwright import Limits, Runtime


def sales() -> pl.DataFrame:
    return pl.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Bonn"], "n": [1, 2, 3, 4], "x": [0.5, None, 2.5, 1.0]})


async def by_handle(code: str) -> Any:
    return await value(code, df=sales(), pl=pl)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df.shape, df.columns, df.height, len(df)", ((4, 3), ["city", "n", "x"], 4, 4)),
        ("df['n'].sum(), df['n'].mean(), df['x'].null_count()", (10, 2.5, 1)),
        ("df[0, 'city'], df[1:3].height, df[['city', 'n']].width, df[-1]['n'][0]", ("Oslo", 2, 2, 4)),
        ("df.row(0), df.row(1, named=True)['x'], df.rows()[3][0]", (("Oslo", 1, 0.5), None, "Bonn")),
        ("{name: str(kind) for name, kind in df.schema.items()}", {"city": "String", "n": "Int64", "x": "Float64"}),
    ],
)
async def test_a_frame_tells_its_shape_and_its_cells(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df.filter(pl.col('n') > 2)['city'].to_list()", ["Oslo", "Bonn"]),
        ("df.filter((pl.col('n') > 1) & (pl.col('city') == 'Oslo')).to_dicts()", [{"city": "Oslo", "n": 3, "x": 2.5}]),
        ("df.filter(df['n'] > 2).height", 2),
        ("df.filter(pl.col('x').is_null() | ~pl.col('city').is_in(['Oslo']))['n'].to_list()", [2, 4]),
    ],
)
async def test_filters_choose_rows(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df.select(pl.col('n').sum()).item()", 10),
        ("df.with_columns((pl.col('n') * 2).alias('m'))['m'].to_list()", [2, 4, 6, 8]),
        ("df.select(pl.col('city').str.to_uppercase()).to_series()[0]", "OSLO"),
        ("(1 - df['n']).to_list(), (df['n'] / 2).to_list()[0]", ([0, -1, -2, -3], 0.5)),
        (
            "df.select(s=pl.when(pl.col('n') > 2).then(pl.lit('big')).otherwise(pl.lit('small')))['s'].to_list()",
            ["small", "small", "big", "big"],
        ),
        ("df.cast({'n': pl.Float64})['n'].to_list()", [1.0, 2.0, 3.0, 4.0]),
        ("df['n'].cast(float).to_list()", [1.0, 2.0, 3.0, 4.0]),
        ("df.select(pl.all().exclude('x')).columns", ["city", "n"]),
        ("df.select(pl.col.n.max()).item()", 4),
    ],
)
async def test_expressions_made_by_the_guest_compute_on_the_host(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "df.group_by('city').agg(pl.col('n').sum().alias('t')).sort('city').to_dict(as_series=False)",
            {"city": ["Bonn", "Oslo", "Rome"], "t": [4, 4, 2]},
        ),
        ("[(g, sub.height) for g, sub in df.group_by('city', maintain_order=True)][0]", (("Oslo",), 2)),
        ("df.join(df.select('city', m='n'), on='city').height", 6),
        ("df.sort('n', descending=True).head(1)['city'][0]", "Bonn"),
        ("df.lazy().filter(pl.col('n') > 1).select(pl.len()).collect().item()", 3),
        ("pl.concat([df, df]).height, pl.DataFrame({'a': [1, 2]}).sum().item()", (8, 3)),
        ("df.pipe(lambda d: d.height)", 4),
    ],
)
async def test_groups_joins_sorts_and_lazy_frames_work(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


async def test_a_guest_lambda_maps_elements() -> None:
    code = "df['n'].map_elements(lambda v: v + 1, return_dtype=pl.Int64).to_list()"
    assert await by_handle(code) == [2, 3, 4, 5]


async def test_rows_are_iterated_as_tuples_and_as_dicts() -> None:
    code = "[n for _, n, _ in df.iter_rows()], [row['city'] for row in df.iter_rows(named=True)][3]"
    assert await by_handle(code) == ([1, 2, 3, 4], "Bonn")


async def test_printing_a_frame_prints_its_table() -> None:
    async with Runtime({"df": sales()}) as rt:
        assert "shape: (4, 3)" in (await rt.execute("print(df)")).stdout


async def test_an_error_is_caught_by_the_class_that_the_module_shows() -> None:
    code = """
        try:
            df.select("nope")
        except errors.ColumnNotFoundError as error:
            found = type(error).__name__, "nope" in str(error)
        found
    """
    assert await value(code, df=sales(), errors=pl.exceptions) == ("ColumnNotFoundError", True)


async def test_a_missing_column_is_the_same_error_as_on_the_host() -> None:
    assert (await failure("df['nope']", df=sales())).type == "ColumnNotFoundError"


async def test_methods_that_write_files_on_the_host_are_hidden() -> None:
    for code in ("df.write_csv('/tmp/x')", "df.write_parquet('/tmp/x')", "df.lazy().sink_csv('/tmp/x')"):
        assert (await failure(code, df=sales())).type == "NotPublic", code


# --- by value, where the guest has polars too ---


class Desk:
    def __init__(self) -> None:
        self.got: list[Any] = []

    def frame(self) -> pl.DataFrame:
        return sales()

    def take(self, value: Any) -> str:
        self.got.append(value)
        return type(value).__name__


@pytest.fixture
async def desk() -> Desk:
    return Desk()


@pytest.fixture
async def rt(warm_data: None, venv: Path, desk: Desk) -> AsyncIterator[Runtime]:
    names = {"desk": desk, "df": sales(), "column": sales()["n"]}
    async with Runtime(names, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        yield rt


async def test_a_frame_crosses_by_value_where_the_guest_has_polars(rt: Runtime) -> None:
    code = """
        import polars as pl
        found = df.group_by("city").agg(pl.col("n").sum()).sort("city")
        isinstance(df, pl.DataFrame), isinstance(column, pl.Series), desk.frame().equals(df), found.rows()
    """
    outcome = await rt.execute(dedent(code))
    assert outcome.unwrap() == (True, True, True, [("Bonn", 4), ("Oslo", 4), ("Rome", 2)])
    assert [call.name for call in outcome.calls] == ["desk.frame"]


async def test_a_frame_and_a_series_of_the_guest_arrive_as_such(rt: Runtime, desk: Desk) -> None:
    code = """
        import polars as pl
        desk.take(df.filter(pl.col("n") > 2)), desk.take(df["city"])
    """
    assert (await rt.execute(dedent(code))).unwrap() == ("DataFrame", "Series")
    assert desk.got[0].rows() == [("Oslo", 3, 2.5), ("Bonn", 4, 1.0)]
    assert (desk.got[1].name, desk.got[1].to_list()) == ("city", ["Oslo", "Rome", "Oslo", "Bonn"])


async def test_a_frame_as_a_cells_value_arrives_as_a_frame(rt: Runtime) -> None:
    found = (await rt.execute("df.select('n').head(2)")).unwrap()
    assert isinstance(found, pl.DataFrame)
    assert found["n"].to_list() == [1, 2]
