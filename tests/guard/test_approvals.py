"""Operations that wait for a person's yes: who is asked, with what, and that nothing happens without it."""

from __future__ import annotations

import asyncio
from textwrap import dedent
from typing import Any

import pytest
from tests.cells import PATIENCE_S, PATIENT
from tests.guard.people import Busy, Mail, Person, yes

from cellwright import Limits, Outcome, Runtime, Scope, operation
from cellwright.errors import CodeError, TimeLimit
from cellwright.events import ApprovalWanted, CallFinished, CallStarted, Event

pytestmark = pytest.mark.usefixtures("warm")

GATHER = "import asyncio\n[repr(r) for r in await asyncio.gather(*map(mail.send, 'abc'), return_exceptions=True)]"
CAUGHT = """
try:
    said = await mail.send('ann')
except PermissionError as error:
    said = f'{type(error).__name__}: {error}'
said
"""


async def run(code: str, scope: Scope | dict[str, Any], approve: Any = None, **options: Any) -> Outcome:
    settings: dict[str, Any] = {"limits": PATIENT, "approve": approve, **options}
    async with asyncio.timeout(2 * PATIENCE_S), Runtime(scope, **settings) as rt:
        return await rt.execute(dedent(code))


# asking


async def test_each_call_in_a_loop_is_asked_for_with_its_arguments() -> None:
    mail, person = Mail(), Person()
    code = "[await mail.send(to, body={'n': n}) for n, to in enumerate(['ann', 'bob'])]"
    assert (await run(code, {"mail": mail}, person.approve)).unwrap() == [1, 2]
    assert person.calls == ["mail.send('ann', body={'n': 0})", "mail.send('bob', body={'n': 1})"]
    assert mail.sent == ["ann", "bob"]


async def test_an_operation_that_is_not_marked_is_not_asked_for() -> None:
    mail, person = Mail(), Person()
    assert (await run("mail.post('ann')", {"mail": mail}, person.approve)).unwrap() == 1
    assert person.asked == []


async def test_several_calls_of_a_gather_wait_at_once_and_are_answered_in_any_order() -> None:
    mail, busy = Mail(), Busy()
    cell = asyncio.create_task(run(GATHER, {"mail": mail}, busy.approve))
    await busy.until(lambda: len(busy.waiting) == 3)
    assert mail.sent == []
    for who, said in (("('c')", True), ("('b')", "not him"), ("('a')", True)):
        busy.waiting[who].set_result(said)
    first, second, third = (await cell).unwrap()
    assert {first, third} == {"1", "2"}
    assert second == "Denied('mail.send was denied: not him')"
    assert sorted(mail.sent) == ["a", "c"]


async def test_a_plain_function_may_say_yes() -> None:
    assert (await run("await mail.send('ann')", {"mail": Mail()}, yes)).unwrap() == 1


async def test_a_function_and_a_class_in_scope_are_asked_for_by_their_marks_and_by_rules() -> None:
    class Engine:
        def __init__(self, power: int) -> None:
            self.power = power

        def started(self) -> bool:
            return True

    @operation(ask=True)
    def marked(x: int) -> int:
        return x

    person = Person(lambda wanted: wanted.name != "declared")
    scope = Scope({"marked": marked, "declared": abs, "Engine": Engine})
    scope.declare("declared", ask=True)
    scope.declare("Engine", ask=True)
    code = "a = marked(1), Engine(5).started()\ndeclared(-1)"
    assert isinstance((await run(code, scope, person.approve)).error, CodeError)
    assert person.calls == ["marked(1)", "Engine(5)", "declared(-1)"]


async def test_who_listens_to_the_cell_is_told_before_the_person_is_asked() -> None:
    heard: list[Event] = []
    before: list[int] = []
    async with Runtime({"mail": Mail()}, limits=PATIENT, approve=lambda wanted: not before.append(len(heard))) as rt:
        (await rt.execute("await mail.send('ann')", on_event=heard.append)).unwrap()
    assert [type(event) for event in heard] == [CallStarted, ApprovalWanted, CallFinished]
    assert before == [2]


async def test_the_time_that_a_person_takes_is_not_the_cells() -> None:
    limits = Limits(wall_s=0.3)

    async def approve(wanted: ApprovalWanted) -> bool:
        outcome = await run("while True: pass", {}, limits=limits)  # takes as long as the other cell may run
        return isinstance(outcome.error, TimeLimit)

    assert (await run("await mail.send('ann')", {"mail": Mail()}, approve, limits=limits)).unwrap() == 1


async def test_the_cells_time_goes_on_after_the_answer() -> None:
    code = "await mail.send('ann')\nwhile True: pass"
    outcome = await run(code, {"mail": Mail()}, Person().approve, limits=Limits(wall_s=0.3))
    assert isinstance(outcome.error, TimeLimit)


# no


async def test_code_can_catch_a_denial_and_go_on() -> None:
    mail = Mail()
    said = (await run(CAUGHT, {"mail": mail}, Person(lambda wanted: "too late in the day").approve)).unwrap()
    assert said == "Denied: mail.send was denied: too late in the day"
    assert mail.sent == []


async def test_a_denial_that_is_not_caught_ends_the_cell() -> None:
    mail = Mail()
    outcome = await run(
        "await mail.send('ann')\nmail.post('bob')", {"mail": mail}, Person(lambda wanted: False).approve
    )
    assert isinstance(outcome.error, CodeError)
    assert (outcome.error.type, outcome.error.message) == ("Denied", "mail.send was denied")
    assert mail.sent == []


