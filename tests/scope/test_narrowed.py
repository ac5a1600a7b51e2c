"""A scope for a child agent: never wider than its parent's, whatever the parent's guest hands over and how it names it.

Parent and child each run in a jail of their own, over the same live objects.
"""

from __future__ import annotations

import asyncio
import json
import types
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT

from cellwright import Runtime, Scope, current_call, operation
from cellwright.catalog import Catalog, TypeChecker
from cellwright.errors import CannotCross, NotInScope, WrongArguments
from cellwright.scope import Place, Placed, callables, scope_stubs
from cellwright_guest.wire import type_of


class Contact:
    def __init__(self, crm: Crm, name: str) -> None:
        self.crm = crm
        self.name = name
        self.notes: list[str] = []

    def rename(self, name: str) -> str:
        self.name = name
        return name

    def erase(self) -> str:
        return "erased"

    def label(self) -> str:
        return f"<{self.name}>"

    def friend(self) -> Contact:
        return Contact(self.crm, f"friend of {self.name}")

    def home(self) -> Contacts:
        return self.crm.contacts


class Contacts:
    def __init__(self, crm: Crm) -> None:
        self._crm = crm
        self._all = [Contact(crm, "Ada"), Contact(crm, "Bob")]

    def get(self, n: int) -> Contact:
        return self._all[n]

    def everyone(self) -> list[Contact]:
        return self._all

    def wipe(self) -> str:
        return "wiped"


class Crm:
    def __init__(self) -> None:
        self.contacts = Contacts(self)
        self.secret = "SECRET-4711"

    def drop_all(self) -> str:
        return "dropped"

    def boss(self) -> Contact:
        return self.contacts.get(0)


@dataclass
class Card:
    """Data that holds a live object is none any more: it goes by handle."""

    holder: Any


class Held:
    """A class of the host's, with what only a bound class shows."""

    TOKENS = ("t1",)
    LIMIT = 3

    @classmethod
    def made(cls) -> str:
        return "made"


class Family:
    """A parent's Runtime whose guest can start children, and what came of these."""

    rt: Runtime

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.titles: list[str] = []

    async def child_of(self, given: Any, code: str) -> Any:
        """What `code` comes to in a child that has `given`."""
        async with Runtime(self.scope.narrowed(given, host=self.rt.host), limits=PATIENT) as child:
            outcome = await child.execute(code)
            self.titles += [call.name for call in outcome.calls]
            return child.host.placed(outcome.unwrap())

    async def of_child(self, given: str, code: str, *before: str) -> Any:
        """The same, as the parent's guest asks for it: `given` is its code."""
        cell = "\n".join((*before, f"await child({given}, {code!r})"))
        return (await self.rt.execute(cell)).unwrap()

    async def refusal(self, given: str, code: str, *before: str) -> str:
        cell = "\n".join((*before, f"await child({given}, {code!r})"))
        outcome = await self.rt.execute(cell)
        assert outcome.error is not None, f"it was not refused: {outcome.value!r}"
        return str(outcome.error)


@asynccontextmanager
async def family(scope: Scope) -> AsyncGenerator[Family]:
    made = Family(scope)
    scope.bind("child", made.child_of, own=True)
    async with Runtime(scope, limits=PATIENT) as rt:
        made.rt = rt
        yield made


def crm_scope(**more: Any) -> Scope:
    return Scope({"crm": Crm(), **more})


# by name


async def test_a_child_has_the_names_that_it_is_given_and_no_other() -> None:
    async with family(crm_scope(extra=1)) as f:
        assert await f.of_child("['crm']", "crm.contacts.get(1).name") == "Bob"
        assert "name 'extra' is not defined" in await f.refusal("['crm']", "extra")
        assert await f.of_child("None", "extra, crm.boss().name") == (1, "Ada")


async def test_a_name_that_the_parent_lacks_is_told_with_those_that_it_has() -> None:
    async with family(crm_scope(extra=1)) as f:
        for given in ("['crm', 'nothing']", "['child']"):
            assert "is not in scope; in scope: crm, extra" in await f.refusal(given, "1")
    with pytest.raises(NotInScope):
        crm_scope().narrowed(["nothing"])


@pytest.mark.parametrize("given", ["'crm'", "{'_x': 1}", "{'a b': 1}", "{'class': 1}", "{5: 1}"])
async def test_what_cannot_be_names_is_the_guests_mistake(given: str) -> None:
    async with family(crm_scope()) as f:
        assert "cellwright.WrongArguments" in await f.refusal(given, "1")


