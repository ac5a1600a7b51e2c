"""Typed returns: the type is in scope, a mismatch goes back in pydantic's words, and after the limit the turn fails."""

from __future__ import annotations

import collections
import datetime as dt
import enum
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar
from uuid import UUID

import pytest
import typing_extensions
from pydantic import BaseModel, BeforeValidator, Field, RootModel
from tests.agent.worlds import FENCED, Contact, Crm, agent_with, last_observation
from typing_extensions import TypeAliasType

from cellwright.agent.answer_types import type_name
from cellwright.errors import ReturnTypeError, UsageError
from cellwright.messages import UserMessage
from cellwright.testing import code, fenced


class Priority(enum.Enum):
    HIGH = "high"
    LOW = "low"


class Line(BaseModel):
    item: str
    amount: int = Field(ge=0)


class Order(BaseModel):
    lines: list[Line]
    priority: Priority = Priority.LOW


@dataclass
class Report:
    title: str
    contacts: list[Contact]


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int = 0


@dataclass
class Pair(Generic[T]):
    first: T
    second: T


class Point(NamedTuple):
    x: int
    y: int = 0


class Names(RootModel[list[str]]):
    pass


class Key(typing_extensions.TypedDict):
    a: int
    b: NotRequired[str]


@dataclass
class Visit:
    who: str
    when: dt.date


class Tree(BaseModel):
    number: int
    inner: list[Tree] = []


class Live:
    """Neither data nor a class that pydantic knows."""


old_kind: Any = collections.namedtuple
Old = old_kind("Old", "p q", defaults=(1,))
Level = enum.IntEnum("Level", {"LOW": 1, "HIGH": 2})
Upper = Annotated[str, BeforeValidator(lambda given: str(given).upper())]
Positive: Any = Annotated[int, Field(gt=0)]
UserId = NewType("UserId", int)
Numbers = TypeAliasType("Numbers", list[int])
DAY = dt.date(2024, 1, 2)


async def test_a_model_of_models_is_built_in_the_code() -> None:
    agent, model = agent_with(code("done(Order(lines=[Line(item='tea', amount=2)], priority=Priority.HIGH))"))
    value = (await agent.run("…", returns=Order)).value
    assert value == Order(lines=[Line(item="tea", amount=2)], priority=Priority.HIGH)
    task = model.requests[0].messages[0]
    assert isinstance(task, UserMessage)
    assert "class Line" in task.text
    assert "amount: int" in task.text
    assert "class Line" not in model.requests[0].instructions  # which is the same for every task


async def test_a_dataclass_that_holds_records_from_the_scope() -> None:
    agent, _ = agent_with(code("done(Report(title='Oslo', contacts=crm.contacts('Oslo')))"))
    value = (await agent.run("…", returns=Report)).value
    assert [c.name for c in value.contacts] == ["Ada", "Bo"]


@pytest.mark.parametrize(
    ("returns", "written", "value"),
    [
        (int, "3", 3),
        (list[Contact], "crm.contacts('Rome')", [Contact("Cy", "Rome", 0)]),
        (dict[str, int], "{c.name: c.deals for c in crm.contacts()}", {"Ada": 2, "Bo": 0, "Cy": 0}),
        (tuple[int, str], "(1, 'a')", (1, "a")),
        (Literal["yes", "no"], "'yes'", "yes"),
        (int | None, "None", None),
        (set[int], "{1, 2}", {1, 2}),
        (Order, "{'lines': [{'item': 'tea', 'amount': 1}]}", Order(lines=[Line(item="tea", amount=1)])),
        (Priority, "Priority.HIGH", Priority.HIGH),
    ],
)
async def test_any_type_that_pydantic_can_check(returns: Any, written: str, value: object) -> None:
    agent, _ = agent_with(code(f"done({written})"), check="off")
    assert (await agent.run("…", returns=returns)).value == value


