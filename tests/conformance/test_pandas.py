"""`pandas`: a frame by handle where the guest has no pandas, by value where it has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pandas as pd
import pytest
from tests.cells import failure, value

from cellwright import Limits, Runtime


def sales() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "city": ["Oslo", "Rome", "Oslo", "Bonn"],
            "n": [1, 2, 3, 4],
            "x": [0.5, None, 2.5, 1.0],
            "day": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-01-05", "2024-03-01"]),
        }
    )


async def by_handle(code: str, **names: Any) -> Any:
    return await value(code, df=sales(), **names)


async def test_the_shape_the_columns_and_the_length_are_told() -> None:
    code = "df.shape, list(df.columns), len(df), 'n' in df, [c for c in df]"
    columns = ["city", "n", "x", "day"]
    assert await by_handle(code) == ((4, 4), columns, 4, True, columns)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df[df['n'] > 1]['city'].tolist()", ["Rome", "Oslo", "Bonn"]),
        ("df[(df['n'] > 1) & (df.city == 'Oslo')].n.tolist()", [3]),
        ("df[~df['city'].isin(['Oslo', 'Bonn'])].n.tolist()", [2]),
        ("df.loc[df.n > 2, ['city', 'n']].values.tolist()", [["Oslo", 3], ["Bonn", 4]]),
        ("df[df.x.notna() | (df.n == 2)].shape[0]", 4),
        ("len(df[1:3]), len(df[::2]), df[-1:].n.tolist()", (2, 2, [4])),
    ],
)
async def test_boolean_masks_and_slices_choose_rows(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df.loc[0, 'city'], df.iloc[1]['city'], df.at[0, 'n'], df.iat[0, 1]", ("Oslo", "Rome", 1, 1)),
        ("df.iloc[0:2, 0].tolist(), df.iloc[-1]['n']", (["Oslo", "Rome"], 4)),
        ("df.set_index('city').loc['Oslo', 'n'].tolist()", [1, 3]),
        ("df['city'][0], df.n[2]", ("Oslo", 3)),
    ],
)
async def test_loc_iloc_at_and_iat_find_cells(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df.groupby('city')['n'].sum().to_dict()", {"Bonn": 4, "Oslo": 4, "Rome": 2}),
        (
            "df.groupby('city').agg({'n': 'sum', 'x': 'mean'}).reset_index().to_dict('list')['x'][:2]",
            [1.0, 1.5],
        ),
        ("df.groupby('city').agg(total=('n', 'sum')).sort_values('total').index[0]", "Rome"),
        ("[(name, len(group)) for name, group in df.groupby('city')]", [("Bonn", 1), ("Oslo", 2), ("Rome", 1)]),
        ("df.groupby('city')['n'].transform('mean').tolist()", [2.0, 2.0, 2.0, 4.0]),
        ("df.groupby('city')['n'].apply(lambda s: s.max()).to_dict()", {"Bonn": 4, "Oslo": 3, "Rome": 2}),
        ("df.pivot_table(index='city', values='n', aggfunc='sum').to_dict()", {"n": {"Bonn": 4, "Oslo": 4, "Rome": 2}}),
        ("df['city'].value_counts().to_dict()['Oslo']", 2),
    ],
)
async def test_groups_are_made_and_summed(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df['m'] = df['n'] * 2\ndf['m'].tolist()", [2, 4, 6, 8]),
        ("((1 - df.n) + 2 ** df.n).tolist(), (-df.n).tolist()[0], abs(-df.n).sum()", ([2, 3, 6, 13], -1, 10)),
        ("df['city'].str.upper().tolist()[0], df['day'].dt.month.tolist()", ("OSLO", [1, 2, 1, 3])),
        ("df.loc[0, 'n'] = 100\ndf.n.max()", 100),
        ("del df['x']\nlist(df)", ["city", "n", "day"]),
        ("df.columns = [c.upper() for c in df.columns]\nlist(df)", ["CITY", "N", "X", "DAY"]),
        ("df['x'].fillna(0).tolist(), df.n.rolling(2).sum().tolist()[1:]", ([0.5, 0.0, 2.5, 1.0], [3.0, 5.0, 7.0])),
        ("df.n.astype(float).tolist(), df.n.astype(str).tolist()", ([1.0, 2.0, 3.0, 4.0], ["1", "2", "3", "4"])),
    ],
)
async def test_columns_are_computed_written_and_removed(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("df['city'].apply(lambda c: c[0]).tolist()", ["O", "R", "O", "B"]),
        ("df.apply(lambda row: row['n'] + len(row['city']), axis=1).tolist()", [5, 6, 7, 8]),
        ("df.assign(k=lambda d: d.n + 1)['k'].tolist()", [2, 3, 4, 5]),
        ("df.rename(columns=lambda c: c.upper()).columns.tolist()", ["CITY", "N", "X", "DAY"]),
        ("df['city'].map({'Oslo': 'NO', 'Rome': 'IT', 'Bonn': 'DE'}).tolist()", ["NO", "IT", "NO", "DE"]),
        ("df.sort_values('city', key=lambda s: s.str[-1]).city.tolist()[0]", "Rome"),
    ],
)
async def test_guest_lambdas_run_inside_pandas(code: str, expected: object) -> None:
    assert await by_handle(code) == expected


async def test_a_chain_of_methods_goes_from_handle_to_handle() -> None:
    code = """
        (
            df[df.n > 1]
            .drop(columns=["x"])
            .merge(df[["city"]].drop_duplicates(), on="city")
            .sort_values("n", ascending=False)
            .head(2)
            .reset_index(drop=True)
            .to_dict("list")["city"]
        )
    """
    assert await by_handle(code) == ["Bonn", "Oslo"]


async def test_rows_are_iterated_as_series_and_as_named_tuples() -> None:
    code = """
        by_series = [(i, row["city"]) for i, row in df.iterrows()]
        by_tuple = [(t.Index, t.city, t.day.month) for t in df.itertuples()]
        plain = [n for city, n in df[["city", "n"]].itertuples(index=False)]
        by_series[1], by_tuple[3], plain
    """
    assert await by_handle(code) == ((1, "Rome"), (3, "Bonn", 3), [1, 2, 3, 4])


async def test_builtins_work_on_a_column() -> None:
    code = "sum(df.n), max(df.n), sorted(df.city)[0], any(df.n > 3), round(df.x.mean(), 2)"
    assert await by_handle(code) == (10, 4, "Bonn", True, 1.33)


async def test_printing_a_frame_prints_its_table() -> None:
    async with Runtime({"df": sales()}) as rt:
        outcome = await rt.execute("print(df.head(2))")
    assert outcome.stdout.splitlines()[0].split() == ["city", "n", "x", "day"]
    assert outcome.stdout.splitlines()[1].split() == ["0", "Oslo", "1", "0.5", "2024-01-01"]


async def test_a_missing_column_is_a_key_error() -> None:
    code = "try:\n    df['nope']\nexcept KeyError as error:\n    found = error.args\nfound"
    assert await by_handle(code) == ("nope",)


async def test_the_truth_of_a_column_is_ambiguous_as_it_is_on_the_host() -> None:
    error = await failure("if df['n']: print(1)", df=sales())
    assert error.type == "ValueError"
    assert "ambiguous" in error.message


async def test_a_frame_as_a_cells_value_is_the_hosts_own_frame() -> None:
    frame = sales()
    async with Runtime({"df": frame}) as rt:
        assert (await rt.execute("df")).value is frame
        rest = (await rt.execute("df[df.n > 3]")).value
    assert isinstance(rest, pd.DataFrame)
    assert rest["city"].tolist() == ["Bonn"]


async def test_a_bound_module_makes_and_joins_frames() -> None:
    code = """
        more = pd.DataFrame({"city": ["Kiel"], "n": [9]})
        both = pd.concat([df, more], ignore_index=True)
        isinstance(both, pd.DataFrame), both.n.tolist(), pd.to_datetime("2024-05-01").year, pd.isna(both.x.iloc[-1])
    """
    assert await by_handle(code, pd=pd) == (True, [1, 2, 3, 4, 9], 2024, True)


async def test_a_timestamp_answers_like_a_datetime() -> None:
    code = """
        import datetime
        last, first = df.day.max(), df.day.min()
        last.year, last.strftime("%d.%m."), (last - first).days, last > datetime.datetime(2024, 2, 1), last.isoformat()
    """
    assert await by_handle(code) == (2024, "01.03.", 60, True, "2024-03-01T00:00:00")


async def test_methods_that_write_files_or_evaluate_text_on_the_host_are_hidden() -> None:
    for code in ("df.to_csv('/tmp/x')", "df.query('n > 1')", "df.eval('n + 1')", "df.to_pickle('/tmp/x')"):
        assert (await failure(code, df=sales())).type == "NotPublic", code


# --- by value, where the guest has pandas too ---


class Desk:
    """Gives frames and takes them."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def frame(self) -> pd.DataFrame:
        return sales()

    def take(self, value: Any) -> str:
        self.got.append(value)
        return type(value).__name__