def test_names_are_bounded() -> None:
    with pytest.raises(WrongArguments, match="more than 1000"):
        Scope().narrowed({f"n{i}": i for i in range(1001)})


# the rules go along

RULES: list[tuple[str, dict[str, Any], str, str]] = [
    ("crm.contacts.*", {"hide": ["erase"]}, "c.erase()", "has no attribute 'erase'"),
    ("crm.contacts.get.*", {"only": ["name", "friend"]}, "c.rename('x')", "has no attribute 'rename'"),
    ("crm.contacts.*", {"read_only": True}, "c.rename('x')", "read-only"),
    ("crm.contacts.*", {"read_only": True}, "c.name = 'x'", "read-only"),
    ("crm.contacts.get.name", {"hide": True}, "c.name", "has no attribute 'name'"),
    ("Contact.*", {"hide": ["erase"]}, "c.erase()", "has no attribute 'erase'"),
    ("crm.*", {"hide": ["erase"]}, "c.friend().erase()", "has no attribute 'erase'"),
    ("crm.contacts.*", {"read_only": True, "reads": True}, "c.friend().name = 'x'", "read-only"),
    ("crm.contacts.*", {"hide": ["wipe"]}, "c.home().wipe()", "has no attribute 'wipe'"),
    ("crm.*", {"only": ["contacts", "boss"]}, "c.crm.drop_all()", "has no attribute 'drop_all'"),
    ("crm.secret", {"hide": True}, "c.crm.secret", "has no attribute 'secret'"),
]


@pytest.mark.parametrize(("pattern", "rule", "code", "says"), RULES)
@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("{'c': crm.contacts.get(0)}", "c"),
        ("{'crm': crm.contacts.get(0)}", "crm"),
        ("{'cs': [crm.contacts.get(0)]}", "cs[0]"),
        ("{'d': {'k': (crm.contacts.get(0),)}}", "d['k'][0]"),
    ],
    ids=["by another name", "by the root's name", "in a list", "deeper"],
)
async def test_a_rule_holds_in_the_child_as_in_the_parent(
    pattern: str, rule: dict[str, Any], code: str, says: str, given: str, name: str
) -> None:
    scope = crm_scope()
    scope.declare(pattern, **rule)
    async with family(scope) as f:
        in_parent = await f.rt.execute(f"crm.contacts\nc = crm.contacts.get(0)\n{code}")
        assert says in str(in_parent.error)
        assert says in await f.refusal(given, f"c = {name}\n{code}")


async def test_a_rule_that_is_declared_later_holds_for_children_that_are_there() -> None:
    scope = crm_scope()
    async with family(scope) as f:
        child = scope.narrowed({"c": scope.get("crm").contacts.get(0)}, host=f.rt.host)
        async with Runtime(child, limits=PATIENT) as rt:
            assert (await rt.execute("c.erase()")).unwrap() == "erased"
            scope.declare("Contact.erase", hide=True)
            assert "has no attribute 'erase'" in str((await rt.execute("c.erase()")).error)


async def test_an_object_under_two_names_has_the_rules_of_the_first_in_the_child_too() -> None:
    crm = Crm()
    scope = Scope({"first": crm, "second": crm})
    scope.declare("first.*", hide=["drop_all"])
    async with family(scope) as f:
        assert "has no attribute 'drop_all'" in str((await f.rt.execute("second.drop_all()")).error)
        assert "has no attribute 'drop_all'" in await f.refusal("['second']", "second.drop_all()")
        assert "has no attribute 'drop_all'" in await f.refusal("{'x': second}", "x.drop_all()")


async def test_a_name_of_the_child_takes_no_rule_of_the_parents_that_shows_more() -> None:
    scope = crm_scope(Card=Card)
    scope.declare("Contact.*", read_only=True)
    scope.declare("open.holder.*", reads=True)
    scope.declare("open.*", reads=True, hide=False)
    async with family(scope) as f:
        assert "read-only" in await f.refusal("{'open': crm.contacts.get(0)}", "open.rename('x')")
        laundered = "{'open': Card(holder=c)}"
        assert "read-only" in await f.refusal(laundered, "open.holder.rename('x')", "c = crm.contacts.get(0)")


