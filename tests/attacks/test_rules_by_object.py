"""Rules hold for objects: whatever way code takes to an object or a function, what is denied of it stays denied."""

from __future__ import annotations

import abc
import asyncio
import functools
import types
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from fnmatch import fnmatchcase
from typing import Any, Generic, Protocol, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cells import PATIENT
from tests.scope.lives import Life, Refused

from cellwright import Outcome, Policy, PolicyRule, Runtime, Scope
from cellwright.catalog import Catalog
from cellwright.scope import callables, object_rules

LAYER = "binding"
pytestmark = pytest.mark.usefixtures("warm")


class Contacts:
    def __init__(self) -> None:
        self.wiped = 0

    def wipe(self) -> str:
        self.wiped += 1
        return "wiped"

    def list(self) -> str:
        return "listed"

    erase = wipe


class Sharper(Contacts):
    """What an annotation as `Contacts` may really give."""


class Person:
    def __init__(self, book: Contacts) -> None:
        self.book = book


class Tools:
    """Hands out what belongs to others."""

    def __init__(self, book: Contacts) -> None:
        self._book = book
        self.clean = book.wipe
        self.later = functools.partial(book.wipe)
        self.all: list[Contacts] = [book]
        self.by_name = {"main": book}

    def method(self) -> Callable[[], str]:
        return self._book.wipe

    def unbound(self) -> Callable[[Contacts], str]:
        return Contacts.wipe

    def partly(self) -> Any:
        return functools.partial(functools.partial(self._book.wipe))

    def run(self, function: Callable[[], str]) -> str:
        return function()


class Crm:
    """Its contacts are an attribute, so that their object is known when the scope opens."""

    def __init__(self) -> None:
        self.contacts = Contacts()
        self.tools = Tools(self.contacts)

    def first(self) -> Any:
        return Person(self.contacts)

    def delete(self) -> str:
        self.contacts.wiped += 1
        return "deleted"

    remove = delete


class LazyCrm(Crm):
    """Its contacts are a property, so that only their class is known."""

    def __init__(self) -> None:
        self._book = Sharper()
        self.tools = Tools(self._book)

    @property
    def contacts(self) -> Contacts:
        return self._book


class CallingCrm(LazyCrm):
    """Its contacts are what a method returns."""

    def contacts(self) -> Contacts | None:  # type: ignore[override]  # a property of its base
        return self._book

    def first(self) -> Any:
        return Person(self._book)


class DimCrm(LazyCrm):
    """Nothing tells what its contacts are."""

    @property
    def contacts(self) -> Any:
        return self._book


def book_of(crm: Crm) -> Contacts:
    return getattr(crm, "_book", None) or crm.contacts


WAYS = [
    "crm.first().book.wipe()",
    "crm.first().book.erase()",
    "vars = crm.tools.all\nvars[0].wipe()",
    "crm.tools.by_name['main'].wipe()",
    "crm.tools.clean()",
    "crm.tools.later()",
    "crm.tools.method()()",
    "crm.tools.partly()()",
    "crm.tools.unbound()(crm.first().book)",
    "crm.tools.run(crm.tools.method())",
    "getattr(crm.first().book, 'wipe')()",
    "same.wipe()",
    "same.erase()",
]
RULES: list[tuple[str, dict[str, Any]]] = [
    ("crm.contacts.wipe", {"hide": True}),
    ("crm.contacts.erase", {"hide": True}),
    ("crm.contacts.*", {"hide": ["wipe"]}),
    ("crm.contacts.*", {"only": ["list"]}),
    ("crm.contacts.wipe", {"ask": True}),
    ("crm.contacts.*", {"read_only": True}),
    ("crm.con*.wipe", {"hide": True}),
    ("*.contacts.wipe", {"hide": True}),
    ("Contacts.wipe", {"hide": True}),
]


async def ran(scope: Scope, code: str) -> Outcome:
    async with Runtime(scope, limits=PATIENT) as rt:
        return await rt.execute(code)


@pytest.mark.parametrize("kind", [Crm, LazyCrm, CallingCrm])
@pytest.mark.parametrize(("pattern", "facts"), RULES, ids=lambda part: str(part))
async def test_no_way_to_the_object_passes_a_rule_about_its_path(
    kind: type[Crm], pattern: str, facts: dict[str, Any]
) -> None:
    crm = kind()
    scope = Scope({"crm": crm, "same": book_of(crm)})
    scope.declare(pattern, **facts)
    async with Runtime(scope, limits=PATIENT) as rt:
        for way in WAYS:
            if "ask" in facts and ".run(" in way:
                continue
            outcome = await rt.execute(way)
            assert not outcome.ok, way
            assert book_of(crm).wiped == 0, way
        assert (await rt.execute("crm.first().book.list()")).value == "listed" or "read_only" in facts


