"""Objects that stay on the host: what the guest's proxy looks like, which object it is, how long it is held."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from tests.cells import eventually, failure, outcomes, value, written

from cellwright import Runtime
from cellwright.errors import UsageError


class Deal:
    """A deal with somebody."""

    kind = "sale"

    def __init__(self, title: str, parent: Deal | None = None) -> None:
        self.title = title
        self.parent = parent
        self.children: list[Deal] = []
        self._secret = 1

    def child(self, title: str, *, stage: str = "new") -> Deal:
        """Open a deal below this one."""
        made = Deal(f"{title}/{stage}", self)
        self.children.append(made)
        return made

    @property
    def upper(self) -> str:
        """The title, loud."""
        return self.title.upper()

    @upper.setter
    def upper(self, text: str) -> None:
        self.title = text.lower()

    @upper.deleter
    def upper(self) -> None:
        self.title = ""

    def add(self, a: int, b: int = 2, *rest: int, c: float | None = None, **more: str) -> list[Any]:
        """Everything it was given."""
        return [a, b, rest, c, more]

    async def later(self) -> str:
        return self.title


async def test_a_guest_call_runs_on_the_host_object() -> None:
    deal = Deal("a")
    assert await value("deal.child('b').title", deal=deal) == "b/new"
    assert [child.title for child in deal.children] == ["b/new"]


async def test_keyword_default_and_variable_arguments_arrive_as_python_binds_them() -> None:
    code = """
    add = deal.add
    [add(1), add(1, 3, 4, 5), add(b=5, a=6), add(1, c=1.5, x='y'), add(*[1, 2], **{'c': 3})]
    """
    assert await value(code, deal=Deal("a")) == [
        [1, 2, (), None, {}],
        [1, 3, (4, 5), None, {}],
        [6, 5, (), None, {}],
        [1, 2, (), 1.5, {"x": "y"}],
        [1, 2, (), 3, {}],
    ]


async def test_the_proxy_has_the_types_name_docs_and_public_names() -> None:
    code = "type(deal).__name__, type(deal).__doc__, deal.child.__doc__, type(deal).upper.__doc__, dir(deal)"
    name, doc, child, upper, names = await value(code, deal=Deal("a"))
    assert (name, doc, child, upper) == (
        "Deal",
        "A deal with somebody.",
        "Open a deal below this one.",
        "The title, loud.",
    )
    assert {"add", "child", "later", "upper", "title", "children", "parent", "kind"} <= set(names)
    assert "_secret" not in names


async def test_signatures_are_those_of_the_host_on_the_object_the_class_and_a_function() -> None:
    def find(city: str, /, *, limit: int = 10) -> list[str]:
        return [city] * limit

    code = """
    import inspect
    [str(inspect.signature(f)) for f in (deal.add, type(deal).add, find, deal.later)]
    """
    bound, unbound, function, later = await value(code, deal=Deal("a"), find=find)
    assert bound == "(a: int, b: int = 2, *rest: int, c: float | None = None, **more: str) -> list[Any]"
    assert unbound == "(self, a: int, b: int = 2, *rest: int, c: float | None = None, **more: str) -> list[Any]"
    assert function == "(city: str, /, *, limit: int = 10) -> list[str]"
    assert later == "() -> str"


async def test_help_prints_the_parameters_and_the_docs() -> None:
    out = (await outcomes("help(deal.child)", deal=Deal("a")))[0]
    assert "child(title: str, *, stage: str = 'new') -> Deal" in out.stdout
    assert "Open a deal below this one." in out.stdout


async def test_async_def_stays_async_def_and_def_stays_def() -> None:
    code = "import inspect\n[inspect.iscoroutinefunction(f) for f in (deal.later, deal.child, type(deal).later)]"
    assert await value(code, deal=Deal("a")) == [True, False, True]


async def test_attributes_and_properties_are_read_written_and_deleted_on_the_host() -> None:
    deal = Deal("a")
    assert await written("deal.title = 'b'\ndeal.title, deal.upper, deal.kind", deal=deal) == ("b", "B", "sale")
    await value("deal.upper = 'LOUD'", deal=deal)  # a property with a setter
    assert deal.title == "loud"
    await written("del deal.upper\ndeal.note = [1]", deal=deal)
    assert deal.title == ""
    assert vars(deal)["note"] == [1]
    await written("del deal.note", deal=deal)
    assert not hasattr(deal, "note")


async def test_an_absent_attribute_is_an_attribute_error_and_hasattr_and_getattr_work() -> None:
    error = await failure("deal.nope", deal=Deal("a"))
    assert error.type in ("AttributeError", "NotPublic")
    assert "nope" in error.message
    code = "hasattr(deal, 'nope'), hasattr(deal, 'child'), getattr(deal, 'nope', 3), getattr(deal, 'title')"
    assert await value(code, deal=Deal("a")) == (False, True, 3, "a")


async def test_the_same_object_twice_is_one_proxy() -> None:
    deal = Deal("a")
    code = "c = deal.child('x')\n(c.parent is deal, deal.children[0] is c, pair[0] is pair[1], pair[0] is deal)"
    assert await value(code, deal=deal, pair=[deal, deal]) == (True, True, True, True)


async def test_the_same_function_twice_is_one_function() -> None:
    def f() -> int:
        return 1

    assert await value("f is g, pair[0] is f", f=f, g=f, pair=[f]) == (True, True)


async def test_an_object_handed_back_to_the_host_is_the_original() -> None:
    deal = Deal("a")
    got: list[Any] = []
    given = await value("take(deal); take([{'k': (deal,)}]); deal", deal=deal, take=got.append)
    assert got[0] is deal
    assert got[1][0]["k"][0] is deal
    assert given is deal


async def test_a_function_handed_back_to_the_host_is_the_original() -> None:
    def f() -> int:
        return 1

    got: list[Any] = []
    assert await value("take(f)\nf", f=f, take=got.append) is f
    assert got[0] is f


async def test_a_bound_method_handed_to_the_host_calls_the_hosts_method() -> None:
    def apply(f: Any, x: str) -> Any:
        return f(x)

    deal = Deal("a")
    made = await value("apply(deal.child, 'via')", apply=apply, deal=deal)
    assert made is deal.children[0]


async def test_what_a_method_returns_can_be_used_in_turn() -> None:
    deal = Deal("a")
    assert await value("deal.child('b').child('c').child('d', stage='won').parent.parent.title", deal=deal) == "b/new"
    assert deal.children[0].children[0].children[0].title == "d/won"


async def test_names_from_one_cell_still_hold_their_object_in_the_next() -> None:
    deal = Deal("a")
    assert await written("c = deal.child('b')", "c.title = 'changed'", "c.title", deal=deal) == "changed"
    assert deal.children[0].title == "changed"


async def test_proxies_are_told_apart_and_can_be_keys() -> None:
    code = "a, b = deal.child('x'), deal.child('x')\na == b, a == a, a != b, len({a, b, a}), {a: 1}[a]"
    assert await value(code, deal=Deal("a")) == (False, True, True, 2, 1)


async def test_a_copy_of_a_proxy_is_the_proxy_and_pickling_it_is_refused() -> None:
    assert await value("import copy\ncopy.copy(deal) is deal, copy.deepcopy([deal])[0] is deal", deal=Deal("a")) == (
        True,
        True,
    )
    error = await failure("import pickle\npickle.dumps(deal)", deal=Deal("a"))
    assert error.type == "TypeError"
    assert "cannot be pickled" in error.message


async def test_a_proxy_can_be_held_weakly() -> None:
    assert await value("import weakref\nr = weakref.ref(deal)\nr() is deal", deal=Deal("a")) is True


async def test_the_repr_of_a_proxy_names_the_type_and_no_address() -> None:
    out = (await outcomes("print(deal, repr(deal), f'{deal}')", deal=Deal("a")))[0]
    assert "Deal" in out.stdout
    assert "0x" not in out.stdout


class Maker:
    def __init__(self) -> None:
        self.alive: weakref.WeakSet[Deal] = weakref.WeakSet()

    def make(self) -> Deal:
        made = Deal("made")
        self.alive.add(made)
        return made

    def many(self, count: int) -> list[Deal]:
        return [self.make() for _ in range(count)]


async def freed(maker: Maker, left: int) -> None:
    async def let_go() -> bool:
        gc.collect()
        return len(maker.alive) <= left

    await eventually(let_go)


async def test_the_host_lets_go_of_an_object_when_the_guest_does() -> None:
    maker = Maker()
    async with Runtime({"maker": maker}) as rt:
        (await rt.execute("d = maker.make(); e = maker.make(); f = maker.make(); g = f; 0")).unwrap()
        gc.collect()
        assert len(maker.alive) == 3
        (await rt.execute("del d; e = None; del f")).unwrap()
        await freed(maker, 1)
        assert len(maker.alive) == 1
        assert (await rt.execute("g.title")).unwrap() == "made"


async def test_an_object_sent_often_is_let_go_when_the_last_reference_goes() -> None:
    maker = Maker()
    deal = maker.make()

    def again() -> Any:
        return reference()

    reference = weakref.ref(deal)
    holder = [deal]
    del deal
    async with Runtime({"again": again}) as rt:
        (await rt.execute("a = again(); b = again(); c = [again()]; 0")).unwrap()
        holder.clear()
        (await rt.execute("del a, b; 0")).unwrap()
        assert (await rt.execute("c[0].title")).unwrap() == "made"
        (await rt.execute("c.clear()")).unwrap()
        await freed(maker, 0)


async def test_objects_dropped_in_a_loop_do_not_pile_up_on_the_host() -> None:
    maker = Maker()
    most = 0

    def count() -> None:
        nonlocal most
        most = max(most, len(maker.alive))

    async with Runtime({"maker": maker, "count": count}) as rt:
        (await rt.execute("for _ in range(300):\n    maker.make().title\n    count()")).unwrap()
    assert most < 10


async def test_a_closed_session_holds_nothing() -> None:
    maker = Maker()
    async with Runtime({"maker": maker}) as rt:
        (await rt.execute("kept = maker.many(50); 0")).unwrap()
        gc.collect()
        assert len(maker.alive) == 50
    await freed(maker, 0)


async def test_a_bound_name_outlives_its_deletion_in_the_guest() -> None:
    deal = Deal("a")
    assert await value("get().title", "del deal", "get().child('x').parent.title", deal=deal, get=lambda: deal) == "a"


async def test_a_handle_that_was_never_given_is_refused_and_the_session_goes_on() -> None:
    forge = """
    world = type(deal)._cellwright_world
    try:
        world.call('get', 123456, 'title')
    except ReferenceError as error:
        told = str(error)
    told
    """
    told, after = [out.unwrap() for out in await outcomes(forge, "deal.title", deal=Deal("a"))]
    assert "not held by this session" in told
    assert after == "a"


@pytest.mark.slow
async def test_more_live_objects_than_the_bound_are_a_call_limit_and_letting_go_helps() -> None:
    maker = Maker()
    code = """
    kept = []
    try:
        while True:
            kept.append(maker.many(25_000))
    except Exception as error:
        told = type(error).__name__, len(kept)
    del kept
    told
    """
    told, after = [out.unwrap() for out in await outcomes(code, "maker.make().title", maker=maker)]
    assert told == ("CallLimit", 3)
    assert after == "made"


async def test_two_sessions_of_one_scope_do_not_share_handles() -> None:
    deal = Deal("a")
    async with Runtime({"deal": deal}) as one, Runtime({"deal": deal}) as two:
        (await one.execute("x = deal.child('x')")).unwrap()
        forged = await two.execute("type(deal)._cellwright_world.call('get', 2, 'title')")
        assert forged.error is not None
        assert "not held by this session" in str(forged.error)


@pytest.mark.parametrize("name", ["_x", "class", "a b", "1a", ""])
async def test_a_name_that_guest_code_could_not_write_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a name in scope"):
        Runtime({name: 1})


async def test_nothing_of_a_host_object_runs_to_describe_it() -> None:
    ran: list[str] = []

    class Shy:
        @property
        def prop(self) -> int:
            ran.append("prop")
            return 1

        def __getattr__(self, name: str) -> Any:
            ran.append(name)
            raise AttributeError(name)

        def method(self) -> int:
            return 2

    assert await value("shy.method()", shy=Shy()) == 2
    assert "prop" not in ran


async def test_an_object_that_answers_any_name_is_asked_for_the_name() -> None:
    class Remote:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)

            def answer(*args: Any) -> Any:
                return name, args

            return answer

    assert await value("remote.anything(1, 2)", remote=Remote()) == ("anything", (1, 2))


class Settings(dict[str, int]):
    def __getattr__(self, name: str) -> int:
        return self[name]  # KeyError for what is not there


async def test_an_object_with_an_attribute_for_any_name_can_be_bound() -> None:
    assert await value("settings.port", settings=Settings(port=80)) == 80