async def test_an_object_inside_of_data_keeps_its_place_when_the_parent_lets_go_of_it() -> None:
    scope = crm_scope(Card=Card)
    scope.declare("crm.contacts.*", hide=["erase"])
    child: Scope | None = None

    def keep(given: Any) -> None:
        nonlocal child
        child = scope.narrowed(given, host=f.rt.host)

    scope.bind("keep", keep)
    async with family(scope) as f:
        (await f.rt.execute("c = crm.contacts.get(0)\nkeep({'card': Card(holder=c)})\ndel c\ncrm.boss")).unwrap()
        assert f.rt.host.place_of(scope.get("crm").contacts.get(0)) is None
        assert child is not None
        async with Runtime(child, limits=PATIENT) as rt:
            assert "has no attribute 'erase'" in str((await rt.execute("card.holder.erase()")).error)
            assert (await rt.execute("card.holder.label()")).unwrap() == "<Ada>"


async def test_a_grandchild_is_no_wider_either() -> None:
    scope = crm_scope()
    scope.declare("crm.contacts.*", hide=["erase"])
    async with family(scope) as f:
        (await f.rt.execute("c = crm.contacts.get(0)")).unwrap()
        contact = scope.get("crm").contacts.get(0)
        child = scope.narrowed({"c": contact}, host=f.rt.host)
        async with Runtime(child, limits=PATIENT) as rt:
            grandchild = child.narrowed({"g": contact, "more": [contact.friend()]}, host=rt.host)
            async with Runtime(grandchild, limits=PATIENT) as own:
                assert "no attribute 'erase'" in str((await own.execute("g.erase()")).error)
                assert "no attribute 'erase'" in str((await own.execute("g.crm.boss().erase()")).error)
                assert (await own.execute("g.label(), more[0].name")).unwrap() == ("<Ada>", "friend of Ada")


# facts


async def test_facts_of_operations_go_along() -> None:
    def undo(result: Any) -> None:
        return None

    scope = crm_scope()
    scope.declare("crm.contacts.get.rename", idempotent=True, undo=undo, direct=True, timeout_s=9, thread="loop")
    child = None
    async with family(scope) as f:
        contact = scope.get("crm").contacts.get(0)
        (await f.rt.execute("c = crm.contacts.get(0)")).unwrap()
        child = scope.narrowed({"c": contact}, host=f.rt.host)
        found = {one.path: one.operation for one in callables(child)}
        facts = found["c.rename"]
        assert (facts.idempotent, facts.undo, facts.direct, facts.timeout_s, facts.thread) == (
            True,
            undo,
            True,
            9,
            "loop",
        )


async def test_a_timeout_holds_in_the_child() -> None:
    class Slow:
        async def wait(self) -> None:
            await asyncio.Event().wait()

    class Home:
        def slow(self) -> Slow:
            return Slow()

    scope = Scope({"home": Home()})
    scope.declare("home.slow.wait", timeout_s=0.05)
    async with family(scope) as f:
        told = await f.refusal("{'s': home.slow()}", "await s.wait()")
        assert "home.slow.wait took longer than timeout_s=0.05" in told  # by where it stands


# what may be passed


async def test_what_is_the_agents_own_is_not_handed_on() -> None:
    async with family(crm_scope(Card=Card)) as f:
        for given in ("{'again': child}", "{'again': [child]}", "{'again': {'k': child}}", "{'again': Card(child)}"):
            assert "belongs to the agent that has it" in await f.refusal(given, "1")


async def test_what_is_the_agents_own_is_not_reached_through_an_object_either() -> None:
    box = types.SimpleNamespace(kept=None)
    scope = crm_scope(box=box)
    scope.declare("box.kept", writable=True)
    async with family(scope) as f:
        (await f.rt.execute("box.kept = child")).unwrap()
        assert "belongs to the agent that has it" in await f.refusal("['box']", "box.kept")


async def test_a_method_that_is_passed_stays_that_method_under_its_rules() -> None:
    scope = crm_scope()
    async with family(scope) as f:
        assert await f.of_child("{'get': crm.contacts.get}", "get(1).name") == "Bob"
        scope.declare("crm.contacts.get.erase", hide=True)
        assert "no attribute 'erase'" in await f.refusal("{'get': crm.contacts.get}", "get(1).erase()")
        scope.declare("crm.contacts.get", read_only=True)
        assert "read-only" in await f.refusal("{'get': crm.contacts.get}", "get(1)")


