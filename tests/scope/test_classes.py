"""Classes in scope: what the guest may build, what is checked before it is built, and `isinstance`."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import pydantic
import pytest
from tests.cells import failure, value

from cellwright import Runtime, Scope

built: list[str] = []


class Animal:
    """An animal."""

    kingdom = "animalia"
    count: ClassVar[int] = 0

    def __init__(self, name: str, age: int = 1) -> None:
        self.name = name
        self.age = age

    def speak(self) -> str:
        return f"{self.name} speaks"

    @classmethod
    def named(cls, name: str) -> Animal:
        """Make one."""
        return cls(name)

    @staticmethod
    def legs(count: int = 4) -> int:
        return count

    @classmethod
    async def later(cls) -> str:
        return cls.__name__


class Dog(Animal):
    def fetch(self) -> str:
        return "stick"


class Other:
    def make(self) -> Animal:
        return Animal("made")


@dataclass
class Point:
    """A point."""

    x: int
    y: float = 0.0
    tags: list[str] = field(default_factory=list[str])
    near: Point | None = None
    kind: Literal["a", "b"] = "a"
    extra: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        built.append("Point")


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Order(pydantic.BaseModel):
    item: str
    count: pydantic.PositiveInt = 1

    @pydantic.field_validator("item")
    @classmethod
    def not_empty(cls, text: str) -> str:
        if not text:
            raise ValueError("an item has a name")
        return text.strip()


class Mood(enum.Enum):
    GOOD = 1
    BAD = 2


async def test_the_guest_builds_a_class_in_scope_and_the_host_gets_the_real_thing() -> None:
    made = await value("d = Dog('Rex', age=3)\nd.speak(), d.fetch(), d", Dog=Dog)
    assert made[:2] == ("Rex speaks", "stick")
    assert type(made[2]) is Dog
    assert made[2].age == 3


async def test_isinstance_and_issubclass_follow_the_hosts_bases() -> None:
    code = """
    d, a = Dog('x'), Animal('y')
    (isinstance(d, Dog), isinstance(d, Animal), isinstance(a, Dog), isinstance(other.make(), Animal),
     isinstance(3, Animal), isinstance(other, Animal), issubclass(Dog, Animal), issubclass(Animal, Dog),
     type(d) is Dog, isinstance(d, (int, Animal)))
    """
    assert await value(code, Animal=Animal, Dog=Dog, other=Other()) == (
        *(True, True, False, True),
        *(False, False, True, False),
        *(True, True),
    )


async def test_match_on_a_class_in_scope_works() -> None:
    code = """
    match thing:
        case Point(x=1, y=y):
            told = f'point {y}'
        case _:
            told = 'other'
    told
    """
    assert await value(code, thing=Point(1, 2.5), Point=Point) == "point 2.5"


async def test_isinstance_works_for_records_models_enums_and_named_tuples() -> None:
    code = "[isinstance(v, c) for v, c in zip(things, (Point, Order, Mood, Pair))]"
    names = {"Point": Point, "Order": Order, "Mood": Mood, "Pair": Pair}
    things = [Point(1), Order(item="x"), Mood.BAD, Pair(1)]
    assert await value(code, things=things, **names) == [True] * 4


async def test_class_methods_static_methods_and_class_attributes_of_a_bound_class_work() -> None:
    code = "Dog.named('Ada').fetch(), Dog.legs(), Dog.legs(count=2), Dog('x').legs(3)"
    assert await value(code, Dog=Dog) == ("stick", 4, 2, 3)
    assert await value("Dog.kingdom, await Dog.later(), Dog.count", Dog=Dog) == ("animalia", "Dog", 0)


async def test_a_class_shows_its_docs_and_its_constructors_parameters() -> None:
    code = "import inspect\nAnimal.__doc__, Animal.__name__, str(inspect.signature(Animal)), Animal.named.__doc__"
    doc, name, signature, named = await value(code, Animal=Animal)
    assert (doc, name, named) == ("An animal.", "Animal", "Make one.")
    assert signature.startswith("(name: str, age: int = 1)")


async def test_a_dataclass_is_built_with_defaults_and_keywords_and_arrives_as_itself() -> None:
    got: list[Any] = []
    made = await value("p = Point(1, tags=['a'], near=Point(2))\np.x = 5\ntake(p)\np", Point=Point, take=got.append)
    assert made == Point(5, tags=["a"], near=Point(2))
    assert got == [made]


@pytest.mark.parametrize(
    ("call", "field_name", "wanted"),
    [
        ("Point('1')", "x", "int"),
        ("Point(True)", "x", "int"),
        ("Point(1, 'y')", "y", "float"),
        ("Point(1, tags=[1])", "tags", "list[str]"),
        ("Point(1, tags='ab')", "tags", "list[str]"),
        ("Point(1, kind='c')", "kind", "Literal"),
        ("Point(1, near=3)", "near", "Point"),
        ("Point(1, extra={'a': 'b'})", "extra", "dict[str, int]"),
        ("Pair('1')", "left", "int"),
    ],
)
async def test_fields_are_checked_against_their_annotations_before_init_runs(
    call: str, field_name: str, wanted: str
) -> None:
    built.clear()
    error = await failure(call, Point=Point, Pair=Pair)
    assert built == []
    assert error.type == "WrongArguments"
    assert field_name in error.message
    assert wanted in error.message


async def test_a_copy_that_the_guest_spoiled_is_checked_again_on_its_way_back() -> None:
    got: list[Any] = []
    error = await failure("p = Point(1)\np.x = 'spoiled'\ntake(p)", Point=Point, take=got.append)
    assert "Point.x takes int" in error.message
    assert got == []


async def test_a_wrong_constructor_call_names_the_right_parameters() -> None:
    error = await failure("Point()", Point=Point)
    assert "x: int" in error.message
    error = await failure("Animal()", Animal=Animal)
    assert "name: str" in error.message


async def test_pydantic_validates_what_the_guest_builds() -> None:
    assert await value("Order(item=' tea ', count='3')", Order=Order) == Order(item="tea", count=3)
    code = "try:\n    Order(item='', count=0)\nexcept ValueError as error:\n    told = str(error)\ntold"
    told = await value(code, Order=Order)
    assert "an item has a name" in told
    assert "greater than 0" in told


async def test_pydantic_validates_a_copy_that_comes_back() -> None:
    got: list[Any] = []
    code = "o = Order(item='tea')\no.count = -1\ntry:\n    take(o)\nexcept ValueError:\n    told = 'refused'\ntold"
    assert await value(code, Order=Order, take=got.append) == "refused"
    assert got == []


async def test_enums_and_named_tuples_are_built_by_the_guest() -> None:
    got: list[Any] = []
    await value(
        "take(Mood.GOOD); take(Mood(2)); take(Pair(1, right='x')); take(Pair(2))", Mood=Mood, Pair=Pair, take=got.append
    )
    assert got == [Mood.GOOD, Mood.BAD, Pair(1, "x"), Pair(2)]
    assert type(got[2]) is Pair


async def test_a_declared_class_may_be_built_though_it_has_no_name_in_scope() -> None:
    scope = Scope({"point": Point(1)})
    scope.declare(Point)
    async with Runtime(scope) as rt:
        assert (await rt.execute("type(point)(x=4)")).unwrap() == Point(4)


async def test_a_data_class_that_a_bound_function_takes_may_be_built() -> None:
    got: list[Any] = []

    def place(point: Point, moods: list[Mood]) -> Point:
        got.append(moods)
        return point

    code = "p = place(start, [])\nplace(type(p)(x=9), [])"
    scope = Scope({"place": place, "start": Point(1)})
    async with Runtime(scope) as rt:
        assert (await rt.execute(code)).unwrap() == Point(9)


async def test_a_class_that_was_not_declared_cannot_be_built() -> None:
    for code in ("type(other.make())('x')", "type(point)(x=2)", "type(order)(item='x')"):
        error = await failure(code, other=Other(), point=Point(1), order=Order(item="x"))
        assert "bind it by name, or declare it" in error.message, code


async def test_a_record_that_the_guest_was_sent_may_be_handed_back_and_its_fields_are_checked() -> None:
    got: list[Any] = []
    assert await value("take(point)\npoint", point=Point(1), take=got.append) == Point(1)
    assert got == [Point(1)]
    error = await failure("point.x = 'spoiled'\ntake(point)", point=Point(1), take=got.append)
    assert "Point.x takes int" in error.message
    assert got == [Point(1)]


async def test_class_methods_of_a_class_that_is_not_in_scope_stay_on_its_objects() -> None:
    assert await value("a = other.make()\na.legs(6), a.named('x').name", other=Other()) == (6, "x")
    assert await value("getattr(type(other.make()), 'kingdom', None) == 'animalia'", other=Other()) is False


async def test_a_guest_class_may_not_stand_in_for_a_host_class() -> None:
    got: list[Any] = []
    code = "class Point:\n    x = 1\ntake(Point())"
    assert (await failure(code, take=got.append)).type == "TypeError"
    assert got == []


async def test_a_bound_class_handed_to_the_host_is_the_class() -> None:
    got: list[Any] = []
    await value("take(Animal); take(Point)", Animal=Animal, Point=Point, take=got.append)
    assert got == [Animal, Point]


@dataclass(order=True)
class Version:
    major: int
    minor: int = 0


@dataclass(order=True)
class Release(Version):
    name: str = ""


async def test_records_follow_the_hosts_bases_and_order() -> None:
    code = """
    [isinstance(release, Version), isinstance(release, Release), isinstance(version, Release),
     issubclass(Release, Version), sorted([Version(2), version, Version(1, 5)])[0].minor, version < Version(3)]
    """
    names = {"Version": Version, "Release": Release, "release": Release(1), "version": Version(1)}
    assert await value(code, **names) == [True, True, False, True, 0, True]