TAKEN: list[tuple[Any, str, object]] = [
    (Page[Line], "Page_Line(items=[Line(item='a', amount=1)])", Page[Line](items=[Line(item="a", amount=1)])),
    (Page[Line], "{'items': [{'item': 'a', 'amount': 1}]}", Page[Line](items=[Line(item="a", amount=1)])),
    (list[Page[int]], "[Page_int(items=[1]), {'items': []}]", [Page[int](items=[1]), Page[int](items=[])]),
    (Pair[int], "Pair(1, 2)", Pair(1, 2)),
    (Pair[int], "{'first': 1, 'second': '2'}", Pair(1, 2)),
    (Point, "Point(1)", Point(1, 0)),
    (list[Point], "[(1, 2), [3, 4], {'x': 5}]", [Point(1, 2), Point(3, 4), Point(5)]),
    (Old, "Old(0)", Old(0, 1)),
    (RootModel[list[int]], "[1, '2']", RootModel[list[int]]([1, 2])),
    (Names, "Names(['a'])", Names(["a"])),
    (Names, "['a']", Names(["a"])),
    (Key, "{'a': 1}", {"a": 1}),
    (Visit, "{'who': 'Ada', 'when': '2024-01-02'}", Visit("Ada", DAY)),
    (dict[str, Visit], "{'a': {'who': 'Ada', 'when': '2024-01-02'}}", {"a": Visit("Ada", DAY)}),
    (Tree, "{'number': 1, 'inner': [Tree(number=2)]}", Tree(number=1, inner=[Tree(number=2)])),
    (Priority, "'high'", Priority.HIGH),
    (dict[Priority, int], "{'low': 1}", {Priority.LOW: 1}),
    (Level, "2", Level(2)),
    (Decimal, "'1.10'", Decimal("1.10")),
    (dt.datetime, "'2024-01-02T03:04:05'", dt.datetime(2024, 1, 2, 3, 4, 5)),
    (UUID, f"'{UUID(int=7)}'", UUID(int=7)),
    (Path, "'a/b'", Path("a/b")),
    (int, "'3'", 3),
    (set[int], "[1, 1]", {1}),
    (tuple[int, ...], "[1, 2]", (1, 2)),
    (list[str], "{'a': 1}.keys()", ["a"]),
    (Iterable[int], "(1, '2')", [1, 2]),
    (Collection[int], "{1}", [1]),
    (Sequence[int], "(1, 2)", (1, 2)),
    (Mapping[str, int], "{c.name: c.deals for c in crm.contacts('Rome')}", {"Cy": 0}),
    (UserId, "3", 3),
    (Numbers, "[1]", [1]),
    (Upper, "3", "3"),
    (Positive | None, "1", 1),
]


@pytest.mark.parametrize(("returns", "written", "value"), TAKEN)
async def test_what_pydantic_takes_passes_the_check_of_the_cell(returns: Any, written: str, value: object) -> None:
    agent, _ = agent_with(code(f"done({written})"), check="strict")
    assert (await agent.run("…", returns=returns)).value == value


@pytest.mark.parametrize("kind", [Iterator[int], Generator[int, None, None]])
async def test_the_items_of_an_iterator_are_checked(kind: Any) -> None:
    agent, model = agent_with(code("x: list = ['a']\ndone(x)"), code("done(['1', 2])"), check="strict")
    assert list((await agent.run("…", returns=kind)).value) == [1, 2]
    assert "0: Input should be a valid integer" in last_observation(model)


@pytest.mark.parametrize(
    ("returns", "written", "why"),
    [
        (Page[Line], "{'items': [3]}", "items.0: Input should be a valid dictionary or instance of Line"),
        (Pair[int], "{'first': 'a', 'second': 1}", "first: Input should be a valid integer"),
        (Point, "('a', 2)", "0: Input should be a valid integer"),
        (Names, "[3]", "0: Input should be a valid string"),
        (Key, "{'b': 'x'}", "a: Field required"),
        (Iterable[int], "['x']", "0: Input should be a valid integer"),
        (list[Collection[int]], "[['x']]", "0.0: Input should be a valid integer"),
        (Priority, "'middle'", "Input should be 'high' or 'low'"),
        (list[int], "(n for n in [1])", "an iterator (`<genexpr>`) is no answer: its items are not read yet; give"),
        (None, "n for n in [1]", "an iterator (`<genexpr>`) is no answer: its items are not read yet; give `list(…)`"),
        (None, "{'a': [map(str, [1])]}", "an iterator (`map`) is no answer"),
        (None, "open('f', 'w')", "an iterator (`TextIOWrapper`) is no answer"),
        (int, "lambda: 1", "a function (`<lambda>`) is no answer: call it, and give what it returns"),
        (None, "crm.contacts", "a function (`contacts`) is no answer: call it"),
        (None, "wait()", "a coroutine is not awaited: write `await` before it"),
        (None, "math", "a module of yours cannot cross to the host; pass plain data"),
    ],
)
async def test_a_wrong_answer_is_told_in_one_line(returns: Any, written: str, why: str) -> None:
    cell = code(f"import math\nasync def wait(): pass\ndone({written})")
    agent, model = agent_with(cell, "seen", otherwise="seen", check="off")
    try:
        await agent.run("…", returns=returns)
    except ReturnTypeError:
        assert returns is not None
    assert why in last_observation(model, 1).splitlines()[-1]


async def test_a_function_is_an_answer_where_one_is_asked_for() -> None:
    agent, _ = agent_with(code("done(lambda n: n + 1)"))
    async with agent.session(returns=Callable[[int], int]) as session:
        answer = (await session.run("…")).value
        assert await answer.call_async(2) == 3


async def test_a_type_that_no_call_can_hold_is_refused_for_direct_calls() -> None:
    agent, _ = agent_with("…", mode="direct")
    with pytest.raises(UsageError, match='returns=Live: a call of a function cannot hold it; use mode="code"'):
        await agent.run("…", returns=Live)