async def test_without_a_rule_each_way_leads_there() -> None:
    for kind in (Crm, LazyCrm, CallingCrm):
        crm = kind()
        async with Runtime({"crm": crm, "same": book_of(crm)}, limits=PATIENT) as rt:
            for count, way in enumerate(WAYS, 1):
                assert (await rt.execute(way)).unwrap() == "wiped", way
                assert book_of(crm).wiped == count


async def test_a_name_for_the_same_function_of_a_class_has_its_rules() -> None:
    for denied, other in (("delete", "remove"), ("remove", "delete")):
        crm = Crm()
        scope = Scope({"crm": crm})
        scope.declare(f"crm.{denied}", hide=True)
        assert not (await ran(scope, f"crm.{other}()")).ok
        assert crm.contacts.wiped == 0
        scope.declare(f"crm.{other}", hide=False)  # said of this name
        assert (await ran(scope, f"crm.{other}()")).value == "deleted"


async def test_a_function_that_is_bound_twice_has_the_rules_of_both_names() -> None:
    ran_of: list[str] = []

    def wipe() -> None:
        ran_of.append("wipe")

    box = types.SimpleNamespace(tidy=wipe)
    every: list[dict[str, Any]] = [{"hide": True}, {"ask": True}, {"read_only": True}]
    for facts in every:
        scope = Scope({"wipe": wipe, "clean": wipe, "later": functools.partial(wipe), "box": box})
        scope.declare("wipe", **facts)
        for way in ("wipe()", "clean()", "later()", "box.tidy()", "tidy = box.tidy\ntidy()"):
            assert not (await ran(scope, way)).ok, way
    assert ran_of == []


async def test_a_method_in_an_attribute_is_denied_by_the_attributes_name_too() -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    scope.declare("crm.tools.clean", hide=True)
    for way in ("crm.tools.clean()", "crm.contacts.wipe()", "crm.tools.method()()"):
        assert not (await ran(scope, way)).ok, way
    assert crm.contacts.wiped == 0


async def test_objects_below_an_object_with_two_paths_have_the_rules_of_both() -> None:
    dim = DimCrm()
    scope = Scope({"app": types.SimpleNamespace(main=dim), "crm": dim})
    scope.declare("crm.contacts.wipe", hide=True)
    with pytest.warns(UserWarning, match="holds only where code goes by this path"):
        outcome = await ran(scope, "app.main.contacts.wipe()")
    assert not outcome.ok
    assert book_of(dim).wiped == 0


async def test_other_objects_of_the_class_keep_what_is_granted() -> None:
    crm, test = Crm(), Crm()
    scope = Scope({"crm": crm, "test": test})
    scope.declare("crm.contacts.wipe", hide=True)
    scope.declare("crm.delete", ask=True)
    outcome = await ran(scope, "test.contacts.wipe(), test.first().book.erase(), test.delete(), test.remove()")
    assert outcome.value == ("wiped", "wiped", "deleted", "deleted")


async def test_the_strictest_of_several_paths_wins_and_a_later_rule_overrides_on_its_own_path() -> None:
    crm = Crm()
    scope = Scope({"crm": crm, "book": crm.contacts})
    scope.declare("crm.contacts.wipe", hide=True)
    scope.declare("book.wipe", hide=False)
    assert not (await ran(scope, "book.wipe()")).ok
    scope.declare("crm.contacts.wipe", hide=False)
    assert (await ran(scope, "book.wipe()")).value == "wiped"


async def test_a_rule_that_is_declared_later_holds_for_objects_that_the_guest_has() -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    async with Runtime(scope, limits=PATIENT) as rt:
        assert (await rt.execute("book = crm.first().book\nbook.wipe()")).value == "wiped"
        scope.declare("crm.contacts.wipe", hide=True)
        assert not (await rt.execute("book.wipe()")).ok
    assert crm.contacts.wiped == 1


