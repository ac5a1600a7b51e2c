"""Types that guest code hands to the host: `list[Contact]` is that on both sides, built of what is in scope alone."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import itertools
import pathlib
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, TypeAdapter
from tests.cells import failure, value
from tests.scope.test_hostile_guests import Session

from cellwright import Runtime, Scope, operation, replay
from cellwright.doors import Call
from cellwright.errors import CannotCross, GuestError
from cellwright.scope import GuestFunction, given_type, scope_stubs
from cellwright_guest import hints
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker, refuse
from cellwright_guest.wire import Bounds, WireError


@dataclass
class Contact:
    name: str


class Deal(BaseModel):
    amount: int


class Stage(enum.Enum):
    OPEN = "open"
    WON = "won"


class Client:
    def ping(self) -> str:
        return "pong"


class Secret:
    """In no scope."""


class Taker:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def take(self, kind: Any) -> Any:
        self.got.append(kind)
        return kind

    def apply(self, function: Any, argument: Any) -> Any:
        return function(argument)

    def secret(self) -> Any:
        return list[Secret]


CASES: list[tuple[str, Any]] = [
    ("list[Contact]", list[Contact]),
    ("dict[str, int]", dict[str, int]),
    ("Contact | None", Contact | None),
    ("tuple[int, ...]", tuple[int, ...]),
    ("tuple[int, str]", tuple[int, str]),
    ("tuple[()]", tuple[()]),
    ("set[Stage]", set[Stage]),
    ("frozenset[bytes]", frozenset[bytes]),
    ("list[None]", list[None]),
    ("typing.Literal['a', 1, None, True]", Literal["a", 1, None, True]),
    ("typing.Literal[Stage.WON]", Literal[Stage.WON]),
    ("typing.Optional[Client]", Client | None),
    ("typing.Union[int, str, None]", int | str | None),
    ("typing.Any", Any),
    ("list[typing.Any]", list[Any]),
    ("typing.List", list[Any]),
    ("typing.Dict[str, typing.List[Deal]]", dict[str, list[Deal]]),
    ("typing.Tuple", tuple[Any, ...]),
    ("typing.Sequence[int]", Sequence[int]),
    ("collections.abc.Mapping[str, int]", Mapping[str, int]),
    ("collections.abc.Iterable[Contact]", Iterable[Contact]),
    ("list[dict[str, tuple[Deal | None, ...]]]", list[dict[str, tuple[Deal | None, ...]]]),
    ("int", int),
    ("dict", dict),
    ("type(None)", type(None)),
    ("datetime.datetime", dt.datetime),
    ("datetime.timedelta", dt.timedelta),
    ("decimal.Decimal", decimal.Decimal),
    ("uuid.UUID", uuid.UUID),
    ("pathlib.Path", pathlib.Path),
    ("list[datetime.date | None]", list[dt.date | None]),
    ("Contact", Contact),
]
IMPORTS = "import typing, collections.abc, datetime, decimal, uuid, pathlib\n"


async def test_a_type_is_the_same_on_both_sides_and_comes_back() -> None:
    taker = Taker()
    code = f"{IMPORTS}[taker.take(t) == t for t in [{', '.join(code for code, _ in CASES)}]]"
    same = await value(code, taker=taker, Contact=Contact, Deal=Deal, Stage=Stage, Client=Client)
    told = [code for (code, _), back in zip(CASES, same, strict=True) if not back]
    assert told == ["typing.List", "typing.Dict[str, typing.List[Deal]]", "typing.Tuple", "typing.Sequence[int]"]
    assert taker.got == [kind for _, kind in CASES]


async def test_pydantic_checks_against_a_type_that_came_from_the_guest() -> None:
    taker = Taker()
    await value("taker.take(dict[str, list[Deal] | None])", taker=taker, Deal=Deal)
    adapter: Any = TypeAdapter(taker.got[0])
    assert adapter.validate_python({"a": [{"amount": 1}], "b": None}) == {"a": [Deal(amount=1)], "b": None}
    with pytest.raises(ValueError, match="amount"):
        adapter.validate_python({"a": [{"amount": "x"}]})


async def test_a_class_that_is_only_declared_goes_along() -> None:
    taker = Taker()
    scope = Scope({"taker": taker, "first": Contact("Ada")})
    scope.declare(Contact)
    async with Runtime(scope) as rt:
        (await rt.execute("taker.take(list[type(first)])")).unwrap()
    assert taker.got == [list[Contact]]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("class Own: ...\ntaker.take(list[Own])", "class Own is not in scope"),
        ("taker.take(list['Contact'])", "'Contact' in it is no type"),
        ("import typing; taker.take(typing.Callable[[int], str])", "not made of types that both sides have"),
        ("import typing; taker.take(typing.Annotated[int, 'x'])", "not made of types that both sides have"),
        ("import typing; taker.take(typing.Literal['x' * 500])", "no short text"),
        ("import typing; taker.take(list[typing.TypeVar('T')])", "is no type"),
        ("t = int\nfor _ in range(30): t = list[t]\ntaker.take(t)", "more than 12 levels"),
        ("taker.take(tuple[(int,) * 300])", "200 parts"),
        ("taker.take(list[type(made)])", "Deal cannot be built by guest code"),
    ],
)
async def test_what_is_no_type_of_both_sides_is_told_in_one_line(code: str, says: str) -> None:
    assert says in str(await failure(code, taker=Taker(), made=Deal(amount=1)))


async def test_a_class_of_the_hosts_in_no_scope_does_not_reach_the_guest_inside_a_type() -> None:
    assert "class Secret is not in scope" in str(await failure("taker.secret()", taker=Taker()))


async def test_a_container_type_alone_is_a_function_that_runs_in_the_guest() -> None:
    taker = Taker()
    made = await value(
        "taker.take(list), taker.take(bytes)\ntaker.apply(list, 'ab'), taker.apply(dict, [(1, 2)])", taker=taker
    )
    assert made == (["a", "b"], {1: 2})
    assert all(isinstance(one, GuestFunction) for one in taker.got)
    assert [given_type(one) for one in taker.got] == [list, bytes]
    assert given_type(list[int]) == list[int]


async def test_host_code_that_calls_a_type_of_the_guests_builds_nothing() -> None:
    error = await failure("taker.apply(list[int], range(10**12))", taker=Taker())
    assert "is not called" in str(error)


async def test_a_bound_expression_is_that_type_in_the_guest_and_in_the_stubs() -> None:
    scope = Scope({"Contacts": list[Contact], "Contact": Contact})
    async with Runtime(scope) as rt:
        assert (await rt.execute("Contacts == list[Contact]")).unwrap() is True
    assert "Contacts = list[Contact]" in scope_stubs(scope)


async def test_a_bound_standard_class_stays_the_hosts() -> None:
    """`Path` in scope is the host's, whose files it reads; a guest's own is another."""
    async with Runtime({"Path": pathlib.Path, "here": pathlib.Path}) as rt:
        assert (await rt.execute("import pathlib; Path is pathlib.Path")).unwrap() is False


# the journal


class Store:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    @operation(reads=True)
    def find(self, kind: Any) -> str:
        self.asked.append(kind)
        return f"{len(self.asked)}"


async def test_a_call_with_types_is_recorded_repeated_and_compared(tmp_path: pathlib.Path) -> None:
    store, file = Store(), f"sqlite:///{tmp_path}/a.db"
    names = {"store": store, "Contact": Contact, "Stage": Stage}
    code = """
        import typing
        found = [store.find(k) for k in (list[Contact | None], typing.Literal[Stage.OPEN, "x"], dict)]
    """
    async with Runtime(names, store=file, session="s") as rt:
        (await rt.execute(code)).unwrap()
        (await rt.execute("kind = list[Contact]")).unwrap()
    assert (await replay("s", store=file)).same
    async with Runtime.resume("s", scope=names, store=file) as rt:
        assert (await rt.execute("found, kind == list[Contact], store.find(kind)")).unwrap() == (
            ["1", "2", "3"],
            True,
            "4",
        )
    assert store.asked == [list[Contact | None], Literal[Stage.OPEN, "x"], dict, list[Contact]]


# what no honest guest sends


@pytest.fixture
async def session() -> typing.AsyncIterator[Session]:
    made = Session(Scope({"taker": Taker(), "Contact": Contact, "made": Deal(amount=1), "Stage": Stage}))
    yield made
    made.host.close()


def nested(levels: int) -> Any:
    tree: Any = {"T": "int"}
    for _ in range(levels):
        tree = {"G": ["list", [tree]]}
    return tree


BAD: list[Any] = [
    {"T": "list"},
    {"T": "bytes"},
    {"T": "type"},
    {"T": "os.system"},
    {"T": None},
    {"T": {"T": "int"}},
    {"G": None},
    {"G": []},
    {"G": ["list"]},
    {"G": ["list", []]},
    {"G": ["list", {}]},
    {"G": ["list", ["int"]]},
    {"G": ["list", [1]]},
    {"G": ["list", [{"T": "int"}, {"T": "int"}]]},
    {"G": ["list", [{"T": "os.system"}]]},
    {"G": ["list", [{"h": 1}]]},
    {"G": ["list", [{"g": [1, "function", "f"]}]]},
    {"G": ["list", [{"x": ["ellipsis"]}]]},
    {"G": ["list", [[{"T": "int"}]]]},
    {"G": ["list", [{"m": {}}]]},
    {"G": ["dict", [{"T": "int"}]]},
    {"G": ["tuple", [{"x": ["ellipsis"]}, {"T": "int"}]]},
    {"G": ["tuple", [{"T": "int"}, {"T": "int"}, {"x": ["ellipsis"]}]]},
    {"G": ["tuple", [{"x": ["ellipsis"]}, {"x": ["ellipsis"]}]]},
    {"G": ["type", [{"T": "int"}]]},
    {"G": ["Callable", [{"T": "int"}, {"T": "int"}]]},
    {"G": ["Union", []]},
    {"G": ["Union", [{"T": "int"}]]},
    {"G": ["Union", [{"T": "bytes"}, {"T": "bytes"}]]},
    {"G": ["Union", [None, None]]},
    {"G": ["Literal", []]},
    {"G": ["Literal", [["a"]]]},
    {"G": ["Literal", [1.5]]},
    {"G": ["Literal", [10**40]]},
    {"G": ["Literal", ["x" * 201]]},
    {"G": ["Literal", [{"T": "int"}]]},
    {"G": ["Literal", [{"h": 1}]]},
    {"G": ["Literal", list(range(201))]},
    {"G": [["list"], [{"T": "int"}]]},
    {"G": ["list", [{"T": "int", "c": -1}]]},
    nested(14),
    nested(150),
]


@pytest.mark.parametrize("tree", BAD, ids=str)
async def test_a_hostile_type_is_one_clear_error(session: Session, tree: Any) -> None:
    with pytest.raises(WireError):
        await session.ask("call", session.handle("taker"), "take", tree)
    assert await session.ask("call", session.handle("taker"), "take", 1) == 1


async def test_a_class_number_that_may_not_be_built_is_no_part_of_a_type(session: Session) -> None:
    number = session.names["made"]["o"][0]
    for part in ({"c": number}, {"c": -99}, {"c": "x"}):
        call = Call(id=1, cell=1, verb="call", target=session.handle("taker"), name="take", arguments=_given(part))
        answer = await asyncio.wait_for(session.host.call(call), 10)
        assert answer.failed
        assert answer.value.tree["E"][3].endswith(("declare it in the scope", "not known to this session"))


def _given(part: Any) -> Any:
    from cellwright_guest.wire import Packed

    return Packed({"t": [{"G": ["list", [part]]}]}, [])


def test_trees_of_types_made_at_random_give_a_type_or_an_error() -> None:
    parts: tuple[Any, ...] = (
        None,
        1,
        "int",
        {"T": "int"},
        {"T": "bytes"},
        {"x": ["ellipsis"]},
        {"c": -1},
        {"e": [1, 2]},
        [],
    )
    names = (*hints.ORIGINS, "Union", "Literal", "type", "")
    for name, first, second in itertools.product(names, parts, parts):
        for tree in ([name, [first]], [name, [first, second]], [name, [{"G": [name, [first]]}, second]]):
            try:
                made = hints.build(tree, Unpacker([], refuse, Bounds()), called=False)
            except WireError:
                continue
            assert (
                hints.build(
                    hints.pack(made, lambda cls: None, Packer(plain))["G"], Unpacker([], refuse, Bounds()), called=False
                )
                == made
            )


def test_errors_of_types_are_the_guests() -> None:
    assert issubclass(CannotCross, GuestError)
