"""Hooks: what they see, change and refuse, and that nothing changes after a person's yes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.keeping import Office, run
from tests.guard.people import Person
from tests.journal.crash.dying import Mortal

from cellwright import Limits, Outcome, Runtime, Scope, Undoing, operation
from cellwright.errors import Denied, GuestError, JournalFailed, RollbackRefused
from cellwright.guard import (
    Hook,
    HookedCall,
    Policy,
    PolicyRule,
    RateLimit,
    Replaced,
    Unseen,
    audit_records,
    policy_from,
)
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")


def _paid_back(_: Any, call: Undoing) -> None:
    call.target.paid.append(("back", *call.args))


class Bank:
    """Payments, and what was paid."""

    def __init__(self) -> None:
        self.paid: list[Any] = []
        self.names: list[str] = []

    @operation(undo=_paid_back)
    def pay(self, to: Any, amount: Any = 1, **more: Any) -> Any:
        """Pay somebody."""
        self.paid.append((to, amount, *more.items()))
        return f"paid {amount} to {to}"

    @operation(reads=True)
    def account(self, name: str) -> Account:
        """The account of this name."""
        self.names.append(name)
        return Account(name)

    def each(self, do: Callable[[int], Any]) -> Any:
        """Call it with 1 and 2."""
        return [do(1), do(2)]

    def owner(self, account: Account) -> str:
        """Whose it is."""
        return account.name

    def fails(self) -> None:
        """Raise."""
        raise ValueError("no such account")


class Account:
    def __init__(self, name: str) -> None:
        self.name = name

    def whose(self) -> str:
        """Whose it is."""
        return self.name


async def rounded(call: HookedCall) -> HookedCall:
    more = [round(amount, 2) for amount in call.args[1:]]
    return call.changed(call.args[0].replace(" ", ""), *more, **call.kwargs)


async def paid(*cells: str, bank: Bank | None = None, **options: Any) -> tuple[list[Any], list[Outcome]]:
    """What the cells paid, and what came of each."""
    bank = bank or Bank()
    async with Runtime({"bank": bank}, limits=PATIENT, **options) as rt:
        return bank.paid, [await run(rt, cell) for cell in cells]


def said(outcome: Outcome) -> str:
    return str(outcome.error).splitlines()[-1]


async def test_a_hook_changes_what_a_call_is_made_with_and_the_person_sees_that() -> None:
    person = Person()
    policy = Policy(rules=(PolicyRule(action="ask", operation="bank.pay"),))
    done, _ = await paid(
        "bank.pay('a b', 1.239, note='x')", hooks=[Hook(before=rounded)], policy=policy, approve=person.approve
    )
    assert person.calls == ["bank.pay('ab', 1.24, note='x')"]
    assert done == [("ab", 1.24, ("note", "x"))]


async def test_each_hook_sees_what_the_one_before_it_gave_and_answers_go_through_them_in_the_same_order() -> None:
    async def more(call: HookedCall) -> HookedCall:
        return call.changed(call.args[0] + "!", *call.args[1:])

    async def brief(call: HookedCall, answer: Any) -> Replaced:
        return Replaced(f"<{answer}>")

    async def looks(call: HookedCall, answer: Any) -> None:
        seen.append((call.name, call.args, call.user, call.cell, answer))

    seen: list[Any] = []
    hooks = [Hook(before=more, after=brief), Hook(before=more, after=looks), Hook(operation="other.*", before=more)]
    done, (outcome,) = await paid("bank.pay('a')", hooks=hooks, user="kari")
    assert (done, outcome.value) == ([("a!!", 1)], "<paid 1 to a!!>")
    assert seen == [("bank.pay", ("a",), "kari", 1, "<paid 1 to a!!>")]


async def raises_denied(call: HookedCall) -> None:
    raise Denied("not today")


async def raises_guest_error(call: HookedCall) -> None:
    raise GuestError("no such name")


async def spoils_the_answer(call: HookedCall, answer: Any) -> Replaced:
    return Replaced(object())


async def test_a_hook_that_fails_after_a_call_refuses_the_answer() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    done, (outcome,) = await paid("bank.pay('ann')", hooks=[Hook(after=spoils_the_answer)])
    assert "a hook of the host failed" in said(outcome)
    assert done == [("ann", 1)]


async def raises(call: HookedCall) -> None:
    raise ValueError("secret of the host")


async def gives_nonsense(call: HookedCall) -> Any:
    return call.args


async def gives_an_object(call: HookedCall) -> Any:
    return call.changed(object())


async def changes_in_place(call: HookedCall) -> Any:
    call.args[0].append("eve")
    return call.changed(*call.args)


async def changes_in_place_and_says_nothing(call: HookedCall) -> None:
    call.kwargs["more"]["to"] = "eve"


def gives_no_coroutine(call: HookedCall) -> Any:
    return None


@pytest.mark.parametrize(
    ("before", "why", "told"),
    [
        (raises_denied, "not today", False),
        (raises_guest_error, "bank.pay was denied by a hook: no such name", False),
        (raises, "bank.pay was denied: a hook of the host failed", True),
        (gives_nonsense, "a hook of the host failed", True),
        (gives_an_object, "a hook of the host failed", True),
        (changes_in_place, "a hook of the host failed", True),
        (changes_in_place_and_says_nothing, "a hook of the host failed", True),
        (gives_no_coroutine, "a hook of the host failed", True),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
async def test_a_hook_that_raises_or_gives_what_no_call_can_be_made_with_refuses_it(
    before: Any, why: str, told: bool
) -> None:
    heard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context["exception"]))
    done, (outcome,) = await paid("bank.pay(['a'], more={'to': 'ann'})", hooks=[Hook(before=before)])
    assert isinstance(outcome.error, Exception)
    assert f"Denied: {why}" in said(outcome) or why in said(outcome)
    assert "secret of the host" not in str(outcome.error)
    assert (done, bool(heard)) == ([], told)


async def test_a_hook_refuses_an_answer_and_is_not_told_of_calls_that_failed_or_were_refused() -> None:
    async def refuses(call: HookedCall, answer: Any) -> None:
        seen.append(call.name)
        raise Denied("that is confidential")

    seen: list[str] = []
    policy = Policy(rules=(PolicyRule(action="deny", operation="bank.account"),))
    done, outcomes = await paid(
        "bank.pay('a')", "bank.fails()", "bank.account('a')", hooks=[Hook(after=refuses)], policy=policy
    )
    assert [said(outcome).partition(": ")[2] for outcome in outcomes[:2]] == ["that is confidential", "no such account"]
    assert "denied by the policy" in said(outcomes[2])
    assert (done, seen) == ([("a", 1)], ["bank.pay"])


async def test_policy_and_limits_are_about_the_call_as_the_hooks_give_it() -> None:
    async def capped(call: HookedCall) -> HookedCall:
        if call.args[0] == "no":
            raise Denied("no")
        return call.changed(call.args[0], min(call.args[1], 1000) if call.args[0] == "ann" else 5000)

    rules = (PolicyRule(action="deny", operation="bank.pay", arguments={"amount": "> 1000"}),)
    policy = Policy(rules=rules, limits=(RateLimit(operation="bank.pay", most=1, within="1h"),))
    hooks = [Hook(before=capped)]
    done, outcomes = await paid(
        "bank.pay('no', 1)", "bank.pay('eve', 10)", "bank.pay('ann', 9999)", "bank.pay('ann', 1)",
        hooks=hooks, policy=policy,
    )  # fmt: skip
    assert done == [("ann", 1000)]
    assert [outcome.ok for outcome in outcomes] == [False, False, True, False]
    assert "rule 1" in said(outcomes[1])
    assert "limit of 1 calls" in said(outcomes[3])  # what a hook or the policy refused counted none


async def test_the_data_flow_looks_at_what_the_hooks_give() -> None:
    class Post:
        @operation(reads=True, untrusted=True)
        def body(self) -> str:
            """The mail."""
            return "hello"

        @operation(selecting=["to"])
        def send(self, to: str, text: str) -> None:
            """Send a mail."""
            sent.append(to)

    async def redirects(call: HookedCall) -> HookedCall:
        return call.changed("eve@evil.example", *call.args[1:])

    sent: list[str] = []
    person = Person(lambda wanted: False)
    policy = {"flow": {"proven": [{"operation": "post.send", "values": ["*@corp.example"]}]}}
    hooks = [Hook(operation="post.send", before=redirects)]
    async with Runtime(
        {"post": Post()}, hooks=hooks, policy=policy_from(policy, "p"), approve=person.approve, limits=PATIENT
    ) as rt:
        await run(rt, "post.body()")
        outcome = await run(rt, "post.send('ann@corp.example', 'x')")
    assert "denied" in said(outcome)
    assert (person.calls, sent) == (["post.send('eve@evil.example', 'x')"], [])


async def test_nothing_changes_after_the_yes() -> None:
    async def keeps(call: HookedCall) -> HookedCall:
        given.append(list(call.args[0]))
        return call.changed(given[-1])

    given: list[list[str]] = []
    person = Person(lambda wanted: given[-1].append("eve") is None)  # whoever has the list changes it meanwhile
    policy = Policy(rules=(PolicyRule(action="ask", operation="bank.pay"),))
    done, _ = await paid(
        "to = ['ann']\nbank.pay(to)", hooks=[Hook(before=keeps)], policy=policy, approve=person.approve
    )
    assert (person.calls, done) == (["bank.pay(['ann'])"], [(["ann"], 1)])


async def test_objects_and_functions_are_unseen_and_are_passed_on_as_they_are() -> None:
    async def looks(call: HookedCall) -> HookedCall:
        seen.append([getattr(one, "kind", one) for one in (*call.args, *call.kwargs.values())])
        assert isinstance(call.args[0] if call.args else call.kwargs["account"], Unseen)
        return call.changed(*call.args, **call.kwargs)

    async def takes_the_other(call: HookedCall) -> HookedCall:
        return call.changed(call.args[1], call.args[0])

    seen: list[Any] = []
    bank = Bank()
    hooks = [
        Hook(operation="bank.owner", before=looks),
        Hook(operation="bank.each", before=looks),
        Hook(operation="bank.pay", before=takes_the_other),
    ]
    _, outcomes = await paid(
        "a, b = bank.account('ann'), bank.account('bo')\nbank.owner(a), bank.owner(account=b)",
        "bank.each(lambda n: n * 2)",
        "bank.pay(a, b).count('Account')",
        hooks=hooks,
        bank=bank,
    )
    assert [outcome.value for outcome in outcomes] == [("ann", "bo"), [2, 4], 2]
    assert seen == [["object"], ["object"], ["function"]]
    assert [account.name for account in bank.paid[0]] == ["bo", "ann"]


@dataclass
class Order:
    number: int
    name: str = "x"


class Shelf:
    """What is set on it."""

    size = 0

    def __init__(self) -> None:
        self.items: dict[Any, Any] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def put(self, *given: Any, **more: Any) -> str:
        """Tell what it was given."""
        return repr((*given, *more.items()))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("shelf.put(Order(1, 'y'), 3, k=4)", "(Order(number=2, name='y'), 4, ('k', 4))"),
        ("shelf.put(1, 2)", "(2, 3)"),
        ("shelf.put((1,), {'a': 1})", "((1,), {'a': 1})"),  # no arguments by name, though they look so
        ("shelf.put(((1, 2), {'q': 3}), 1)", "(((1, 2), {'q': 3}), 2)"),
        ("shelf.put()", "()"),
        ("shelf.size = 5\nshelf[1] = 2\nshelf.put(shelf.size)", "(7,)"),
    ],
)
async def test_arguments_of_any_shape_and_what_is_set_go_through_the_hooks(code: str, told: str) -> None:
    async def one_more(call: HookedCall) -> HookedCall:
        return call.changed(*[one + 1 if type(one) is int else one for one in call.args], **call.kwargs)

    shelf = Shelf()
    scope = Scope({"shelf": shelf, "Order": Order})
    scope.declare("*", writable=True)
    async with Runtime(scope, hooks=[Hook(before=one_more)], limits=PATIENT) as rt:
        assert (await run(rt, code)).value == told
    assert shelf.items in ({}, {2: 3})


async def test_calls_of_a_guest_function_that_host_code_calls_go_through_the_hooks() -> None:
    done, _ = await paid("bank.each(lambda n: bank.pay('a b', n))", hooks=[Hook(operation="bank.pay", before=rounded)])
    assert done == [("ab", 1), ("ab", 2)]


async def test_a_large_argument_is_seen_and_passed_on_but_not_changed() -> None:
    async def looks(call: HookedCall) -> None:
        seen.append(len(call.args[0]))

    async def cuts(call: HookedCall) -> HookedCall:
        return call.changed(call.args[0][:10])

    seen: list[int] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    done, _ = await paid("len(bank.pay('x' * 3_000_000))", hooks=[Hook(before=looks)])
    assert (seen, len(done[0][0])) == ([3_000_000], 3_000_000)
    done, (outcome,) = await paid("len(bank.pay(list(range(500_000))))", hooks=[Hook(before=cuts)])
    assert "a hook of the host failed" in said(outcome)
    assert done == []


async def test_a_hook_that_never_comes_back_ends_with_the_time_of_its_cell() -> None:
    async def hangs(call: HookedCall) -> None:
        await asyncio.Event().wait()

    bank = Bank()
    async with Runtime({"bank": bank}, hooks=[Hook(before=hangs)], limits=Limits(wall_s=0.5)) as rt:
        outcome = await rt.execute("bank.pay('ann')")
        assert "0.5" in str(outcome.error)
        assert (await rt.execute("1 + 1")).value == 2
    assert bank.paid == []


# in a kept session


async def test_a_row_keeps_what_was_asked_and_what_was_made_and_undo_and_audit_use_what_was_made(
    tmp_path: Path,
) -> None:
    bank, store = Bank(), MemoryStore()
    options: dict[str, Any] = {"hooks": [Hook(operation="bank.pay", before=rounded)], "audit": tmp_path / "audit"}
    async with Runtime({"bank": bank}, store=store, session="s1", limits=PATIENT, **options) as rt:
        assert (await run(rt, "bank.pay('a b', 2.499)")).value == "paid 2.5 to ab"
        (row,) = store.rows("s1")
        assert row.sent is not None
        assert ("a b" in str(row.arguments.tree), "a b" in str(row.sent.tree)) == (True, False)
        await rt.rollback(0)
    assert bank.paid == [("ab", 2.5), ("back", "ab", 2.5)]
    told = [
        (one["event"], one["arguments"], one["asked"]) for one in audit_records(tmp_path / "audit") if "asked" in one
    ]
    assert told == [("intent", "('ab', 2.5)", "('a b', 2.499)")]


async def test_a_replay_runs_no_hooks_and_a_changed_hook_is_for_new_calls(tmp_path: Path) -> None:
    async def other(call: HookedCall) -> HookedCall:
        seen.append(call.args)
        return call.changed("bo")

    seen: list[Any] = []
    bank, office = Bank(), Office(tmp_path)
    async with office.open(scope={"bank": bank}, hooks=[Hook(before=rounded)]) as rt:
        await run(rt, "first = bank.pay('a b', 2.499)")
    async with office.open(scope={"bank": bank}, hooks=[Hook(before=other)]) as rt:
        assert (await run(rt, "first, bank.pay('a b', 1)")).value == ("paid 2.5 to ab", "paid 1 to bo")
    assert (bank.paid, seen) == ([("ab", 2.5), ("bo", 1)], [("a b", 1)])


async def test_an_object_is_revived_by_the_call_as_it_was_made(tmp_path: Path) -> None:
    async def upper(call: HookedCall) -> HookedCall:
        return call.changed(call.args[0].upper())

    bank, office = Bank(), Office(tmp_path)
    hooks = [Hook(operation="bank.account", before=upper)]
    async with office.open(scope={"bank": bank}, hooks=hooks) as rt:
        await run(rt, "acc = bank.account('ann')")
    async with office.open(scope={"bank": bank}) as rt:
        assert (await run(rt, "acc.whose()")).value == "ANN"
    assert bank.names == ["ANN", "ANN"]


async def test_a_question_that_waited_is_asked_again_where_a_hook_was_changed_meanwhile(tmp_path: Path) -> None:
    async def other(call: HookedCall) -> HookedCall:
        return call.changed("eve")

    bank, office = Bank(), Office(tmp_path)
    policy = Policy(rules=(PolicyRule(action="ask", operation="bank.pay"),))
    async with office.open(scope={"bank": bank}, policy=policy, hooks=[Hook(before=rounded)]) as rt:
        assert (await run(rt, "bank.pay('a b')")).waiting
    assert [one.arguments for one in office.say()] == ["('ab')"]
    async with office.open(scope={"bank": bank}, policy=policy, hooks=[Hook(before=other)]) as rt:
        outcome = await rt.outcome()
        assert (bank.paid, bool(outcome.waiting)) == ([], True)  # that yes was to Ab, not to Eve
        assert office.waiting == ["('eve')"]


@pytest.mark.parametrize("what", ["refuses", "replaces"])
async def test_a_call_whose_answer_a_hook_withheld_was_made_and_is_not_undone_with_another(what: str) -> None:
    async def after(call: HookedCall, answer: Any) -> Replaced:
        if what == "refuses":
            raise Denied("that is confidential")
        return Replaced("another")

    bank = Bank()
    hooks = [Hook(operation="bank.pay", after=after)]
    async with Runtime({"bank": bank}, hooks=hooks, store=MemoryStore(), limits=PATIENT) as rt:
        await run(rt, "bank.pay('ann')")
        with pytest.raises(RollbackRefused, match=r"bank\.pay\('ann'\).*a hook refused or replaced its answer"):
            await rt.rollback(0)
        assert (await rt.rollback(0, yes=True)).undone == ()
    assert bank.paid == [("ann", 1)]


@pytest.mark.parametrize("changed", [False, True])
async def test_an_effect_that_had_begun_is_not_made_again_with_what_a_changed_hook_gives(changed: bool) -> None:
    class Post:
        @operation(idempotent=True)
        async def put(self, to: str) -> str:
            """Put it there."""
            put.append(to)
            store.dead = len(put) == 1  # nothing is written after this
            return f"put to {to}"

    async def to_eve(call: HookedCall) -> HookedCall:
        return call.changed("eve")

    put, store = list[str](), Mortal(MemoryStore())
    options: dict[str, Any] = {"scope": {"post": Post()}, "store": store, "limits": PATIENT}
    with pytest.raises(JournalFailed):
        async with Runtime(session="s1", hooks=[Hook(before=rounded)], **options) as rt:
            await run(rt, "await post.put('a b')")
    store.live_until(None)
    hooks = [Hook(before=to_eve if changed else rounded)]
    async with Runtime.resume("s1", take_over=True, hooks=hooks, **options) as rt:
        outcome = await rt.outcome()
    if changed:
        assert "OutcomeUnknown: post.put('ab') had begun" in str(outcome.error)
        assert put == ["ab"]
    else:
        assert (outcome.value, put) == ("put to ab", ["ab", "ab"])