async def test_an_object_that_comes_to_a_ruled_path_after_the_opening_has_its_rules() -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    scope.declare("crm.contacts.wipe", hide=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        assert (await rt.execute("crm.contacts.list()")).value == "listed"
        crm.contacts = Contacts()
        assert not (await rt.execute("crm.first().book.wipe()")).ok
    assert crm.contacts.wiped == 0


class Team:
    """Holds more later than when the scope opens."""

    def __init__(self) -> None:
        self.all = [Contacts()]
        self.by_name = {"main": [Contacts()]}
        self.contacts: Contacts | None = None

    def grow(self) -> None:
        self.all.append(Contacts())
        self.by_name["new"] = [Contacts()]
        self.contacts = Contacts()

    def newest(self) -> Any:
        return types.SimpleNamespace(all=self.all[-1], by_name=self.by_name["new"][0], contacts=self.contacts)


LATER = (
    "team.all.wipe",
    "team.by_name.wipe",
    "team.contacts.wipe",
    "team.con*.wipe",
    "*.contacts.wipe",
    "team.?ll.wipe",
)


@pytest.mark.parametrize("pattern", LATER)
@pytest.mark.filterwarnings("ignore:the rule 'team.contacts.wipe'")  # where nothing stands when the scope opens
async def test_an_object_that_a_ruled_path_gets_later_has_its_rules_and_no_other_object_has(pattern: str) -> None:
    team = Team()
    scope = Scope({"team": team})
    scope.declare(pattern, hide=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        await rt.execute("team.newest.__name__\nteam.grow()")
        for name in ("all", "by_name", "contacts"):
            ruled = pattern.split(".")[1][:2] in name or (name == "all" and "?" in pattern)
            assert (await rt.execute(f"team.newest().{name}.wipe()")).ok is not ruled, name


class Rows(list[Any]):
    """As those of an ORM: by handle, and with items."""


@pytest.mark.parametrize("container", [Rows, deque, list])
async def test_an_item_that_a_container_at_a_ruled_path_gets_later_has_its_rules(container: Any) -> None:
    class Group:
        def __init__(self) -> None:
            self.all = container([Contacts()])

        def grow(self) -> None:
            self.all.append(Contacts())

        def newest(self) -> Any:
            return types.SimpleNamespace(one=self.all[-1])

    scope = Scope({"group": Group()})
    scope.declare("group.all.wipe", hide=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        for code in ("group.newest().one.wipe()", "group.grow(); group.newest().one.wipe()"):
            assert "no attribute 'wipe'" in str((await rt.execute(code)).error)


@pytest.mark.parametrize("pattern", ["group.staff.wipe", "group.st?ff.wipe", "*.staff.wipe"])
@pytest.mark.filterwarnings("ignore:the rule 'group.staff.wipe'")  # where nothing stands when the scope opens
async def test_an_object_that_comes_under_a_new_name_has_the_rules_of_its_path(pattern: str) -> None:
    class Group:
        def __init__(self) -> None:
            self.main = Contacts()

        def grow(self) -> None:
            self.staff = Contacts()
            self.other = types.SimpleNamespace(contacts=Contacts())

        def newest(self, name: str) -> Any:
            return types.SimpleNamespace(one=getattr(self, name))

    scope = Scope({"group": Group()})
    scope.declare(pattern, hide=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        (await rt.execute("group.newest('main').one.wipe(); group.grow()")).unwrap()
        assert "no attribute 'wipe'" in str((await rt.execute("group.newest('staff').one.wipe()")).error)
        (await rt.execute("group.newest('other').one.contacts.wipe()")).unwrap()


async def test_what_comes_to_a_ruled_path_is_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    held_in = object_rules.held_in

    def counted(value: Any, kind: type[Any]) -> dict[str, Any]:
        looked.append(value)
        return held_in(value, kind)

    monkeypatch.setattr(object_rules, "held_in", counted)
    team = Team()
    team.all = [Contacts() for _ in range(500)]
    scope = Scope({"team": team})
    scope.declare("team.all.wipe", hide=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        (await rt.execute("1")).unwrap()
        looked.clear()
        for _ in range(10):
            assert not (await rt.execute("team.grow()\nteam.newest().all.wipe()")).ok
    assert len(looked) < 50


async def test_an_object_that_comes_again_by_a_ruled_path_has_its_rules() -> None:
    class Lazy:
        def __init__(self, book: Contacts) -> None:
            self._book = book

        @property
        def book(self):  # nothing tells its class before it runs
            return self._book

        def grab(self):
            return self._book

    book = Contacts()
    scope = Scope({"lazy": Lazy(book)})
    scope.declare("lazy.book.wipe", hide=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        async with Runtime(scope=scope) as rt:
            assert not (await rt.execute("taken = lazy.grab()\nlazy.book.wipe()")).ok
            assert not (await rt.execute("taken.wipe()")).ok
            assert (await rt.execute("taken.list()")).value == "listed"
    assert not book.wiped


async def test_a_pointer_back_to_the_parent_brings_it_no_rule_of_its_children() -> None:
    api = types.SimpleNamespace(items=Tools(Contacts()), ping=lambda: "here")
    api.items.api = api
    scope = Scope({"api": api})
    scope.declare("api.items.*", read_only=True)
    async with Runtime(scope=scope) as rt:
        assert (await rt.execute("api.ping(), api.items.api.ping()")).value == ("here", "here")


async def test_a_rule_that_only_a_path_can_keep_is_named_once_with_the_line_that_helps() -> None:
    scope = Scope({"crm": DimCrm()})
    scope.declare("crm.contacts.wipe", hide=True)
    with pytest.warns(UserWarning, match=r'declare\("<Class>.wipe", …\)') as told:
        await asyncio.gather(ran(scope, "1"), ran(scope, "2"))
    assert len(told) == 1
    assert not (await ran(scope, "crm.contacts.wipe()")).ok
    scope.declare("Sharper.wipe", hide=True)
    assert not (await ran(scope, "crm.first().book.wipe()")).ok


T = TypeVar("T")


class Shelf(Generic[T]):
    def wipe(self) -> str:
        return "wiped"


class Wiper(Protocol):
    def wipe(self) -> str: ...


class Wipes(abc.ABC):
    @abc.abstractmethod
    def wipe(self) -> str: ...


Wipes.register(Shelf)
HINTS: dict[str, tuple[Any, bool]] = {  # whether it tells the class
    "a generic": (Shelf[int], True),
    "a generic of a class": (Shelf[Contacts], True),
    "generics in a container": (list[Shelf[Any] | None], True),
    "an awaited one": (Awaitable[Shelf[str]], True),
    "a coroutine": (Coroutine[Any, Any, Shelf[str]], True),
    "a generator": (Generator[Shelf[str], Any, Any], True),
    "a constrained variable": (TypeVar("Either", Shelf[int], Contacts), True),
    "a class that it is registered in": (Wipes, True),
    "a union with a protocol": (Contacts | Wiper, False),
    "a variable": (cast("Any", T), False),
    "a container of any": (dict[str, Contacts | Any], False),
}


@pytest.mark.parametrize("hint", HINTS)
async def test_an_annotation_holds_for_the_whole_class_that_it_names_or_the_rule_is_warned_of(hint: str) -> None:
    annotation, tells = HINTS[hint]

    class Lazy:
        def shelf(self):  # annotated below
            return shelf

        def grab(self) -> Any:
            return shelf

    shelf = Shelf[Any]()
    Lazy.shelf.__annotations__["return"] = annotation
    scope = Scope({"lazy": Lazy()})
    scope.declare("lazy.shelf.wipe", hide=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        outcome = await ran(scope, "lazy.grab().wipe()")
    assert (outcome.ok, len(told)) == ((False, 0) if tells else (True, 1))


async def test_rules_that_hold_for_objects_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (Crm, LazyCrm, CallingCrm):
            scope = Scope({"crm": kind()})
            for pattern in ("crm.contacts.wipe", "crm.*", "Contacts.wipe", "*.wipe", "crm.delete", "*"):
                scope.declare(pattern, ask=True)
            assert (await ran(scope, "1")).ok


async def test_search_and_lists_do_not_offer_what_is_denied_at_another_path() -> None:
    crm = Crm()
    scope = Scope({"book": crm.contacts, "crm": crm})
    scope.declare("crm.contacts.wipe", hide=True)
    assert not [one.path for one in callables(scope) if one.path.endswith(("wipe", "erase"))]
    found = str(Catalog(scope).search("wipe contacts"))
    assert "crm.contacts.list" in found
    assert not any(name in found for name in ("book.wipe(", "book.erase(", "contacts.wipe(", "contacts.erase("))


async def test_a_child_and_a_resumed_session_keep_the_rules() -> None:
    for kind in (Crm, LazyCrm):
        crm = kind()
        scope = Scope({"crm": crm})
        scope.declare("crm.contacts.wipe", hide=True)
        async with Runtime(scope, limits=PATIENT) as parent:
            book = (await parent.execute("crm.first().book")).value
            child = scope.narrowed({"b": book}, host=parent.host)
            assert not (await ran(child, "b.wipe()")).ok
        assert book_of(crm).wiped == 0


async def test_numbers_of_an_earlier_process_keep_the_rules() -> None:
    def scope() -> Scope:
        dim = DimCrm()
        made = Scope({"app": types.SimpleNamespace(main=dim), "crm": dim})
        made.declare("crm.contacts.wipe", hide=True)
        made.declare("app.*", reads=True)
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        life = Life(scope())
        main = await life.handle("get", life.name("app"), "main")
        book = await life.handle("get", main, "contacts")
        later = life.resumed(scope())
        assert await later.ask("call", book, "list") == "listed"
        with pytest.raises(Refused):
            await later.ask("call", book, "wipe")


async def test_a_policy_holds_for_objects() -> None:
    for rule in (
        PolicyRule(action="deny", operation="crm.contacts.*", kind="writes"),
        PolicyRule(action="deny", operation="crm.contacts.wipe"),
        PolicyRule(action="ask", operation="crm.contacts.*", kind="writes"),
    ):
        crm = Crm()
        policy = Policy(rules=(rule,))
        async with Runtime({"crm": crm}, limits=PATIENT, policy=policy, approve=lambda wanted: False) as rt:
            for way in WAYS[:9]:
                assert not (await rt.execute(way)).ok, (rule, way)
        assert crm.contacts.wiped == 0


# every small graph


class Node:
    def __init__(self, number: int) -> None:
        self.number = number
        self.ran: list[str] = []

    def wipe(self) -> int:
        self.ran.append("wipe")
        return self.number

    def keep(self) -> int:
        return self.number


NAMES = ("a", "b", "c")
EDGES = st.dictionaries(st.tuples(st.integers(0, 3), st.sampled_from(NAMES)), st.integers(0, 3), max_size=8)
SEGMENTS = st.lists(st.sampled_from((*NAMES, "*", "?")), min_size=0, max_size=3)
PATTERNS = st.tuples(st.sampled_from(("x", "y", "*", "?")), SEGMENTS).map(lambda p: ".".join((p[0], *p[1], "wipe")))


def paths_of(nodes: list[Node], depth: int) -> Iterator[tuple[tuple[str, ...], Node]]:
    pending: list[tuple[tuple[str, ...], Node]] = [(("x",), nodes[0]), (("y",), nodes[1])]
    while pending:
        path, node = pending.pop()
        yield path, node
        if len(path) < depth:
            pending += [((*path, name), held) for name, held in vars(node).items() if isinstance(held, Node)]


def comes_back(nodes: list[Node], path: tuple[str, ...]) -> bool:
    met = [nodes[0] if path[0] == "x" else nodes[1]]
    for name in path[1:]:
        met.append(getattr(met[-1], name))
    return len(set(met)) < len(met)


@settings(max_examples=150, deadline=None)
@given(edges=EDGES, patterns=st.lists(PATTERNS, min_size=1, max_size=3))
def test_no_path_in_any_graph_reaches_a_denied_member(edges: dict[tuple[int, str], int], patterns: list[str]) -> None:
    nodes = [Node(number) for number in range(4)]
    for (start, name), end in edges.items():
        setattr(nodes[start], name, nodes[end])
    scope = Scope({"x": nodes[0], "y": nodes[1]})
    for pattern in patterns:
        scope.declare(pattern, hide=True)
    denied = {
        node.number
        for path, node in paths_of(nodes, 5)
        for pattern in patterns
        # a pointer back to a parent brings no rule of its children, unless the rule spells it out
        if (not {"*", "?"} & {*pattern} or not comes_back(nodes, path))
        and fnmatchcase(f"{'.'.join(path)}.wipe", pattern)
    }

    async def walk() -> None:
        life = Life(scope)
        for path, node in paths_of(nodes, 4):
            handle = life.name(path[0])
            for name in path[1:]:
                handle = await life.handle("get", handle, name)
            if node.number in denied:
                with pytest.raises(Refused):
                    await life.ask("call", handle, "wipe")
            elif not {"*", "?"} & {*"".join(patterns)}:  # else a longer path may match
                assert await life.ask("call", handle, "wipe") == node.number
            assert await life.ask("call", handle, "keep") == node.number
        life.host.close()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(walk())
    assert not any(nodes[number].ran for number in denied)


async def test_hiding_a_name_warns_that_its_object_is_not_hidden_and_how_it_is() -> None:
    class Desk:
        def __init__(self) -> None:
            self.contacts = Contacts()

        def get(self) -> Any:
            return self.contacts

    scope = Scope({"desk": Desk()})
    scope.declare("desk.contacts", hide=True)
    with pytest.warns(UserWarning, match=r'scope\.declare\("desk\.contacts\.\*", hide=True\)'):
        async with Runtime(scope, limits=PATIENT):
            pass
    scope = Scope({"desk": Desk()})
    scope.declare("desk.contacts", hide=True)
    scope.declare("desk.contacts.*", hide=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with Runtime(scope, limits=PATIENT) as rt:
            assert not (await rt.execute("desk.get().wipe()")).ok
