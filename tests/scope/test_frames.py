"""Data frames, tables and arrays: by value where both sides have the library, otherwise by handle."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
# pyarrow has no types, and pandas has some

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.cells import value

from cellwright import Limits, Runtime

TABLE: dict[str, list[Any]] = {"name": ["a", "b", None], "n": [1, 2, 3], "x": [0.5, None, 1.5]}


@pytest.fixture(scope="module")
async def rt(anyio_backend: str, venv: Path) -> AsyncIterator[Runtime]:
    frames: dict[str, Any] = {
        "pandas": pd.DataFrame(TABLE),
        "pandas_series": pd.Series([1, 2], name="s"),
        "nameless": pd.Series([1.5, 2.5]),
        "polars": pl.DataFrame(TABLE),
        "polars_series": pl.Series("s", [1, 2]),
        "table": pa.table(TABLE),
        "batch": pa.RecordBatch.from_pydict({"n": [1, 2]}),
        "empty": pd.DataFrame({"a": pd.Series([], dtype="int64")}),
        "empty_batch": pa.RecordBatch.from_pydict({"n": pa.array([], pa.int64())}),
        "dates": pd.DataFrame({"t": pd.to_datetime(["2026-01-01", "2026-06-01"])}, index=["x", "y"]),
        "array": np.arange(6, dtype="int32").reshape(2, 3),
        "moments": np.array(["2026-01-01"], dtype="datetime64[D]"),
        "scalar": np.float64(2.5),
        "objects": np.array([object()], dtype=object),
    }
    scope = {**frames, "give": lambda name: frames[name], "same": lambda x: x}
    async with Runtime(scope, packages=venv, limits=Limits(memory_mb=1024, wall_s=60)) as opened:
        yield opened


NAMES = "pandas pandas_series nameless polars polars_series table batch empty dates array moments".split()


def equal(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, two)) and one.dtype == two.dtype
    named = isinstance(one, pd.Series | pl.Series)
    return bool(one.equals(two)) and (not named or one.name == two.name)


@pytest.mark.parametrize("name", NAMES)
async def test_a_frame_is_the_guests_own_type_and_comes_back_equal(rt: Runtime, name: str) -> None:
    original: Any = dict(rt.scope.names())[name]
    library, kind = type(original).__module__.split(".")[0], type(original).__name__
    code = f"import {library} as library\ntype({name}) is library.{kind}, type(give({name!r})) is library.{kind}"
    assert (await rt.execute(code)).unwrap() == (True, True)
    there = (await rt.execute(f"give({name!r})")).unwrap()
    sent = (await rt.execute(f"same(same({name}))")).unwrap()
    assert type(there) is type(original)
    assert equal(there, original)
    assert equal(sent, original)


async def test_a_frame_is_a_copy(rt: Runtime) -> None:
    (await rt.execute("pandas['new'] = 1\narray[0, 0] = 99\nassert array[0, 0] == 99 and 'new' in pandas")).unwrap()
    names: dict[str, Any] = dict(rt.scope.names())
    assert "new" not in names["pandas"]
    assert names["array"][0, 0] == 0


async def test_the_guest_computes_with_frames_in_its_own_library(rt: Runtime) -> None:
    assert (await rt.execute("float(give('pandas')['n'].sum())")).unwrap() == 6.0
    assert (await rt.execute("give('polars').select('n').sum().item()")).unwrap() == 6
    assert (await rt.execute("table.column('n').to_pylist()")).unwrap() == [1, 2, 3]
    assert (await rt.execute("give('array').sum(axis=0).tolist()")).unwrap() == [3, 5, 7]


async def test_a_frame_made_in_the_guest_is_the_value_of_a_cell(rt: Runtime) -> None:
    made = (await rt.execute("import pandas as pd\npd.DataFrame({'a': [1, 2]}, index=['x', 'y'])")).unwrap()
    assert made.equals(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]))
    made = (await rt.execute("import polars as pl\npl.DataFrame({'a': ['x']})")).unwrap()
    assert made.equals(pl.DataFrame({"a": ["x"]}))
    assert (await rt.execute("import numpy as np\nnp.float32(1.5), np.int64(3), np.bool_(True)")).unwrap() == (
        1.5,
        3,
        True,
    )


async def test_an_empty_record_batch_stays_one(rt: Runtime) -> None:
    assert (await rt.execute("type(empty_batch).__name__, empty_batch.num_rows")).unwrap() == ("RecordBatch", 0)


async def test_a_numpy_scalar_is_a_number_on_both_sides(rt: Runtime) -> None:
    assert (await rt.execute("isinstance(scalar, float), scalar * 2")).unwrap() == (True, 5.0)


async def test_an_array_of_objects_goes_by_handle(rt: Runtime) -> None:
    original = dict(rt.scope.names())["objects"]
    assert (await rt.execute("len(objects), objects")).unwrap() == (1, original)


async def test_a_frame_in_a_frame_library_that_the_guest_lacks_is_a_handle() -> None:
    frame = pd.DataFrame({"n": [3, 1, 2]})
    code = "type(frame).__name__, len(frame), frame.shape, list(frame.columns), float(frame['n'].sum())"
    assert await value(code, frame=frame) == ("DataFrame", 3, (3, 1), ["n"], 6.0)
    assert await value("frame.sort_values('n')['n'].tolist()", frame=frame) == [1, 2, 3]
    assert await value("frame", frame=frame) is frame


async def test_polars_arrow_and_numpy_work_by_handle_too() -> None:
    names: dict[str, Any] = {"p": pl.DataFrame({"n": [1, 2]}), "t": pa.table({"n": [1]}), "a": np.arange(4)}
    code = "p['n'].sum(), p.height, t.num_rows, a.sum(), (a * 2).tolist(), a[1:3].tolist(), len(a)"
    assert await value(code, **names) == (3, 2, 1, 6, [0, 2, 4, 6], [1, 2], 4)
