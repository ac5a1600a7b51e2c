"""Attacks on rules of an operation by other ways to the same function: host code that is given it, undo and revive."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.people import Mail, Person

from cellwright import Agent, Decision, Outcome, Runtime, Scope, operation
from cellwright.errors import RollbackFailed, RollbackRefused, UsageError
from cellwright.guard import decide, open_questions
from cellwright.scope import Undoing
from cellwright.testing import ScriptedModel, code

LAYER = "approval"

pytestmark = pytest.mark.usefixtures("warm")

sent: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


@operation(ask=True)
def send(to: Any) -> Any:
    sent.append(to)
    return to


def plain(to: Any) -> Any:
    sent.append(to)
    return to


class Sender:
    """Is called itself."""

    @operation(ask=True)
    def __call__(self, to: Any) -> Any:
        return plain(to)


class Letter:
    """Is sent when it is made."""

    def __init__(self, to: Any) -> None:
        sent.append(to)


class Tools:
    """Host code that calls what it is given."""

    def each(self, function: Callable[[Any], Any], items: Any = "ab") -> list[str]:
        return [str(function(item)) for item in items]

    def each_of(self, *, how: dict[str, Any]) -> None:
        how["functions"][0]("a")

    def submit(self, function: Callable[[Any], Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function, "a").result()

    def made_by(self, function: Callable[[], Any]) -> Any:
        return function()("a")

    def ready(self) -> Any:
        return functools.partial(send, "a")

    def run(self, function: Callable[[], Any]) -> Any:
        return function()

    @property
    def later(self) -> Any:
        return None

    @later.setter
    def later(self, function: Callable[[Any], Any]) -> None:
        function("a")


WAYS = {
    "an argument": "tools.each(send)",
    "a keyword": "tools.each(function=send)",
    "inside of an argument": "tools.each_of(how={'functions': [send]})",
    "a thread of the host's": "tools.submit(send)",
    "a partial": "tools.run(tools.ready())",
    "an object that is called": "tools.each(sender)",
    "a class": "tools.each(Letter)",
    "a method that was bound": "tools.each(post)",
    "a function with a rule": "tools.each(ruled)",
    "a function that is read-only": "tools.each(still)",
    "the answer of a callback": "tools.made_by(lambda: send)",
    "an attribute": "tools.later = send",
}


def guarded() -> Scope:
    names = {"tools": Tools(), "send": send, "sender": Sender(), "Letter": Letter, "post": Mail().post}
    scope = Scope({**names, "ruled": plain, "still": functools.partial(plain)})
    scope.declare("ruled", ask=True)
    scope.declare("Letter", ask=True)
    scope.declare("Mail.post", ask=True)
    scope.declare("still", read_only=True)
    return scope


async def run(source: str, scope: Scope, approve: Any = None) -> Outcome:
    async with Runtime(scope, limits=PATIENT, approve=approve) as rt:
        return await rt.execute(source)


@pytest.mark.parametrize("way", WAYS)
async def test_a_function_with_a_rule_is_not_given_to_host_code(way: str) -> None:
    person = Person(lambda wanted: False)
    outcome = await run(WAYS[way], guarded(), person.approve)
    assert (outcome.ok, sent) == (False, [])


async def test_the_refusal_says_what_to_declare_and_that_allows_it() -> None:
    scope = Scope({"tools": Tools(), "send": send})
    outcome = await run("tools.each(send)", scope)
    assert str(outcome.error).splitlines()[-1] == (
        "cellwright.NotPublic: send waits for a person's yes; tools.each would call it past that rule: "
        "scope.declare('tools.each', takes_guarded=True) allows that"
    )
    scope.declare("tools.each", takes_guarded=True)
    assert (await run("tools.each(send)", scope)).unwrap() == ["a", "b"]
    assert sent == ["a", "b"]


async def test_what_has_no_rule_is_given_to_host_code_as_before() -> None:
    scope = Scope({"tools": Tools(), "plain": plain, "ready": functools.partial(plain, "a"), "Letter": Letter})
    source = "tools.each(plain), tools.run(ready), tools.each(Letter, 'c'), tools.each(lambda item: plain(item), 'd')"
    await run(source, scope)
    assert sent == ["a", "b", "a", "c", "d"]


async def test_a_cell_may_end_with_such_a_function_and_a_child_keeps_its_rule() -> None:
    assert (await run("send", Scope({"send": send}))).unwrap() is send
    person = Person(lambda wanted: False)

    def reply(request: Any) -> Any:
        if "child" in request.messages[0].text:
            return code("done(s('ann'))") if len(request.messages) == 1 else "denied"
        return code("done(await spawn('the child', scope={'s': send}))")

    agent = Agent(ScriptedModel(otherwise=reply), scope={"send": send}, approve=person.approve, spawn=True, check="off")
    await agent.run("the parent")
    assert ([wanted.arguments for wanted in person.asked], sent) == (["('ann')"], [])


class Bank:
    @operation(ask=True)
    def payer(self, amount: int) -> Any:
        @operation(ask=True)
        def pay_it() -> int:
            sent.append(amount)
            return amount

        return pay_it


async def test_a_yes_for_always_to_a_maker_is_none_to_what_it_made_under_a_childs_name(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(wanted: Any) -> Any:
        asked.append(wanted.name)
        return Decision(yes=True, always="operation") if len(asked) == 1 else False

    def reply(request: Any) -> Any:
        if len(request.messages) > 1:
            return "over"
        if "child" in request.messages[0].text:
            return code("done(pay())")
        return code("done(await spawn('the child', scope={'pay': bank.payer(1000)}))")

    model = ScriptedModel(otherwise=reply)
    options: dict[str, Any] = {"approve": approve, "spawn": True, "check": "off", "store": tmp_path / "agents.db"}
    agent = Agent(model, scope={"bank": Bank()}, **options)
    await agent.run("the parent")
    assert (asked[0], len(asked), sent) == ("bank.payer", 2, [])


# what the host calls by itself for a guest


@operation(ask=True)
def take_back(number: int) -> None:
    sent.append(-number)


def shred_letter(number: int, call: Undoing) -> None:
    sent.append(-number)


class Post:
    """Letters that can be taken back, which somebody has to agree to, or which a rule refuses."""

    shred = shred_letter

    @operation(undo=take_back)
    def send(self, number: int) -> int:
        sent.append(number)
        return number

    @operation(undo=shred)
    def put(self, number: int) -> int:
        sent.append(number)
        return number


@asynccontextmanager
async def posting(person: Person) -> AsyncGenerator[Runtime]:
    async with Runtime({"post": Post()}, limits=PATIENT, store="memory:", approve=person.approve) as rt:
        (await rt.execute("post.send(7)")).unwrap()
        yield rt


async def test_an_undo_that_asks_is_asked_for_and_a_no_is_told() -> None:
    async with posting(Person(lambda wanted: False)) as rt:
        with pytest.raises(RollbackFailed, match=r"undo post\.send was denied"):
            await rt.rollback(0)
    assert sent == [7]
    person = Person()
    async with posting(person) as rt:
        await rt.rollback(0)
    assert (person.calls, sent) == (["undo post.send[7]"], [7, 7, -7])


async def test_an_undo_that_asks_waits_in_the_store_where_nobody_is_present(tmp_path: Path) -> None:
    store = tmp_path / "agents.db"
    async with Runtime({"post": Post()}, limits=PATIENT, store=store) as rt:
        (await rt.execute("post.send(7)")).unwrap()
        with pytest.raises(RollbackFailed, match="waits for a person's yes"):
            await rt.rollback(0)
        (question,) = open_questions(store)
        decide(store, question.id, yes=True)
        await rt.rollback(0)
    assert sent == [7, -7]


async def test_an_undo_in_a_transaction_is_asked_for() -> None:
    person = Person(lambda wanted: False)
    source = "with transaction():\n    post.send(7)\n    raise ValueError"
    async with Runtime({"post": Post()}, limits=PATIENT, store="memory:", approve=person.approve) as rt:
        outcome = await rt.execute(source)
    assert "denied" in str(outcome.error)
    assert (person.calls, sent) == (["undo post.send[7]"], [7])


@pytest.mark.parametrize("rule", [{"read_only": True}, {"hide": True}, {"ask": True}])
async def test_a_rule_of_a_method_holds_where_it_is_the_undo_of_another(rule: dict[str, Any]) -> None:
    scope = Scope({"post": Post()})
    scope.declare("post.shred", **rule)
    async with Runtime(scope, limits=PATIENT, store="memory:", approve=lambda wanted: False) as rt:
        (await rt.execute("post.put(7)")).unwrap()
        with pytest.raises((RollbackFailed, RollbackRefused)):
            await rt.rollback(0)
    assert sent == [7]


async def test_a_revive_that_asks_is_not_called_behind_the_persons_back(tmp_path: Path) -> None:
    class Box:
        def size(self) -> int:
            return 3

    @operation(ask=True)
    def again() -> Box:
        sent.append("again")
        return Box()

    @operation(revive=again)
    def box() -> Box:
        return Box()

    person = Person()
    options: dict[str, Any] = {"limits": PATIENT, "store": tmp_path / "agents.db", "approve": person.approve}
    async with Runtime({"box": box}, session="s1", **options) as rt:
        (await rt.execute("mine = box()\n1")).unwrap()
    async with Runtime.resume("s1", scope={"box": box}, **options) as rt:
        outcome = await rt.execute("mine.size()")
    assert "its revive= waits for a person's yes" in str(outcome.error)
    assert (person.asked, sent) == ([], [])


async def test_without_a_rule_the_method_is_the_undo() -> None:
    async with Runtime({"post": Post()}, limits=PATIENT, store="memory:") as rt:
        (await rt.execute("post.put(7)")).unwrap()
        await rt.rollback(0)
    assert sent == [7, -7]


# the class of an object is bound too


class Office:
    """Sends without an object."""

    @staticmethod
    def post(to: Any) -> None:
        sent.append(to)

    @classmethod
    def mail(cls, to: Any) -> None:
        sent.append(to)


@pytest.mark.parametrize("rule", [{"ask": True}, {"read_only": True}, {"read_only": "ask"}, {"hide": True}])
@pytest.mark.parametrize("pattern", ["office.*", "office.post office.mail"])
async def test_a_rule_of_a_static_method_holds_where_the_class_is_bound(pattern: str, rule: dict[str, Any]) -> None:
    for names in ({"office": Office(), "Office": Office}, {"other": Office(), "office": Office()}):
        scope, person = Scope(names), Person(lambda wanted: False)
        for one in pattern.split():
            scope.declare(one, **rule)
        async with Runtime(scope, limits=PATIENT, approve=person.approve) as rt:
            for way in ("office.post('a')", "office.mail('a')", "f = office.post\nf('a')", "f = office.mail\nf('a')"):
                outcome = await rt.execute(way)
                assert (outcome.ok, sent) == (False, []), way
        assert len(person.asked) == (4 if "ask" in (*rule, *rule.values()) else 0)


async def test_a_static_method_that_is_declared_to_read_stays_usable() -> None:
    scope = Scope({"office": Office(), "Office": Office})
    scope.declare("office.*", read_only=True)
    scope.declare("office.post", reads=True)
    (await run("office.post('a')", scope)).unwrap()
    assert sent == ["a"]


# a class that asks, and operators


@dataclass
class Note:
    """Is sent when it is made."""

    to: str

    def __post_init__(self) -> None:
        sent.append(self.to)


FORGED = {
    "a copy that no call made": "n = object.__new__(Note)\nn.to = 'eve'\nshow(n)",
    "another copy": "n = Note('ann')\nn.to = 'eve'\nshow(n)",
}


@pytest.mark.parametrize("way", FORGED)
async def test_a_record_whose_building_asks_is_not_built_from_a_copy(way: str) -> None:
    scope = Scope({"Note": Note, "show": lambda note: note.to})  # type: ignore[reportUnknownLambdaType]
    scope.declare("Note", ask=True)
    person = Person()
    outcome = await run(FORGED[way], scope, person.approve)
    assert (outcome.ok, "eve" in sent) == (False, False)


async def test_a_record_that_was_built_with_a_yes_is_used_and_passed_on() -> None:
    scope = Scope({"Note": Note, "show": lambda note: note.to})  # type: ignore[reportUnknownLambdaType]
    scope.declare("Note", ask=True)
    outcome = await run("n = Note('ann')\nn.to, show(n)", scope, Person().approve)
    assert (outcome.unwrap(), sent) == (("ann", "ann"), ["ann"])


@pytest.mark.parametrize("rule", [{"ask": True}, {"read_only": True}, {"hide": True}])
def test_a_rule_about_an_operator_which_would_hold_nothing_is_refused(rule: dict[str, Any]) -> None:
    scope = Scope({"sender": Sender()})
    with pytest.raises(UsageError, match=r"declare\('sender', …\)"):
        scope.declare("sender.__call__", **rule)
    with pytest.raises(UsageError, match=r"@operation"):
        scope.declare("sender.__getitem__", **rule)
    scope.declare("sender.__getitem__", hide=False)
