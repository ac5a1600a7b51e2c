"""What crosses by value, what by handle, and that a copy is a copy."""

from __future__ import annotations

import datetime as dt
import enum
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pydantic
import pytest
from tests.cells import failure, value, written

from cellwright import GuestValue, Runtime, Scope


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Perm(enum.Flag):
    READ = 1
    WRITE = 2


class Spot(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Contact:
    """A person."""

    name: str
    tags: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Frozen:
    name: str


class Model(pydantic.BaseModel):
    name: str
    age: int = 3


class Nest(pydantic.BaseModel):
    inner: Model
    many: list[Model]


@dataclass
class Active:
    """A dataclass with a public method: behaviour, so a handle."""

    name: str

    def shout(self) -> str:
        return self.name.upper()


class ActiveModel(pydantic.BaseModel):
    name: str

    def shout(self) -> str:
        return self.name.upper()


class Thing:
    """Anything else."""


@dataclass
class Holder:
    """A dataclass that holds what cannot be copied."""

    thing: Any


PLAIN: list[Any] = [
    None,
    True,
    0,
    -7,
    1.5,
    "",
    "grüße \N{SNOWMAN} \U0001f600",
    b"",
    b"\x00\xff",
    bytearray(b"ab"),
    2 + 3j,
    [],
    [1, [2, [3]]],
    (),
    (1, ("a",)),
    {},
    {"a": {"b": [1]}},
    {1: "int", (2, 3): "tuple", None: "none", 1.5: "float", b"k": "bytes"},
    set[int](),
    {1, 2},
    frozenset({"a"}),
    dt.datetime(2026, 11, 15, 1, 2, 3, 4),
    dt.date(2026, 11, 15),
    dt.time(1, 2, 3),
    dt.timedelta(days=-1, seconds=3, microseconds=5),
    dt.UTC,
    Decimal("1.10"),
    UUID("12345678-1234-5678-1234-567812345678"),
    Path("/a/b"),
    range(1, 10, 3),
    slice(1, None, 2),
    ...,
]


@pytest.mark.parametrize("plain", PLAIN, ids=lambda v: f"{type(v).__name__}-{v!r:.20}")
async def test_plain_data_arrives_as_it_was_in_both_directions(plain: Any) -> None:
    got: list[Any] = []
    sent = {"plain": plain, "take": got.append}
    code = "take(plain)\n(type(plain).__name__, plain)"
    name, back = await value(code, **sent)
    assert name == type(plain).__name__ or isinstance(plain, Path)
    assert back == plain
    assert type(back) is type(plain)
    assert got == [plain]
    assert type(got[0]) is type(plain)


async def test_a_change_to_data_in_the_guest_is_not_seen_by_the_host() -> None:
    data = {"list": [1], "set": {1}}
    seen = await value("data['list'].append(2); data['set'].add(2); data['new'] = 1; data", data=data)
    assert data == {"list": [1], "set": {1}}
    assert seen == {"list": [1, 2], "set": {1, 2}, "new": 1}


async def test_a_change_to_data_on_the_host_is_not_seen_by_the_guest() -> None:
    data = [1]

    def get() -> list[int]:
        return data

    def change() -> None:
        data.append(2)

    assert await value("mine = get()\nchange()\nmine, get()", get=get, change=change) == ([1], [1, 2])


@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (OrderedDict[str, int](a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
    ],
)
async def test_special_dicts_of_the_host_arrive_as_dicts(special: Any, plain: Any) -> None:
    assert await value("type(special).__name__, special", special=special) == ("dict", plain)


@pytest.mark.parametrize(
    ("code", "plain"),
    [
        ("import collections; collections.OrderedDict(a=1)", {"a": 1}),
        ("import collections; collections.Counter('aab')", {"a": 2, "b": 1}),
        ("import collections; collections.deque([1, 2])", [1, 2]),
        ("{'a': 1}.keys()", ["a"]),
        ("{'a': 1}.items()", [("a", 1)]),
        ("memoryview(b'ab')", b"ab"),
        ("class S(str): pass\nS('x')", "x"),
        ("class I(int): pass\nI(3)", 3),
        ("import types; types.MappingProxyType({'a': 1})", {"a": 1}),
        ("import enum\nclass E(enum.Enum): A = 1\nE.A", 1),
    ],
)
async def test_special_data_of_the_guest_arrives_as_the_plain_data_it_is(code: str, plain: Any) -> None:
    got = await value(code)
    assert got == plain
    assert type(got) is type(plain)


async def test_a_deque_of_the_host_is_an_object_and_not_a_copy() -> None:
    queue: deque[int] = deque([1])
    assert await value("queue.append(2); len(queue), list(queue)", queue=queue) == (2, [1, 2])
    assert queue == deque([1, 2])


async def test_a_dataclass_without_methods_is_copied_with_its_fields() -> None:
    ada = Contact("Ada", ["x"])
    seen = await value(
        "ada.tags.append('y'); type(ada).__name__, type(ada).__doc__, ada.name, ada.tags, repr(ada)", ada=ada
    )
    assert seen == ("Contact", "A person.", "Ada", ["x", "y"], "Contact(name='Ada', tags=['x', 'y'])")
    assert ada.tags == ["x"]


async def test_copies_of_equal_records_are_equal_and_a_frozen_one_is_hashable_and_stays_frozen() -> None:
    names = {"a": Frozen("x"), "b": Frozen("x"), "c": Frozen("y")}
    assert await value("a == b, a != c, len({a, b, c})", **names) == (True, True, 2)
    assert await value(
        """
        try:
            a.name = 'z'
        except AttributeError as error:
            told = type(error).__name__
        told
        """,
        **names,
    ) == ("FrozenInstanceError")


async def test_a_pydantic_model_without_methods_is_copied_and_nests() -> None:
    nest = Nest(inner=Model(name="a"), many=[Model(name="b", age=4)])
    code = "(nest.inner.name, nest.many[0].age, nest.model_dump(), type(nest.inner).__name__)"
    assert await value(code, nest=nest) == (
        "a",
        4,
        {"inner": {"name": "a", "age": 3}, "many": [{"name": "b", "age": 4}]},
        "Model",
    )


async def test_a_record_handed_back_is_built_again_as_its_class() -> None:
    scope = Scope({"ada": Contact("Ada"), "model": Model(name="m"), "spot": Spot(1, 2)})
    for cls in (Contact, Model, Spot):
        scope.declare(cls)
    got: list[Any] = []
    scope.bind("take", got.append)
    async with Runtime(scope) as rt:
        (await rt.execute("ada.name = 'Eve'\ntake(ada); take(model); take(spot)")).unwrap()
    assert got == [Contact("Eve"), Model(name="m"), Spot(1, 2)]
    assert [type(v) for v in got] == [Contact, Model, Spot]


async def test_a_namedtuple_is_copied_and_stays_a_tuple_with_names() -> None:
    code = "x, y = spot\n(x, y, spot.x, spot[1], spot._replace(x=9).x, isinstance(spot, tuple), type(spot).__name__)"
    assert await value(code, spot=Spot(1, 2)) == (1, 2, 1, 2, 9, True, "Spot")


async def test_enum_members_are_members_of_a_class_with_the_same_members() -> None:
    code = """
    (colour.name, colour.value, str(colour), colour is again, type(colour)('blue').name,
     rank + 1, rank > 1, [c.name for c in type(colour)])
    """
    names = {"colour": Colour.RED, "again": Colour.RED, "rank": Rank.HIGH}
    assert await value(code, **names) == ("RED", "red", "Colour.RED", True, "BLUE", 3, True, ["RED", "BLUE"])


async def test_an_enum_member_handed_back_is_the_hosts_own() -> None:
    got: list[Any] = []
    scope = Scope({"Colour": Colour, "Rank": Rank, "take": got.append})
    async with Runtime(scope) as rt:
        value = (await rt.execute("take(Colour.BLUE); take([Rank['LOW']]); Colour.RED")).unwrap()
    assert got[0] is Colour.BLUE
    assert got[1][0] is Rank.LOW
    assert value is Colour.RED


async def test_a_combination_of_flags_crosses_both_ways() -> None:
    got: list[Any] = []
    scope = Scope({"Perm": Perm, "both": Perm.READ | Perm.WRITE, "take": got.append})
    async with Runtime(scope) as rt:
        seen = (await rt.execute("take(Perm.READ | Perm.WRITE)\nPerm.READ in Perm(both)")).unwrap()
    assert seen is True
    assert got == [Perm.READ | Perm.WRITE]


@pytest.mark.parametrize("active", [Active("x"), ActiveModel(name="x")], ids=["dataclass", "pydantic"])
async def test_a_data_class_with_public_methods_goes_by_handle(active: Any) -> None:
    assert await written("active.name = 'eve'; active.shout()", active=active) == "EVE"
    assert active.name == "eve"


async def test_a_dataclass_that_holds_an_object_goes_by_handle_and_its_object_too() -> None:
    thing = Thing()
    holder = Holder(thing)
    assert await value("holder.thing", holder=holder) is thing


async def test_objects_inside_data_are_handles_inside_a_copy() -> None:
    thing = Thing()
    got: list[Any] = []
    await value("take(data['deep'][0]); data['deep'].append(1)", data={"deep": [thing]}, take=got.append)
    assert got == [thing]


async def test_a_subclass_of_plain_data_arrives_as_that_data() -> None:
    class Name(str):
        pass

    class Metres(float):
        pass

    assert await value("[type(x).__name__ for x in xs], xs", xs=[Name("a"), Metres(1.5)]) == (
        ["str", "float"],
        ["a", 1.5],
    )


async def test_a_value_that_cannot_cross_is_told_by_its_type_and_text() -> None:
    got = await value("class Mine:\n    def __repr__(self): return '<mine>'\nMine()")
    assert isinstance(got, GuestValue)
    assert (got.type, got.text) == ("Mine", "<mine>")


async def test_a_value_whose_repr_fails_is_an_outcome_and_the_session_goes_on() -> None:
    async with Runtime() as rt:
        out = await rt.execute("class Mine:\n    def __repr__(self): raise ValueError('no')\nMine()")
        assert out.ok or "no" in str(out.error)
        assert (await rt.execute("1 + 1")).unwrap() == 2


async def test_an_object_of_the_guests_own_class_is_refused_as_an_argument_with_a_hint() -> None:
    error = await failure("class Mine: pass\ntake(Mine())", take=lambda x: None)  # pyright: ignore[reportUnknownLambdaType]
    assert error.type == "TypeError"
    assert "Mine" in error.message
    assert "plain data" in error.message


class Level(str, enum.Enum):  # noqa: UP042  the older way, which much code still has
    LOW = "low"
    HIGH = "high"


async def test_an_enum_that_is_also_a_string_is_one_in_the_guest_too() -> None:
    got: list[Any] = []
    code = "take(level)\nlevel == 'high', level.upper(), level.name, isinstance(level, str), {'high': 1}[level]"
    assert await value(code, level=Level.HIGH, take=got.append) == (True, "HIGH", "HIGH", True, 1)
    assert got[0] is Level.HIGH
