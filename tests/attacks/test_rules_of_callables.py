"""Rules of what code calls hold for objects, classes and operators as for functions, whatever calls them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cells import PATIENT

from cellwright import Outcome, Policy, PolicyRule, Runtime, Scope, operation
from cellwright.errors import RollbackFailed, RollbackRefused
from cellwright.gateway.policy_rules import apply_policy

LAYER = "binding"
pytestmark = pytest.mark.usefixtures("warm")

RULES: list[dict[str, Any]] = [{"hide": True}, {"ask": True}, {"read_only": True}]
sent: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


class Sender:
    """An object that is called."""

    def __call__(self, to: Any = "x") -> Any:
        sent.append(to)


class Letter:
    """Is sent when it is made."""

    def __init__(self, to: Any = "x") -> None:
        sent.append(to)


class Tools:
    def each(self, function: Callable[[Any], Any]) -> None:
        function("a")


async def run(source: str, scope: Scope, policy: Policy | None = None) -> Outcome:
    async with Runtime(scope, limits=PATIENT, approve=lambda wanted: False, policy=policy) as rt:
        return await rt.execute(source)


async def none_passes(scope: Scope, *ways: str, policy: Policy | None = None) -> None:
    async with Runtime(scope, limits=PATIENT, approve=lambda wanted: False, policy=policy) as rt:
        for way in ways:
            assert not (await rt.execute(way)).ok, way
            assert sent == [], way


def an_object() -> Any:
    return Sender()


def a_cached_function() -> Any:
    return functools.lru_cache(Sender().__call__)


@pytest.mark.parametrize("facts", RULES, ids=str)
@pytest.mark.parametrize("make", [an_object, a_cached_function])
@pytest.mark.filterwarnings("ignore:the rule")
async def test_an_object_that_is_called_has_the_rules_of_all_its_names(facts: Any, make: Any) -> None:
    send, tools = make(), Tools()
    scope = Scope({"first": send, "send": send, "tools": tools})
    scope.declare("send", **facts)
    await none_passes(scope, "first()", "send()", "tools.each(first)", "tools.each(send)")
    box = types.SimpleNamespace(send=send, later=functools.partial(send), inner=types.SimpleNamespace(again=send))
    scope = Scope({"box": box, "tools": tools})
    scope.declare("box.send", **facts)
    ways = ("box.inner.again()", "f = box.inner.again\nf()", "box.later()", "tools.each(box.inner.again)", "box.send()")
    await none_passes(scope, *ways)


@pytest.mark.parametrize("facts", RULES, ids=str)
@pytest.mark.parametrize("make", [an_object, a_cached_function])
@pytest.mark.filterwarnings("ignore:the rule")
async def test_a_member_of_a_class_that_is_called_has_the_rules_of_all_its_names(facts: Any, make: Any) -> None:
    send = make()
    members = {"again": Sender.__call__, "later": functools.partial(send), "static": staticmethod(send)}
    members |= {"same": send} if make is an_object else {}
    ways = [f"desk.{name}()" for name in members if name != "again"]
    scope = Scope({"send": send, "desk": type("Desk", (), members)(), "tools": Tools()})
    scope.declare("send", **facts)
    await none_passes(scope, *ways, *(f"tools.each({way[:-2]})" for way in ways))
    assert (await run("desk.again()", scope)).ok  # the same code, of another object


@pytest.mark.parametrize("facts", RULES, ids=str)
async def test_a_rule_of_a_name_that_is_bound_later_holds_for_what_was_called_before(facts: Any) -> None:
    send = Sender()
    scope = Scope({"send": send, "tools": Tools()})
    scope.declare("danger", **facts)
    async with Runtime(scope, limits=PATIENT, approve=lambda wanted: False) as rt:
        (await rt.execute("send(); tools.each(send)")).unwrap()
        scope.bind("danger", send)
        for way in ("send()", "tools.each(send)"):
            assert not (await rt.execute(way)).ok, way
    assert sent == ["x", "a"]


async def test_without_a_rule_it_is_called_by_each_name() -> None:
    send = Sender()
    scope = Scope({"send": send, "box": types.SimpleNamespace(again=send), "tools": Tools(), "Letter": Letter})
    scope.declare("tools.*", ask=True, takes_guarded=True)
    scope.declare("tools.each", ask=False)
    (await run("send(1); box.again(2); tools.each(send); Letter(3)", scope)).unwrap()
    assert sent == [1, 2, "a", 3]


@pytest.mark.parametrize("facts", RULES[:2], ids=str)
async def test_a_class_has_the_rules_of_all_its_names(facts: Any) -> None:
    for names in ({"First": Letter, "Second": Letter}, {"Second": Letter, "First": Letter}):
        scope = Scope({**names, "tools": Tools()})
        scope.declare("Second", **facts)
        await none_passes(scope, "First()", "Second()", "tools.each(First)", "tools.each(Second)")


@dataclass
class Draft:
    to: str


POLICIES = (
    Policy(rules=(PolicyRule(action="deny", operation="Second"),)),
    Policy(rules=(PolicyRule(action="deny", kind="writes"),)),
    Policy(rules=(PolicyRule(action="allow", operation="tools.*"),), default="deny"),
    Policy(default="ask"),
)


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_policy_covers_classes_whose_objects_do_something(policy: Policy) -> None:
    scope = Scope({"First": Letter, "Second": Letter, "Draft": Draft, "tools": Tools()})
    await none_passes(scope, "First()", "Second()", "tools.each(First)", policy=policy)
    assert (await run("Draft('ann').to", scope, policy)).unwrap() == "ann"


@dataclass
class Drafts:
    """Data, too, but it does something."""

    title: str

    def first(self) -> Any:
        return [Draft("ann")]

    def send(self) -> None:
        sent.append(self.title)


async def test_a_policy_that_denies_what_it_does_not_name_leaves_data_readable() -> None:
    allowed = PolicyRule(action="allow", operation="drafts.first")
    for rules, told in (((allowed,), True), ((PolicyRule(action="deny", operation="Draft.*"), allowed), False)):
        scope = Scope({"drafts": Drafts("mine")})
        policy = Policy(default="deny", rules=rules)
        apply_policy(policy, scope)  # as the gateway does: what is denied is hidden
        assert (await run("drafts.first()[0].to", scope, policy)).ok is told
        await none_passes(scope, "drafts.title", "drafts.send()", policy=policy)


class Post:
    def send(self, to: Any = "x") -> None:
        sent.append(to)

    @functools.lru_cache  # noqa: B019  one object
    def put(self, to: Any = "x") -> None:
        sent.append(to)

    def list(self) -> str:
        return "listed"

    __call__ = __getitem__ = __delitem__ = __lshift__ = __enter__ = send
    __len__ = list
    post = put

    def __exit__(self, *error: Any) -> None: ...


OPERATORS = (
    "post()",
    "post['a']",
    "post << 'a'",
    "del post['a']",
    "with post: pass",
    "tools.each(post)",
    "post.post()",
)


@pytest.mark.parametrize("facts", RULES, ids=str)
async def test_an_operator_that_is_the_same_function_as_a_member_has_its_rules(facts: Any) -> None:
    scope = Scope({"post": Post(), "tools": Tools()})
    scope.declare("post.[]", writable=True)
    scope.declare("post.send", **facts)
    scope.declare("post.put", **facts)
    await none_passes(scope, *OPERATORS)


async def test_an_operator_keeps_working_where_the_rule_is_about_others_or_the_operator_is_granted() -> None:
    scope = Scope({"post": Post()})
    scope.declare("post.*", read_only=True)  # operators are not known to write
    scope.declare("post.put", hide=True)
    (await run("post['a']; post << 'b'", scope)).unwrap()
    scope.declare("post.send", hide=True)
    assert "__getitem__" in str((await run("post['c']", scope)).error)
    scope.declare("post.__getitem__", hide=False)
    (await run("post['d']", scope)).unwrap()
    assert sent == ["a", "b", "d"]


# what the host calls by itself


def refund(number: int) -> None:
    sent.append(-number)


@operation(undo=refund)
def pay(number: int) -> int:
    sent.append(number)
    return number


taker = Sender()


class Desk:
    """Its undo is no plain method of its class."""

    def __init__(self) -> None:
        self.take = taker

    @staticmethod
    def cancel(number: int) -> None:
        sent.append(-number)

    def back(self, number: int = 0) -> None:
        sent.append(self)

    partly = functools.partial(back)

    @operation(undo=cancel)
    def order(self, number: int) -> int:
        return pay(number)

    @operation(undo=partly)
    def lend(self, number: int) -> int:
        return pay(number)

    @operation(undo=taker)
    def give(self, number: int) -> int:
        return pay(number)


def bank() -> types.ModuleType:
    module = types.ModuleType("bank")
    module.pay, module.refund, module.__all__ = pay, refund, ["pay", "refund"]  # type: ignore[attr-defined]
    return module


UNDO: dict[str, tuple[dict[str, Any], str, str]] = {
    "a function of a module": ({"bank": bank()}, "bank.refund", "bank.pay(7)"),
    "any function of a module": ({"bank": bank()}, "bank.*", "pay(7)"),
    "a bound function": ({"pay": pay, "refund": refund}, "refund", "pay(7)"),
    "an attribute": ({"pay": pay, "box": types.SimpleNamespace(back=refund)}, "box.back", "pay(7)"),
    "a static method": ({"desk": Desk()}, "desk.cancel", "desk.order(7)"),
    "a partial": ({"desk": Desk()}, "desk.back", "desk.lend(7)"),
    "an object that is called": ({"desk": Desk()}, "desk.take", "desk.give(7)"),
}


@pytest.mark.parametrize("facts", RULES, ids=str)
@pytest.mark.parametrize("way", UNDO)
@pytest.mark.filterwarnings("ignore:the rule")
async def test_an_undo_has_the_rules_of_the_function_wherever_it_stands(way: str, facts: Any) -> None:
    names, pattern, source = UNDO[way]
    scope = Scope({"pay": pay, **names})
    scope.declare(pattern, **facts)
    scope.declare("*.pay", hide=False, ask=False)
    async with Runtime(scope, limits=PATIENT, store="memory:", approve=lambda wanted: False) as rt:
        (await rt.execute(source)).unwrap()
        with pytest.raises((RollbackFailed, RollbackRefused)):
            await rt.rollback(0)
    assert sent == [7]
