"""Objects of every kind, each with code that uses them rightly and code that does not."""

from __future__ import annotations

import functools
import types
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import InitVar, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NewType, Self, TypedDict, TypeVar, overload

import pytest

from cellwright.catalog import TypeChecker
from cellwright.scope import Scope

T = TypeVar("T")
Number = NewType("Number", int)


class Box(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    def map(self, change: Callable[[T], Any]) -> Box[Any]:
        return Box(change(self.value))


class Options(TypedDict):
    size: int


@dataclass
class Shape:
    name: str
    size: InitVar[int] = 3


@dataclass
class Circle(Shape):
    radius: float = 1.0


class Animal:
    kind: ClassVar[str] = "animal"
    legs = 4

    @classmethod
    def named(cls, name: str) -> Self:
        return cls()

    @staticmethod
    def count() -> int:
        return 1

    @functools.cached_property
    def home(self) -> Path:
        return Path()

    @property
    def age(self) -> int:
        return 1

    @age.setter
    def age(self, value: int) -> None: ...


class Dog(Animal):
    def bark(self, times: int = 1) -> str:
        return "wuff"


class Slots:
    __slots__ = ("name",)
    name: str


class Things(Mapping[str, Animal]):
    def __getitem__(self, name: str) -> Animal:
        return Animal()

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Words(list[str]):
    def longest(self) -> str:
        return max(self, key=len)


class Loud(str):
    __slots__ = ()


class Tools:
    """One method of each kind."""

    def __init__(self, root: Path, when: datetime | None = None) -> None:
        self.root = root
        self.when = when
        self.count = 0

    @overload
    def pick(self, what: int) -> int: ...
    @overload
    def pick(self, what: str) -> str: ...
    def pick(self, what: int | str) -> int | str:
        return what

    @contextmanager
    def lock(self) -> Generator[Path]:
        yield self.root

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[Dog]:
        yield Dog()

    async def later(self, work: Callable[[int], Awaitable[int]]) -> int:
        return 1

    async def numbers(self) -> AsyncIterator[int]:
        yield 1

    def boxed(self) -> Box[Dog]:
        return Box(Dog())

    def options(self) -> Options:
        return {"size": 1}

    def number(self, number: Number) -> Number:
        return number

    def mode(self, mode: Literal["r", "w"] = "r") -> None: ...

    def total(self, values: Sequence[float], table: dict[str, list[float]] | None = None) -> float:
        return 0.0

    def old(self, text: str = None) -> str:  # type: ignore[assignment]  # noqa: RUF013  as it was written once
        return text

    def any_of(self, kind: type[T]) -> T: ...

    def pet(self) -> Animal:
        return Dog()

    @functools.lru_cache  # noqa: B019
    def cached(self, name: str) -> int:
        return 1

    def __getitem__(self, index: int) -> Dog:
        return Dog()

    def __add__(self, other: int) -> Tools:
        return self

    def __radd__(self, other: int) -> Tools:
        return self

    def __call__(self, name: str) -> int:
        return 1

    def __lt__(self, other: Tools) -> bool:
        return True

    def __enter__(self) -> Dog:
        return Dog()

    def __exit__(self, *error: object) -> None: ...

    async def __aenter__(self) -> Dog:
        return Dog()

    async def __aexit__(self, *error: object) -> None: ...

    def __await__(self) -> Generator[Any, Any, Dog]:
        yield
        return Dog()


def twice(n: int, *, by: int = 2) -> int:
    return n * by


TABLE = types.ModuleType("table")
exec("def add(a: int, b: int = 1) -> int: return a + b\nLIMIT = 3\n", TABLE.__dict__)
NAMES: dict[str, Any] = {
    "tools": Tools(Path()),
    "Box": Box,
    "Shape": Shape,
    "Circle": Circle,
    "Dog": Dog,
    "slots": Slots(),
    "words": Words(["a"]),
    "loud": Loud("a"),
    "things": Things(),
    "triple": functools.partial(twice, by=3),
    "adder": lambda a, b=1: a + b,  # pyright: ignore[reportUnknownLambdaType]
    "method": Dog().bark,
    "table": TABLE,
}
RIGHT = """
tools.pick(1) + 1, tools.pick("a").upper()
with tools.lock() as root: root.exists()
with tools as dog: dog.bark()
async with tools.session() as dog: dog.bark()
async with tools as dog: dog.bark(2)
(await tools).bark()
[n + 1 async for n in tools.numbers()]
tools.boxed().value.bark(); tools.boxed().map(lambda dog: dog.bark())
tools.options()["size"] + 1
tools.number(3) + 1
tools.mode("w")
tools.total([1, 2]), tools.total((1.5,)), tools.total([], {"a": [1, 2]})
tools.old(), tools.old(None), tools.old("x")
tools.pet().bark()
tools.cached("x") + 1
tools[0].bark(); (tools + 1) + 2; 1 + tools; tools("x") + 1; tools < tools
tools.root.name, tools.count + 1
tools.when.year
Dog.named("x").bark(); Dog.count() + 1; Dog.kind.upper(); Dog.legs + 1; Dog().age; Dog().home.name
Box(3).value + 1
Shape("x", 4).name, Circle("x", radius=2).radius
slots.name
words.longest().upper(); len(words); words[0].upper(); loud.upper()
things["x"].age; len(things); [n.upper() for n in things]; things.get("x"); list(things.items())
triple(3) + 1, triple(3, by=4)
adder(1), adder(1, 2), adder(1, b=2)
method(3).upper()
table.add(1, b=2) + table.LIMIT
"""
WRONG = """
tools.pick(1.5)
tools.pick(1).upper()
with tools.session() as dog: dog.bark()
tools.lock().exists()
tools.later(3)
for n in tools.numbers(): n
tools.boxed().value.meow()
tools.mode("x")
tools.total("abc")
tools.total([1], {"a": ["b"]})
tools.old(3)
tools.cached()
tools["x"]
tools + "x"
tools()
tools < 3
tools.root.nme
Dog.named()
Dog().bark("x")
Circle("x", radius="2")
Circle(radius=2)
things[3]
words.shortest()
loud.quieter()
triple()
adder()
method("x")
table.add()
table.LIMITS
"""


@pytest.fixture(scope="module")
def scope() -> Scope:
    return Scope(NAMES)


async def test_right_uses_of_every_kind_of_object_are_accepted(scope: Scope) -> None:
    checker = TypeChecker(scope)
    lines = RIGHT.strip().splitlines()
    alarms = [f"{line}: {m.rule} {m.message}" for line in lines for m in await checker.check(line)]
    await checker.close()
    assert alarms == []


async def test_wrong_uses_of_every_kind_of_object_are_told(scope: Scope) -> None:
    checker = TypeChecker(scope)
    missed = [line for line in WRONG.strip().splitlines() if not await checker.check(line)]
    await checker.close()
    assert missed == []