async def test_where_nobody_can_be_asked_the_call_is_denied_and_says_so() -> None:
    mail = Mail()
    assert "there is nobody to ask" in (await run(CAUGHT, {"mail": mail})).unwrap()
    assert mail.sent == []


@pytest.mark.parametrize("answer", [None, 1, "yes", "", [True]])
async def test_nothing_but_true_is_a_yes(answer: Any) -> None:
    mail = Mail()
    assert "was denied" in (await run(CAUGHT, {"mail": mail}, Person(lambda wanted: answer).approve)).unwrap()
    assert mail.sent == []


@pytest.mark.parametrize("error", [RuntimeError("SECRET"), asyncio.CancelledError()])
async def test_an_approver_that_raises_gives_no_yes_and_is_told_to_the_loop(error: BaseException) -> None:
    mail, told = Mail(), list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))

    def approve(wanted: ApprovalWanted) -> bool:
        raise error

    try:
        said = (await run(CAUGHT, {"mail": mail}, approve)).unwrap()
    finally:
        asyncio.get_running_loop().set_exception_handler(None)
    assert said == "Denied: mail.send was denied: the approver could not be asked"
    assert (told, mail.sent) == ([error], [])


# nobody waits any more


async def test_cancelling_the_cell_cancels_the_wait() -> None:
    mail, busy = Mail(), Busy()
    cell = asyncio.create_task(run("await mail.send('ann')", {"mail": mail}, busy.approve))
    await busy.until(lambda: bool(busy.waiting))
    cell.cancel()
    await asyncio.gather(cell, return_exceptions=True)
    assert (busy.cancelled, mail.sent) == (["('ann')"], [])


async def test_code_that_gives_the_call_up_cancels_the_wait() -> None:
    mail, busy = Mail(), Busy()
    code = """
    import asyncio
    task = asyncio.create_task(mail.send('ann'))
    await seen()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    'went on'
    """

    async def seen() -> None:
        await busy.until(lambda: bool(busy.waiting))

    assert (await run(code, {"mail": mail, "seen": seen}, busy.approve)).unwrap() == "went on"
    assert (busy.cancelled, mail.sent) == (["('ann')"], [])


# beside the rules


async def test_what_is_read_only_is_refused_and_nobody_is_asked() -> None:
    mail, person = Mail(), Person()
    scope = Scope({"mail": mail})
    scope.declare("mail.*", read_only=True)
    outcome = await run("await mail.send('ann')", scope, person.approve)
    assert "read-only" in str(outcome.error)
    assert (person.asked, mail.sent) == ([], [])


async def test_what_only_reads_is_asked_for_under_read_only() -> None:
    class Vault:
        @operation(reads=True, ask=True)
        def open(self) -> str:
            return "gold"

    person = Person()
    scope = Scope({"vault": Vault()})
    scope.declare("vault.*", read_only=True)
    assert (await run("vault.open()", scope, person.approve)).unwrap() == "gold"
    assert person.calls == ["vault.open()"]


async def test_a_hidden_member_stays_hidden_and_nobody_is_asked() -> None:
    mail, person = Mail(), Person()
    scope = Scope({"mail": mail})
    scope.declare("mail.send", hide=True)
    outcome = await run("await mail.send('ann')", scope, person.approve)
    assert isinstance(outcome.error, CodeError)
    assert outcome.error.type in ("NotPublic", "AttributeError")
    assert (person.asked, mail.sent) == ([], [])


async def test_a_later_rule_may_say_that_nobody_is_asked() -> None:
    person = Person()
    scope = Scope({"mail": Mail()})
    scope.declare("mail.send", ask=False)
    assert (await run("await mail.send('ann')", scope, person.approve)).unwrap() == 1
    assert person.asked == []


class Shelf:
    """What else than methods can be marked."""

    def __init__(self) -> None:
        self.label = "old"
        self.books: dict[str, str] = {"a": "first"}

    @property
    @operation(ask=True)
    def key(self) -> str:
        return "under the mat"

    @operation(ask=True)
    def __getitem__(self, name: str) -> str:
        return self.books[name]

    def __setitem__(self, name: str, value: str) -> None:
        self.books[name] = value

    def __len__(self) -> int:
        return len(self.books)


async def test_properties_operators_and_attributes_are_asked_for_too() -> None:
    shelf, person = Shelf(), Person()
    scope = Scope({"shelf": shelf})
    scope.declare("shelf.label", ask=True, writable=True)
    scope.declare("shelf.setitem", ask=True)
    scope.declare("shelf.[]", writable=True)
    code = "got = shelf.key, shelf['a'], shelf.label, len(shelf)\nshelf.label = 'new'\nshelf['b'] = 'second'\ngot"
    assert (await run(code, scope, person.approve)).unwrap() == ("under the mat", "first", "old", 1)
    assert person.calls == [
        "get shelf.key()",
        "shelf.__getitem__('a')",
        "get shelf.label()",
        "set shelf.label('new')",
        "shelf.__setitem__('b', 'second')",
    ]
    assert (shelf.label, shelf.books["b"]) == ("new", "second")
    no = Person(lambda wanted: False)
    for line in (*code.splitlines()[1:3], "shelf.key", "shelf['a']"):
        assert "Denied" in str((await run(line, scope, no.approve)).error)
