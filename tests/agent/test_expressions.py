"""Values as expressions of guest code: what the expression gives is what went in, and nothing else runs."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import datetime as dt
import decimal
import enum
import importlib
import math
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.agent.expressions import DEPTH, ExpressionWriter, NoExpression, check_writable


class Mood(enum.Enum):
    GOOD = 1
    BAD = 2


class Right(enum.Flag):
    READ = 1
    WRITE = 2


Odd = enum.Enum("Odd", {"not a name": 1, "class": 2})


@dataclass
class Point:
    x: int
    y: float = 0.0
    near: Point | None = None
    made: str = field(default="here", init=False)


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    item: str
    count: int = pydantic.Field(default=1, alias="howMany")


@dataclass
class Kept:
    x: int
    seed: dataclasses.InitVar[int] = 0


NAMES: dict[type, str] = {Mood: "Mood", Right: "Right", Odd: "Odd", Point: "shapes.Point", Pair: "Pair", Order: "Order"}


class Shapes:
    Point = Point


class Written(NamedTuple):
    code: str
    modules: set[str]


def written(value: Any, names: dict[type, str] | None = None) -> Written:
    writer = ExpressionWriter(names or {})
    return Written(writer.write(value), writer.modules)


def run(value: Any) -> Any:
    """What the expression gives, with nothing but the modules that it says it needs: not even builtins."""
    made = written(value, NAMES)
    names: dict[str, Any] = {f"_{name}": importlib.import_module(name) for name in made.modules}
    classes: dict[str, Any] = {"Mood": Mood, "Right": Right, "Odd": Odd, "shapes": Shapes, "Pair": Pair, "Order": Order}
    return eval(made.code, {"__builtins__": {}, **names, **classes})


atoms = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.dates() | st.times() | st.datetimes() | st.timedeltas() | st.uuids()
    | st.datetimes(timezones=st.just(dt.timezone(dt.timedelta(hours=2, minutes=30))))
    | st.decimals(allow_nan=False)
)  # fmt: skip
keys = st.text() | st.integers() | st.booleans()
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
        | st.frozensets(keys, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_what_the_expression_gives_is_the_value_with_its_types(value: Any) -> None:
    got = run(value)
    assert got == value
    assert type(got) is type(value)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_a_string_is_one_literal_whatever_it_holds(text: str) -> None:
    tree = ast.parse(written(text).code, mode="eval")
    assert isinstance(tree.body, ast.Constant)
    assert tree.body.value == text


HOSTILE = [
    "'); import os; os.system('x') #",
    '"""',
    "'''",
    "\\",
    "\\'",
    "{__import__('os')}",
    "\n\nraise SystemExit",
    "\r\0\x1a\u2028\u2029\x85",
    "\ud800 lone",
    "x" * 100_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_never_becomes_code(text: str) -> None:
    value = {text: [text, (text,)]}
    code = written(value).code
    assert ast.literal_eval(code) == value
    called = ExpressionWriter({}).call("f", [value], {"name": value})
    tree = ast.parse(called, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert ast.literal_eval(tree.args[0]) == ast.literal_eval(tree.keywords[0].value) == value


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=5))
def test_a_keyword_that_a_model_made_up_is_a_name_or_a_string(kwargs: dict[str, str]) -> None:
    code = ExpressionWriter({}).call("f", (), kwargs)
    assert eval(code, {"__builtins__": {}, "f": lambda **given: given}) == kwargs  # pyright: ignore[reportUnknownLambdaType]


def test_numbers_at_the_edges_come_back() -> None:
    edges = [math.inf, -math.inf, 10**5000, -(10**5000), dt.timedelta.min, decimal.Decimal("1.20")]
    assert run(edges) == edges
    assert run(decimal.Decimal("1.20")).as_tuple().exponent == -2
    assert math.copysign(1, run(-0.0)) == -1


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(run(math.nan))
    assert run(decimal.Decimal("NaN")).is_nan()


@pytest.mark.parametrize(
    "value", [pathlib.Path("a/b'c"), pathlib.PureWindowsPath("c:\\x"), pathlib.PurePosixPath("/x")]
)
def test_paths_come_back(value: pathlib.PurePath) -> None:
    assert run(value) == value


def test_an_hour_that_comes_twice_stays_the_second() -> None:
    assert run(dt.datetime(2026, 10, 25, 2, 30, fold=1)).fold == 1


@pytest.mark.parametrize(
    "value",
    [
        Mood.BAD, Right.READ | Right.WRITE, *Odd, Point(1, 2.5, near=Point(3)), Pair(1, "x"),
        Order(item="tea", howMany=3), Order.model_validate({"item": "tea", "a b": "c"}), [Point(1)], {"a": Pair(1)},
    ],
)  # fmt: skip
def test_records_and_members_are_built_by_the_names_of_their_classes(value: Any) -> None:
    got = run(value)
    assert got == value
    assert type(got) is type(value)


def test_a_default_that_was_not_given_is_not_written() -> None:
    assert written(Order(item="tea"), NAMES).code == "Order(item='tea')"


@pytest.mark.parametrize("value", [Mood.GOOD, Point(1), Pair(1), Order(item="x")])
def test_a_class_without_a_name_in_the_guest_is_refused_by_name(value: Any) -> None:
    with pytest.raises(NoExpression, match=f"{type(value).__name__} has no name"):
        written(value, {})


@pytest.mark.parametrize("value", [object(), lambda: 1, builtins, ["x", object()]])
def test_a_live_object_is_not_written(value: Any) -> None:
    with pytest.raises(NoExpression, match="cannot be written"):
        written(value, NAMES)


def test_data_that_python_could_not_read_is_refused_before() -> None:
    deep: Any = []
    for _ in range(DEPTH):
        deep = [deep]
    assert run(deep) == deep
    with pytest.raises(NoExpression, match="nested deeper"):
        written([[deep]])


class Options(TypedDict, total=False):
    point: Point
    size: int


@pytest.mark.parametrize(
    "hint",
    [
        int, str | None, list[dict[str, float]], Literal["a", 1], Annotated[int, "x"], Any, object, Mood, Point, Pair,
        Order, Options, uuid.UUID, pathlib.Path, dt.datetime, tuple[int, ...], set[decimal.Decimal], pydantic.SecretStr,
    ],
)  # fmt: skip
def test_types_whose_values_can_be_written_pass(hint: Any) -> None:
    check_writable(hint, NAMES)


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        (Mood, "Mood has no name"),
        (list[Point | None], "Point has no name"),
        (Options, "Point has no name"),
        (dict[str, complex], "a complex cannot be written"),
        (bytearray, "a bytearray cannot be written"),
    ],
)
def test_types_whose_values_cannot_be_written_are_named(hint: Any, why: str) -> None:
    with pytest.raises(NoExpression, match=why):
        check_writable(hint, {})


def test_a_class_that_takes_what_it_does_not_keep_is_named() -> None:
    with pytest.raises(NoExpression, match="does not keep"):
        check_writable(Kept, {Kept: "Kept"})