async def test_a_passed_module_shows_what_it_shows_in_the_parent() -> None:
    scope = Scope({"json": json})
    scope.declare("json.*", hide=["loads"])
    async with family(scope) as f:
        assert await f.of_child("{'j': json}", "j.dumps([1])") == "[1]"
        assert "no attribute 'loads'" in await f.refusal("{'j': json}", "j.loads('1')")
        assert "no 'codecs'" in await f.refusal("{'j': json}", "j.codecs")


async def test_a_class_that_may_only_be_built_is_not_used_by_itself_in_the_child() -> None:
    scope = Scope({"one": Held()})
    scope.declare(Held)
    async with family(scope) as f:
        assert await f.of_child("{'H': type(one)}", "H.LIMIT == 3, H.TOKENS == ('t1',)") == (False, False)
        raw = "H._cellwright_world.call('get', H._cellwright_class, 'LIMIT')"
        assert "class Held has no attribute 'LIMIT' here" in await f.refusal("{'H': type(one)}", raw)
        assert await f.of_child("{'H': type(one)}", "isinstance(H(), H)") is True


async def test_a_class_that_is_bound_is_the_same_in_the_child() -> None:
    async with family(Scope({"Held": Held})) as f:
        assert await f.of_child("{'H': Held}", "H.LIMIT, H.made(), isinstance(H(), H)") == (3, "made", True)
        assert await f.of_child("['Held']", "Held.LIMIT") == 3


async def test_a_class_in_no_scope_is_not_handed_on() -> None:
    async with family(Scope({"one": Held()})) as f:
        assert "cannot be built by guest code" in await f.refusal("{'H': type(one)}", "1")
    with pytest.raises(CannotCross):
        Scope({"one": Held()}).narrowed({"H": Held})


async def test_a_child_builds_no_class_that_the_parent_could_not() -> None:
    class Desk:
        def take(self, card: Card) -> str:
            return "taken"

    class Hall:
        def desk(self) -> Desk:
            return Desk()

        def card(self) -> Card:
            return Card(1)

    async with family(Scope({"hall": Hall()})) as f:
        build = "type(card)(holder=5)"
        assert "is not in scope" in str((await f.rt.execute(f"card = hall.card()\n{build}")).error)
        assert "is not in scope" in await f.refusal("{'desk': hall.desk(), 'card': card}", build)


async def test_declared_classes_and_types_go_along() -> None:
    scope = Scope({"card": Card(1)})
    scope.declare(Card)
    async with family(scope) as f:
        assert await f.of_child("['card']", "type(card)(holder=5).holder") == 5
        assert await f.of_child(
            "{'kind': int, 'many': list[type(card)], 'C': type(card)}", "many == list[C], kind"
        ) == (True, int)


async def test_plain_data_is_a_copy() -> None:
    async with family(Scope()) as f:
        cell = "mine = [1]\nawait child({'mine': mine}, 'mine.append(2); mine'), mine"
        assert (await f.rt.execute(cell)).unwrap() == ([1, 2], [1])


# functions of the parent's guest


async def test_a_child_calls_functions_of_the_parents_guest_while_the_parent_awaits() -> None:
    async with family(Scope()) as f:
        cell = """
            seen = []
            def note(x): seen.append(x); return len(seen)
            async def later(x): seen.append(x); return x * 2
            numbers = iter([7, 8])
            got = await child(
                {"note": note, "later": later, "numbers": numbers, "small": lambda: 5},
                "note('a'), await later(3), list(numbers), small()",
            )
            got, seen
        """
        assert (await f.rt.execute(cell)).unwrap() == ((1, 6, [7, 8], 5), ["a", 3])
        assert f.titles[:2] == ["note", "later"]


async def test_an_error_of_the_parents_function_is_raised_in_the_child() -> None:
    async with family(Scope()) as f:
        code = "try: bad()\nexcept KeyError as e: found = str(e)\nfound"
        assert await f.of_child("{'bad': lambda: {}['k']}", code) == "'k'"


async def test_objects_cross_in_the_arguments_of_a_parents_function_as_themselves() -> None:
    async with family(crm_scope()) as f:
        cell = "c = crm.contacts.get(0)\nawait child({'same': lambda x: x is c, 'c': c}, 'same(c)')"
        assert (await f.rt.execute(cell)).unwrap() is True