@pytest.fixture
async def desk() -> Desk:
    return Desk()


@pytest.fixture
async def rt(warm_data: None, venv: Path, desk: Desk) -> AsyncIterator[Runtime]:
    async with Runtime({"desk": desk, "df": sales()}, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        yield rt


async def test_a_frame_crosses_by_value_where_the_guest_has_pandas(rt: Runtime) -> None:
    code = """
        import pandas as pd
        ours = desk.frame()
        isinstance(df, pd.DataFrame), isinstance(ours, pd.DataFrame), ours.equals(df), str(ours.dtypes["day"])[:10]
    """
    outcome = await rt.execute(dedent(code))
    assert outcome.unwrap() == (True, True, True, "datetime64")
    assert [call.name for call in outcome.calls] == ["desk.frame"]  # nothing else asked the host


async def test_a_frame_of_the_guest_arrives_as_a_frame(rt: Runtime, desk: Desk) -> None:
    code = """
        import pandas as pd
        desk.take(df.groupby("city", as_index=False)["n"].sum())
        desk.take(df["n"])
        desk.take(df.set_index("city"))
    """
    (await rt.execute(dedent(code))).unwrap()
    frame, series, indexed = desk.got
    assert frame.to_dict("list") == {"city": ["Bonn", "Oslo", "Rome"], "n": [4, 4, 2]}
    assert isinstance(series, pd.Series)
    assert (series.name, series.tolist()) == ("n", [1, 2, 3, 4])
    assert indexed.index.tolist() == ["Oslo", "Rome", "Oslo", "Bonn"]


async def test_a_frame_as_a_cells_value_arrives_as_a_frame(rt: Runtime) -> None:
    found = (await rt.execute("df[df.n > 2].reset_index(drop=True)")).unwrap()
    assert found["city"].tolist() == ["Oslo", "Bonn"]


async def test_a_change_of_the_guests_copy_stays_in_the_guest(rt: Runtime) -> None:
    assert (await rt.execute("df['n'] = 0\ndesk.frame()['n'].sum(), df['n'].sum()")).unwrap() == (10, 0)


async def test_a_timestamp_of_the_guest_arrives_as_a_datetime(rt: Runtime, desk: Desk) -> None:
    assert (await rt.execute("desk.take(df['day'].max())")).unwrap() == "datetime"
    assert desk.got[0].isoformat() == "2024-03-01T00:00:00"


async def test_a_frame_with_objects_goes_by_handle(venv: Path, warm_data: None) -> None:
    frame = pd.DataFrame({"o": [object(), object()], "n": [1, 2]})
    async with Runtime({"df": frame}, packages=venv, limits=Limits(memory_mb=1024)) as rt:
        assert (await rt.execute("df['n'].sum(), len(df)")).unwrap() == (3, 2)
        assert (await rt.execute("df")).value is frame
