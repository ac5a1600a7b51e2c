"""Direct calls: what of a scope is offered, how a model's JSON becomes a cell, and what it is told of each call."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import functools
import json
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cells import PATIENT

from cellwright import Limits, Outcome, Runtime, Scope, operation
from cellwright.agent.direct_cell import cell_for, observe_calls, results_of
from cellwright.agent.direct_tools import DirectTool, direct_tools
from cellwright.errors import TimeLimit
from cellwright.messages import ToolCall, ToolResult

if TYPE_CHECKING:
    Elsewhere = int  # what only a type checker knows

pytestmark = pytest.mark.usefixtures("warm")


def offered(scope: Scope, *, everything: bool = False) -> tuple[DirectTool, ...]:
    return direct_tools(scope, everything=everything).tools


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class Place:
    city: str
    floor: int = 0


class Pair(NamedTuple):
    left: int
    right: str


class Order(pydantic.BaseModel):
    item: str
    count: pydantic.PositiveInt = 1


@dataclass
class Contacts:
    people: list[str] = field(default_factory=lambda: ["Ada", "Bo"])

    @operation(direct=True, reads=True)
    def list(self, city: str | None = None, limit: Annotated[int, pydantic.Field(le=50)] = 10) -> list[str]:
        """The contacts.

        Of one city, or all of them.
        """
        return self.people[:limit]

    @operation(direct=True)
    def delete(self, name: str) -> None:
        """Remove one."""
        self.people.remove(name)

    def rename(self, old: str, new: str) -> str:
        return f"{old} is {new}"

    def __len__(self) -> int:
        return len(self.people)


class Crm:
    """Contacts, and more."""

    def __init__(self) -> None:
        self.contacts = Contacts()
        self.api_key = Contacts()
        self._inner = Contacts()
        self.me = self

    @property
    def archive(self) -> Contacts:
        raise AssertionError("no property runs to describe it")

    @operation(direct=True)
    async def refresh(self, full: bool = False) -> int:
        return 7 if full else 3


@operation(direct=True)
def one(x: int) -> int:
    return x


def by_name(tools: tuple[DirectTool, ...]) -> dict[str, DirectTool]:
    return {tool.name: tool for tool in tools}


def paths(scope: Scope | dict[str, Any], **options: Any) -> list[str]:
    return [tool.path for tool in offered(Scope.of(scope), **options)]


async def call(
    scope: Scope | dict[str, Any], *calls: tuple[str, Any], before: str = "", limits: Limits = PATIENT
) -> tuple[ToolResult, ...]:
    """Make these calls in one cell, in the jail: the name that the model says, and its arguments."""
    bound = Scope.of(scope)
    tools = by_name(offered(bound, everything=True))
    cell = cell_for([(tools[name], tool_call(n, name, given)) for n, (name, given) in enumerate(calls)])
    async with Runtime(bound, limits=limits) as rt:
        if before:
            (await rt.execute(before)).unwrap()
        outcome = await rt.execute(cell.code) if cell.code else None
    return results_of(outcome, cell)


def tool_call(number: int, name: str, given: Any) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))


async def text(scope: dict[str, Any], name: str, given: Any = "{}") -> str:
    (result,) = await call(scope, (name, given))
    assert not result.failed, result.text
    return result.text


# --- what is offered ---


def test_functions_and_methods_that_are_marked_are_offered_by_their_paths() -> None:
    def plain(x: int) -> int:
        return x

    @operation(direct=True)
    def marked(x: int) -> int:
        return x

    scope = Scope({"crm": Crm(), "marked": marked, "plain": plain, "number": 3, "words": ["a"]})
    assert [tool.name for tool in offered(scope)] == [
        "crm__archive__list", "crm__archive__delete", "crm__refresh", "crm__contacts__list", "crm__contacts__delete",
        "marked",
    ]  # fmt: skip
    scope.declare("plain", direct=True)
    scope.declare("crm.contacts.list", direct=False)
    assert "plain" in paths(scope)
    assert "crm.contacts.list" not in paths(scope)


def test_everything_offers_what_nobody_marked_too() -> None:
    assert "crm.contacts.rename" in paths({"crm": Crm()}, everything=True)
    assert "crm.contacts.rename" not in paths({"crm": Crm()})


def test_what_the_rules_hide_or_refuse_is_not_offered() -> None:
    scope = Scope({"crm": Crm(), "send": one})
    scope.declare("crm.contacts.*", hide=["delete"])
    scope.declare("crm.archive", hide=True)
    scope.declare("send", hide=True)
    assert paths(scope) == ["crm.refresh", "crm.contacts.list"]
    scope.declare("crm.*", read_only=True)
    assert paths(scope) == ["crm.contacts.list"]


def test_a_scope_for_a_child_hides_what_is_hidden_where_the_object_stood() -> None:
    parent = Scope({"crm": Crm()})
    parent.declare("crm.*", hide=["refresh"])
    assert "crm.refresh" not in paths(parent.narrowed(["crm"]))


def test_functions_of_modules_classes_and_callable_objects_are_offered() -> None:
    class Dog:
        @classmethod
        def named(cls, name: str) -> str:
            return name

        @staticmethod
        def legs(count: int = 4) -> int:
            return count

        def speak(self) -> str:
            return "woof"

    class Adder:
        def __call__(self, left: int, right: int = 1) -> int:
            return left + right

    module = types.ModuleType("tricks")
    module.__dict__.update(jump=lambda height: height, __all__=["jump"])  # pyright: ignore[reportUnknownLambdaType]
    names = {"Dog": Dog, "tricks": module, "add": Adder(), "two": functools.partial(Adder().__call__, 2)}
    assert paths(names, everything=True) == ["Dog.named", "Dog.legs", "tricks.jump", "add", "two"]
    assert paths({"Order": Order, "Place": Place, "Mood": Mood}, everything=True) == []


def test_a_description_is_the_first_paragraph_or_the_signature() -> None:
    tools = by_name(offered(Scope({"crm": Crm()})))
    assert tools["crm__contacts__list"].description == "The contacts."
    assert tools["crm__refresh"].description == "crm.refresh(full: bool = False) -> int"


def test_parameters_are_json_schema_with_defaults_and_without_titles() -> None:
    def book(
        title: str,
        start: dt.datetime,
        *,
        kind: Literal["call", "visit"] = "call",
        tags: list[str] = [],  # noqa: B006  as people write it
        mood: Mood = Mood.GOOD,
        anything: Any = None,
        **more: int,
    ) -> Elsewhere:
        return 1

    (tool,) = offered(Scope({"book": book, "Mood": Mood}), everything=True)
    schema = tool.to_tool().parameters
    assert schema["required"] == ["title", "start"]
    assert schema["properties"] == {
        "title": {"type": "string"},
        "start": {"type": "string", "format": "date-time"},
        "kind": {"type": "string", "enum": ["call", "visit"], "default": "call"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "mood": {"$ref": "#/$defs/Mood", "default": "good"},
        "anything": {},
    }
    assert schema["$defs"] == {"Mood": {"enum": ["good", "bad"], "type": "string"}}


def takes_callback(key: Callable[[int], int]) -> None: ...
def takes_object(crm: Crm) -> None: ...
def takes_elsewhere(x: Elsewhere) -> None: ...
def takes_unbound_enum(mood: list[Mood]) -> None: ...
def takes_odd_name(été: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (takes_callback, "a model cannot give its parameters"),
        (takes_object, "parameter crm: a Crm cannot be written"),
        (takes_elsewhere, "parameter x: its annotation cannot be read here"),
        (takes_unbound_enum, "parameter mood: Mood has no name that guest code can use; bind the class by name"),
        (takes_odd_name, "cannot be the name of a parameter"),
        (iter, "Python cannot tell its parameters"),
    ],
)
def test_what_a_model_could_not_call_is_left_out_with_the_reason(function: Any, why: str) -> None:
    found = direct_tools(Scope({"f": function, "ok": len}), everything=True)
    assert [tool.path for tool in found.tools] == ["ok"]
    assert why in found.left_out["f"]


def test_a_parameter_without_annotation_takes_anything() -> None:
    (tool,) = offered(Scope({"size": len}), everything=True)
    assert tool.to_tool().parameters["properties"] == {"obj": {}}


def test_names_for_the_model_are_short_plain_and_different() -> None:
    def f() -> None: ...

    inner = types.SimpleNamespace(**{"a" * 40: f, "été": f})
    scope = Scope({"b" * 30: inner, "x__y": f, "x": types.SimpleNamespace(y=f), "execute": f})
    tools = offered(scope, everything=True)
    names = [tool.name for tool in tools]
    assert len(set(names)) == len(names) == 5
    assert all(0 < len(name) <= 64 and name.replace("_", "").isalnum() and name.isascii() for name in names)
    assert "execute" not in names
    assert "execute" in [tool.path for tool in tools]


def test_the_offer_is_the_same_bytes_each_time() -> None:
    def shown() -> str:
        return json.dumps([[t.name, t.description, t.to_tool().parameters] for t in offered(Scope({"crm": Crm()}))])

    assert shown() == shown()


# --- making calls ---


async def test_a_call_runs_on_the_live_object_and_its_result_is_json() -> None:
    crm = Crm()
    assert await text({"crm": crm}, "crm__contacts__list", {"limit": 1}) == '["Ada"]'
    assert await text({"crm": crm}, "crm__contacts__delete", {"name": "Ada"}) == "null"
    assert crm.contacts.people == ["Bo"]
    assert await text({"crm": crm}, "crm__refresh", {"full": True}) == "7"
    assert await text({"crm": crm}, "crm__refresh", "") == "3"


async def test_arguments_arrive_as_what_the_annotations_say() -> None:
    got: list[Any] = []

    def take(
        at: dt.datetime, day: dt.date, wait: dt.timedelta, cost: Decimal, key: UUID, where: Path, mood: Mood,
        place: Place, order: Order, pairs: tuple[Pair, ...], marks: set[int], raw: bytes, ratio: float, rest: Any,
    ) -> None:  # fmt: skip
        got.extend((at, day, wait, cost, key, where, mood, place, order, pairs, marks, raw, ratio, rest))

    given = {
        "at": "2026-01-01T10:00:00+02:00", "day": "2026-01-01", "wait": "PT90S", "cost": "1.20",
        "key": str(UUID(int=5)), "where": "a/b", "mood": "bad", "place": {"city": "Oslo"},
        "order": {"item": "tea", "count": 2}, "pairs": [[1, "x"]], "marks": [1, 2, 2],
        "raw": "hi", "ratio": 1, "rest": {"a": [None, True, 1.5]},
    }  # fmt: skip
    scope = {"take": take, "Mood": Mood, "Place": Place, "Order": Order, "Pair": Pair}
    assert await text(scope, "take", given) == "null"
    zone = dt.timezone(dt.timedelta(hours=2))
    assert got == [
        dt.datetime(2026, 1, 1, 10, tzinfo=zone), dt.date(2026, 1, 1), dt.timedelta(seconds=90), Decimal("1.20"),
        UUID(int=5), Path("a/b"), Mood.BAD, Place("Oslo"), Order(item="tea", count=2), (Pair(1, "x"),), {1, 2}, b"hi",
        1.0, {"a": [None, True, 1.5]},
    ]  # fmt: skip
    assert [type(value) for value in got[6:10]] == [Mood, Place, Order, tuple]
    assert type(got[12]) is float


async def test_positional_and_open_ended_parameters_arrive() -> None:
    got: list[Any] = []

    def take(first: int, second: int = 2, /, third: int = 3, *others: int, **more: int) -> None:
        got.append((first, second, third, others, more))

    calls = [{"first": 1}, {"first": 1, "second": 5, "third": 6}, {"first": 1, "a b": 7, "class": 8}]
    results = await call({"take": take}, *(("take", given) for given in calls))
    assert [r.text for r in results] == ["null"] * 3
    assert got == [(1, 2, 3, (), {}), (1, 5, 6, (), {}), (1, 2, 3, (), {"a b": 7, "class": 8})]
    (refused,) = await call({"take": take}, ("take", {"first": 1, "more": "x"}))
    assert refused.failed
    assert "valid integer" in refused.text


async def test_independent_calls_of_one_reply_run_side_by_side() -> None:
    here: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    async def meet(me: int) -> str:
        here[me].set()
        await here[1 - me].wait()  # for ever, if the other one waits for this one's end
        return f"{me} met {1 - me}"

    results = await call({"meet": meet}, ("meet", {"me": 0}), ("meet", {"me": 1}))
    assert [r.text for r in results] == ["0 met 1", "1 met 0"]


async def test_a_call_that_fails_takes_no_other_down() -> None:
    class Odd(Exception):
        pass

    def fail() -> None:
        raise Odd("not today")

    def leave() -> None:
        raise SystemExit(3)

    async def stop() -> None:
        raise asyncio.CancelledError("mine")

    async def fine() -> str:
        return "fine"

    names = ["fail", "fine", "leave", "stop", "fine"]
    scope = {"fail": fail, "leave": leave, "stop": stop, "fine": fine}
    results = await call(scope, *((name, "{}") for name in names))
    assert [(r.id, r.name, r.failed) for r in results] == [
        ("c0", "fail", True), ("c1", "fine", False), ("c2", "leave", True), ("c3", "stop", True), ("c4", "fine", False),
    ]  # fmt: skip
    assert results[0].text == "Odd: not today"
    assert results[2].text.startswith("SystemExit: 3")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("{", "Invalid JSON"),
        ('{"name": "Ada"', "Invalid JSON"),
        ("[1]", "Input should be an object"),
        ('"Ada"', "Input should be an object"),
        ("{}", "name: Field required"),
        ('{"name": 5}', "name: Input should be a valid string"),
        ('{"name": "Ada", "extra": 1}', "extra: Extra inputs are not permitted"),
        ("[" * 5000, "Invalid JSON"),
    ],
)
async def test_arguments_that_will_not_do_are_refused_in_short_and_nothing_runs(given: str, why: str) -> None:
    crm = Crm()
    (refused, made) = await call(
        {"crm": crm}, ("crm__contacts__delete", given), ("crm__contacts__delete", {"name": "Bo"})
    )
    assert refused.failed
    assert refused.text.startswith("crm__contacts__delete was not called: ")
    assert why in refused.text
    assert len(refused.text) < 400
    assert not made.failed
    assert crm.contacts.people == ["Ada"]


async def test_when_all_are_refused_there_is_no_cell() -> None:
    (tool,) = offered(Scope({"f": one}))
    cell = cell_for([(tool, ToolCall(id="a", name="f", arguments="{}"))])
    assert cell.code == ""
    assert cell.refused == {0: "f was not called: x: Field required"}
    assert [r.failed for r in results_of(None, cell)] == [True]


async def test_nothing_of_a_generated_cell_stays_and_nothing_of_the_guests_is_used() -> None:
    shadows = "json = asyncio = builtins = list = type = repr = inspect = datetime = __import__ = None\nlast = 5"
    scope = Scope({"crm": Crm()})
    tools = by_name(offered(scope))
    cell = cell_for([(tools["crm__contacts__list"], tool_call(1, "crm__contacts__list", {"limit": 1}))])
    async with Runtime(scope, limits=PATIENT) as rt:
        (await rt.execute(shadows)).unwrap()
        before = (await rt.execute("sorted(globals())")).unwrap()
        assert results_of(await rt.execute(cell.code), cell)[0].text == '["Ada"]'
        assert (await rt.execute("sorted(globals())")).unwrap() == before
        assert (await rt.execute("json, last")).unwrap() == (None, 5)


async def test_the_type_checker_has_nothing_against_a_generated_cell() -> None:
    def go(place: Place, at: dt.datetime) -> str:
        return f"{place} {at}"

    scope = Scope({"crm": Crm(), "Place": Place, "go": go})
    tools = by_name(offered(scope, everything=True))
    calls: list[tuple[str, Any]] = [
        ("crm__refresh", {}),
        ("crm__contacts__list", {"city": "Oslo"}),
        ("go", {"place": {"city": "Oslo"}, "at": "2026-01-01T10:00"}),
    ]
    cell = cell_for([(tools[name], tool_call(n, name, given)) for n, (name, given) in enumerate(calls)])
    async with Runtime(scope, limits=PATIENT, check="strict") as rt:
        outcome = await rt.execute(cell.code)
    assert (outcome.error, outcome.mistakes) == (None, ())


HOSTILE = ["'); done(1) #", "\"\"\"'''", "\\", "{crm}", "\n\nraise SystemExit", "\r\x00\u2028", "__import__('os')"]


@pytest.mark.parametrize("given", HOSTILE)
async def test_an_argument_is_data_whatever_it_looks_like(given: str) -> None:
    got: list[Any] = []

    def take(value: Any, **more: Any) -> None:
        got.append((value, more))

    await text({"take": take}, "take", {"value": given, given: {given: [given]}})
    assert got == [(given, {given: {given: [given]}})]


plain_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


def _given(value: Any, **more: Any) -> list[Any]:
    return [value, more]


TAKE = offered(Scope({"take": _given}), everything=True)[0]


@given(plain_json, st.dictionaries(st.text().filter(lambda key: key != "value"), plain_json, max_size=3))
def test_what_a_model_sends_is_what_the_function_gets(value: Any, more: dict[str, Any]) -> None:
    cell = cell_for([(TAKE, tool_call(1, "take", {"value": value, **more}))])
    (line,) = [line for line in cell.code.splitlines() if "_settled(lambda" in line]
    called = eval(line.strip().removeprefix("_settled(").removesuffix("),"), {"__builtins__": {}, "take": _given})
    assert called() == [value, more]


# --- what the model is told ---


class Client:
    def __init__(self) -> None:
        self.key = "s3cret"

    def ping(self) -> str:
        return "pong"


class Loud(Client):
    def __repr__(self) -> str:
        raise RuntimeError("no")


@dataclass
class Looped:
    items: list[Any]


def looped() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


RESULTS: list[tuple[Any, str]] = [
    ("plain text\n'as it is'", "plain text\n'as it is'"),
    ({"a": [1, None, True, "é"]}, '{"a":[1,null,true,"é"]}'),
    ([Place("Oslo", 2), Order(item="tea")], '[{"city":"Oslo","floor":2},{"item":"tea","count":1}]'),
    (Pair(1, "x"), '{"left":1,"right":"x"}'),
    ({Mood.BAD: {3}, 5: (1, 2)}, '{"bad":[3],"5":[1,2]}'),
    ([dt.datetime(2026, 1, 1), dt.date(2026, 1, 2), dt.time(3), Decimal("1.20"), Path("a"), UUID(int=1)],
     f'["2026-01-01T00:00:00","2026-01-02","03:00:00","1.20","a","{UUID(int=1)}"]'),
    (b"ab\xff", "ab\\xff"),
    (looped, "[[...]]"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "told"), RESULTS, ids=range(len(RESULTS)))
async def test_a_result_is_told_as_json_where_it_is_data(result: Any, told: str) -> None:
    assert await text({"give": result if callable(result) else lambda: result}, "give") == told


async def test_a_live_object_is_told_by_its_repr_with_a_hint() -> None:
    told = await text({"give": lambda: Client()}, "give")
    assert told == "<Client on the host> (a live object: call this from code to work on it)"
    nested = await text({"give": lambda: {"client": Client()}}, "give")
    assert nested == '{"client":"<Client on the host>"} (a live object: call this from code to work on it)'
    assert "s3cret" not in told + nested


async def test_a_result_that_cannot_be_told_says_that_the_call_was_made() -> None:
    (odd, fine) = await call({"give": lambda: Loud(), "ok": lambda: 1}, ("give", ""), ("ok", ""))
    assert odd.text.startswith("It was called; what it gave cannot be shown (RuntimeError: no")
    assert not odd.failed
    assert fine.text == "1"


async def test_a_result_that_is_too_long_is_cut_by_the_caller_and_a_huge_one_before() -> None:
    scope = Scope({"give": lambda: "x" * 1_500_000})
    (tool,) = offered(scope, everything=True)
    cell = cell_for([(tool, tool_call(1, "give", ""))])
    async with Runtime(scope, limits=PATIENT) as rt:
        outcome = await rt.execute(cell.code)
    assert results_of(outcome, cell)[0].text.endswith("x… [500,000 more characters]")


async def test_a_cell_that_was_ended_is_told_to_each_of_its_calls() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    results = await call({"f": forever, "g": lambda: 1}, ("f", ""), ("g", ""), limits=Limits(wall_s=0.5))
    assert [r.failed for r in results] == [True, True]
    assert all(r.text.startswith(TimeLimit.__name__) for r in results)


async def test_an_outcome_that_no_generated_cell_gives_is_no_result() -> None:
    cell = cell_for([(TAKE, tool_call(1, "take", {"value": 1}))])
    for value in (None, [], ["x"], [(1, 2, 3, 4)], "text"):
        (result,) = results_of(Outcome(cell=1, value=value), cell)
        assert result.failed
        assert result.text.startswith("no result could be read")


async def test_observations_have_the_ids_of_their_calls() -> None:
    scope = Scope({"crm": Crm()})
    tools = by_name(offered(scope))
    asked: list[bool] = []
    async with Runtime(scope, limits=PATIENT) as rt:

        async def run(code: str, checked: bool) -> Outcome:
            asked.append(checked)
            return await rt.execute(code)

        name = "crm__contacts__delete"
        seen = await observe_calls(
            [(tools[name], tool_call(n, name, given)) for n, given in enumerate(("{", {"name": "Ada"}))], run
        )
    assert [(o.call, o.ok, bool(o.failure)) for o in seen] == [("c0", False, True), ("c1", True, False)]
    assert asked == [False]


# --- the doors ---


async def test_a_journaled_session_repeats_a_direct_cell_without_calling_twice(tmp_path: Path) -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    tools = by_name(offered(scope))
    names = ["crm__contacts__delete", "crm__refresh", "crm__contacts__list", "crm__refresh"]
    given: list[Any] = [{"name": "Ada"}, {}, {}, {"full": True}]
    cell = cell_for([(tools[n], tool_call(i, n, g)) for i, (n, g) in enumerate(zip(names, given, strict=True))])
    store = f"sqlite:///{tmp_path}/a.db"
    async with Runtime(scope, session="s", store=store, limits=PATIENT) as rt:
        (await rt.execute("before = 1")).unwrap()
        first = results_of(await rt.execute(cell.code), cell)
    crm.contacts.people.append("Ada")
    async with Runtime.resume("s", scope=scope, store=store, limits=PATIENT) as rt:
        again = results_of(await rt.outcome(), cell)
        assert (await rt.execute("before")).unwrap() == 1
        assert rt.restored is not None
        assert rt.restored.lost == ()
    assert [r.text for r in first] == ["null", "3", '["Bo"]', "7"]
    assert again == first
    assert crm.contacts.people == ["Bo", "Ada"]


async def test_a_direct_call_is_refused_by_the_rules_as_code_is() -> None:
    scope = Scope({"crm": Crm()})
    tools = by_name(offered(scope))
    scope.declare("crm.contacts.*", hide=["delete"])  # after it was offered
    cell = cell_for([(tools["crm__contacts__delete"], tool_call(1, "crm__contacts__delete", {"name": "Ada"}))])
    async with Runtime(scope, limits=PATIENT) as rt:
        (result,) = results_of(await rt.execute(cell.code), cell)
    assert result.failed
    assert "has no attribute 'delete' here" in result.text