# what comes back


async def test_a_live_object_comes_back_as_itself() -> None:
    async with family(crm_scope()) as f:
        cell = "c = crm.contacts.get(0)\n(await child({'x': c}, 'x')) is c"
        assert (await f.rt.execute(cell)).unwrap() is True


@pytest.mark.parametrize("code", ["x.friend()", "[x.friend()]", "{'k': x.friend()}"])
async def test_an_object_that_a_child_reached_has_the_parents_rules_in_the_parent(code: str) -> None:
    scope = crm_scope()
    scope.declare("crm.contacts.*", hide=["erase"])
    async with family(scope) as f:
        cell = f"made = await child({{'x': crm.contacts.get(0)}}, {code!r})"
        (await f.rt.execute(cell)).unwrap()
        one = "made" if code.startswith("x") else f"made[{0 if code[0] == '[' else repr('k')}]"
        assert (await f.rt.execute(f"{one}.label()")).unwrap() == "<friend of Ada>"
        assert "no attribute 'erase'" in str((await f.rt.execute(f"{one}.erase()")).error)


async def test_plain_data_comes_back_as_it_is() -> None:
    async with family(Scope()) as f:
        assert f.rt.host.placed([1, {"a": 2}]) == [1, {"a": 2}]
        assert not isinstance(f.rt.host.placed("x"), Placed)


# what the child's model reads


async def test_stubs_and_the_type_checker_hide_what_is_hidden_under_the_original_path() -> None:
    scope = crm_scope(json=json)
    scope.declare("crm.contacts.get.*", hide=["erase"])
    scope.declare("json.*", only=["dumps"])
    async with family(scope) as f:
        (await f.rt.execute("c = crm.contacts.get(0)")).unwrap()
        child = scope.narrowed({"who": scope.get("crm").contacts.get(0), "j": json}, host=f.rt.host)
    catalog = Catalog(child)
    shown = catalog.show("who", None)
    assert "def label" in shown
    assert "erase" not in shown
    assert shown.startswith("who: Contact")
    assert "loads" not in catalog.show("j", None)
    with pytest.raises(NotInScope):
        catalog.show("who.erase", None)
    text = scope_stubs(child)
    assert "who: Contact" in text
    assert "def erase" not in text
    assert "loads" not in text
    checker = TypeChecker(child)
    try:
        assert [str(m) for m in await checker.check("who.label()", before=[])] == []
        (mistake,) = await checker.check("who.erase()", before=[])
    finally:
        await checker.close()
    assert "erase" in str(mistake)


# the journal


class Ledger:
    @operation(reads=True)
    def page(self, n: int) -> Page:
        return Page(n)


class Page:
    def __init__(self, n: int) -> None:
        self.n = n

    def key(self) -> str:
        return current_call().idempotency_key

    def to_journal(self) -> int:
        return self.n

    @classmethod
    def from_journal(cls, kept: int, root: Any) -> Page:
        assert isinstance(root, Ledger)
        return cls(kept)

    def next(self) -> Page:
        return Page(self.n + 1)


async def test_a_childs_session_is_resumed_with_its_objects_under_their_numbers(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    ledger = Ledger()
    scope = Scope({"ledger": ledger})
    scope.declare("ledger.page.*", hide=["key"])
    pages = [Page(1), Page(2)]

    def child() -> Scope:
        given = {"b": pages[1], "a": pages[0], "both": pages}
        return scope.narrowed(given, host=_Holding(pages, "ledger.page"))

    async with Runtime(child(), store=store, session="c", limits=PATIENT) as rt:
        (await rt.execute("third = b.next()\n[a.n, b.n, third.n, both[0] is a]")).unwrap()
    async with Runtime.resume("c", scope=child(), store=store, limits=PATIENT) as rt:
        assert (await rt.execute("a.n, b.n, third.n, both[1] is b")).unwrap() == (1, 2, 3, True)
        assert "no attribute 'key'" in str((await rt.execute("third.key()")).error)


class _Holding:
    """A host that holds these objects at one path."""

    def __init__(self, held: list[Any], path: str) -> None:
        self._held, self._path = held, path

    def place_of(self, value: Any) -> Any:
        return Place(self._path, type_of(value)) if any(value is one for one in self._held) else None

    def class_of(self, cls: type) -> Any:
        return None