async def test_the_model_reads_the_fields_of_every_class() -> None:
    agent, model = agent_with("{}", otherwise="{}", check="off")
    with pytest.raises(ReturnTypeError):
        await agent.run("…", returns=tuple[Page[Line], Point, Key, Pair[int]])
    task = model.requests[0].messages[0]
    assert isinstance(task, UserMessage)
    assert (
        "of type `tuple[Page_Line, Point, Key, Pair[int]]`. Write a dict with these keys in the place of Key"
        in task.text
    )
    for line in ("class Page_Line(BaseModel)", "items: list[Line]", "class Point(NamedTuple)", "b: NotRequired[str]"):
        assert line in task.text


async def test_a_live_object_is_returned_as_itself() -> None:
    crm = Crm()
    agent, _ = agent_with(code("done(crm)"), scope={"crm": crm})
    assert (await agent.run("…", returns=Crm)).value is crm


async def test_a_mismatch_goes_back_in_pydantics_words() -> None:
    agent, model = agent_with(code("done('many')"), code("done(3)"), check="off")
    assert (await agent.run("…", returns=int)).value == 3
    assert "Input should be a valid integer" in last_observation(model)
    assert "https://" not in last_observation(model)


async def test_a_constraint_that_no_type_checker_sees_is_held() -> None:
    agent, model = agent_with(
        code("done({'item': 'x', 'amount': -1})"), code("done(Line(item='x', amount=1))"), check="off"
    )
    assert (await agent.run("…", returns=Line)).value.amount == 1
    assert "greater than or equal to 0" in last_observation(model)


async def test_after_the_limit_the_error_carries_what_was_returned() -> None:
    agent, _ = agent_with(code("done('one')"), code("done('two')"), code("done('three')"), check="off")
    with pytest.raises(ReturnTypeError, match="3 answers are not of type int") as caught:
        await agent.run("…", returns=int)
    assert caught.value.returned == "three"
    result: Any = caught.value.result
    assert result.steps == 3


async def test_code_may_catch_the_mismatch_and_answer_rightly() -> None:
    cell = "try:\n    done('x')\nexcept TypeError as error:\n    print(error)\n    done(4)"
    agent, _ = agent_with(code(cell), check="off")
    assert (await agent.run("…", returns=int)).value == 4


@pytest.mark.parametrize(
    ("returns", "text", "value"), [(int, "42", 42), (list[str], '["a"]', ["a"]), (str, "hi", "hi")]
)
async def test_a_plain_reply_of_the_right_type_is_the_answer(returns: Any, text: str, value: object) -> None:
    agent, _ = agent_with(text)
    assert (await agent.run("…", returns=returns)).value == value


async def test_a_plain_reply_after_a_cell_of_the_right_value_means_that_value() -> None:
    agent, _ = agent_with(fenced("len(crm.contacts())"), "There are three contacts.", traits=FENCED)
    assert (await agent.run("…", returns=int)).value == 3


async def test_a_plain_reply_that_is_no_answer_is_told_so() -> None:
    agent, model = agent_with("I will look.", code("done(3)"))
    assert (await agent.run("…", returns=int)).value == 3
    assert "no code in that reply" in last_observation(model)


async def test_a_class_that_is_bound_already_stays_under_its_own_name() -> None:
    agent, _ = agent_with(code("done([Person('Di', 'Rome', 1)])"), scope={"Person": Contact})
    assert (await agent.run("…", returns=list[Contact])).value == [Contact("Di", "Rome", 1)]


async def test_a_type_that_cannot_be_checked_is_told_before_anything_runs() -> None:
    agent, model = agent_with(code("done(1)"))
    for wrong in ("no such type", 3):
        with pytest.raises(UsageError, match="pydantic cannot check it"):
            await agent.run("…", returns=wrong)
    assert model.requests == []


async def test_a_turn_of_a_session_has_its_own_type() -> None:
    agent, model = agent_with(
        code("done('x')"), code("done(3)"), code("done({'lines': [{'item': 'tea', 'amount': 1}]})"), check="strict"
    )
    async with agent.session(returns=str) as session:
        assert (await session.run("a")).value == "x"
        assert (await session.run("b", returns=int)).value == 3
        assert (await session.run("c", returns=Order)).value == Order(lines=[Line(item="tea", amount=1)])
    told = model.requests[-1].messages[-1]
    assert isinstance(told, UserMessage)
    assert "Write a dict with these keys in the place of Order, Line, Priority" in told.text


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (list[Contact], "list[Contact]"),
        (dict[str, Line | None], "dict[str, Line | None]"),
        (Literal["a.b", 1], "Literal['a.b', 1]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (int, "int"),
    ],
)
def test_a_type_is_told_without_the_modules_of_its_classes(hint: Any, name: str) -> None:
    assert type_name(hint) == name
