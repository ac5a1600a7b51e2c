"""Who decides what a cell waits for, from where, and what is kept of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S, eventually
from tests.guard.keeping import LOOP, Office, carried_on, run, waits
from tests.guard.people import Mail, Person, yes

from cellwright import operation
from cellwright.errors import CodeError, NoQuestion, UsageError
from cellwright.events import ApprovalWanted
from cellwright.guard import Approvals, decide, full_arguments, open_questions
from cellwright.guard.arguments_text import LONGEST
from cellwright.runtime import replay
from cellwright.store import Decision, Question

pytestmark = pytest.mark.usefixtures("warm")

CAUGHT = """
said = []
for to in ('ann', 'bob'):
    try:
        said.append(await mail.send(to))
    except PermissionError as error:
        said.append(f'{type(error).__name__}: {error}')
said
"""


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def decided(office: Office) -> list[tuple[str, bool, str]]:
    questions = office.store.questions(decided=True)
    return [(q.arguments, q.decision.yes, q.decision.who) for q in questions if q.decision is not None]


# yes and no


async def test_a_no_raises_denied_in_the_guest_and_the_next_call_is_asked_for_again(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, CAUGHT)
        office.say(yes=False, reason="not him")
        assert waits(await rt.outcome())
        assert office.waiting == ["('bob')"]
        office.say(yes=True)
        assert (await rt.outcome()).unwrap() == ["Denied: mail.send was denied: not him", 1]
    async with office.open(scope={"mail": mail}) as rt:
        assert (await run(rt, "said")).unwrap() == ["Denied: mail.send was denied: not him", 1]
    assert mail.sent == ["bob"]
    assert (await replay("s1", store=office.store)).same


async def test_who_said_what_and_when_is_kept(office: Office) -> None:
    person = Person(lambda wanted: Decision(yes=wanted.arguments != "('bob')", reason="as I like", who="cleo"))
    async with office.open(scope={"mail": Mail()}, approve=person.approve) as rt:
        await run(rt, CAUGHT)
    assert decided(office) == [("('ann')", True, "cleo"), ("('bob')", False, "cleo")]
    notes = [note for note in office.store.notes("s1") if note.kind == "decided"]
    assert [(note.who, note.text) for note in notes] == [
        ("cleo", "mail.send: yes: as I like"),
        ("cleo", "mail.send: no: as I like"),
    ]
    assert [note.about for note in notes] == [wanted.question for wanted in person.asked]
    assert all(q.asked <= q.decision.at for q in office.store.questions(decided=True) if q.decision is not None)


async def test_what_an_approver_says_without_a_name_is_the_callbacks(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}, approve=yes) as rt:
        (await run(rt, LOOP)).unwrap()
    assert {who for _, _, who in decided(office)} == {"approve callback"}


async def test_the_pause_and_the_question_are_ordinary_entries(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}) as rt:
        await run(rt, "await mail.send('ann')")
        rows = [row for row in office.store.rows("s1") if row.door == "host"]
        assert [(row.title, row.status) for row in rows] == [("mail.send", "asked")]
        await carried_on(rt, office)
    statuses = [getattr(entry.change, "status", "") for entry in office.store.entries("s1")]
    assert [s for s in statuses if s in ("asked", "started", "done")][:3] == ["asked", "started", "done"]


async def test_somebody_elsewhere_who_is_quicker_than_the_approver_here_is_heard(office: Office) -> None:
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def approve(wanted: ApprovalWanted) -> bool:
        asked.set()
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with office.open(scope={"mail": Mail()}, approve=approve) as rt:
        cell = asyncio.create_task(run(rt, "await mail.send('ann')"))
        await asyncio.wait_for(asked.wait(), PATIENCE_S)

        async def said() -> bool:
            return bool(office.say())

        await eventually(said)
        assert (await cell).unwrap() == 1
    assert cancelled.is_set()


async def test_of_two_who_decide_at_once_the_first_counts_and_the_other_is_told(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        (id,) = (await run(rt, "await mail.send('ann')")).waiting
        said: list[Any] = []

        def decide_it(yes: bool) -> None:
            try:
                said.append(decide(office.place / "agents.db", id, yes=yes))
            except UsageError as error:
                said.append(error)

        both = [threading.Thread(target=decide_it, args=(yes,)) for yes in (True, False)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        (first,) = [one for one in said if isinstance(one, Question)]
        (second,) = [one for one in said if isinstance(one, UsageError)]
        assert "decided already" in str(second)
        assert first.decision is not None
        assert ((await rt.outcome()).ok, len(mail.sent)) == (first.decision.yes, int(first.decision.yes))


# for always


async def test_always_in_this_session_is_asked_once_there_and_each_use_is_written_down(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, LOOP)
        office.say(always="session")
        assert (await rt.outcome()).unwrap() == [1, 2, 3]
        notes = [note.text for note in office.store.notes("s1") if note.kind == "decided"]
        assert notes == ["mail.send: yes, always in this session"] * 3
    async with office.open("s2", scope={"mail": mail}) as rt:
        assert waits(await run(rt, LOOP))


async def test_always_of_an_operation_holds_in_every_session_until_it_is_taken_back(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, LOOP)
        office.say(always="operation")
    async with office.open("s2", scope={"mail": mail}) as rt:
        assert (await run(rt, LOOP)).unwrap() == [1, 2, 3]
        assert office.store.revoke("s2", "mail.send")
        assert waits(await run(rt, LOOP))


async def test_always_decides_what_waits_already_and_a_no_for_always_is_not_asked_again(office: Office) -> None:
    mail = Mail()
    gather = "import asyncio\n[str(r) for r in await asyncio.gather(*map(mail.send, 'abc'), return_exceptions=True)]"
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await run(rt, gather))
        decide(office.store, office.questions[0].id, yes=False, reason="never", always="session")
        assert (office.questions, (await rt.outcome()).unwrap()) == ([], ["mail.send was denied: never"] * 3)
        assert (await run(rt, gather)).unwrap() == ["mail.send was denied: never"] * 3
    assert mail.sent == []


async def test_a_grant_that_the_store_alone_heard_of_opens_what_waits(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, "import asyncio\nawait asyncio.gather(*map(mail.send, 'ab'))")
        office.store.decide(office.questions[0].id, Decision(yes=True, always="session"))
        assert (await rt.outcome()).unwrap() == [1, 2]
    assert (office.store.questions(), mail.sent) == ([], ["a", "b"])


class Contact:
    """An object that only a call leads to."""

    def __init__(self, name: str, saved: list[str]) -> None:
        self._name = name
        self._saved = saved

    @operation(ask=True)
    def save(self) -> str:
        self._saved.append(self._name)
        return self._name

    def to_journal(self) -> str:
        return self._name


class Crm:
    def __init__(self) -> None:
        self.saved: list[str] = []

    @operation(reads=True)
    def find(self, name: str) -> Contact:
        return Contact(name, self.saved)

    @operation(reads=True)
    def function(self, name: str) -> Callable[[], str]:
        @operation(ask=True)
        def act() -> str:
            self.saved.append(name)
            return name

        return act


async def test_always_of_a_method_is_for_all_objects_of_the_class_and_the_person_sees_which_one(office: Office) -> None:
    crm = Crm()
    async with office.open(scope={"crm": crm}) as rt:
        await run(rt, "[crm.find(name).save() for name in 'abc']")
        (question,) = office.questions
        assert question.operation == f"{__name__}:Contact.save"
        assert question.arguments.startswith("() on Contact#")
        office.say(always="session")
        assert (await rt.outcome()).unwrap() == ["a", "b", "c"]


async def test_always_of_a_function_without_a_place_is_for_no_other_session(office: Office) -> None:
    crm = Crm()
    async with office.open(scope={"crm": crm}) as rt:
        await run(rt, "f = crm.function('a')\nf()")
        office.say(always="operation")
        assert (await rt.outcome()).unwrap() == "a"
    async with office.open("s2", scope={"crm": crm}) as rt:
        assert waits(await run(rt, "f = crm.function('b')\nf()"))
    office.store.forget("s1")
    async with office.open(scope={"crm": crm}) as rt:  # another session, of the same name
        assert waits(await run(rt, "f = crm.function('c')\nf()"))
    assert crm.saved == ["a"]


# too late


async def test_a_question_that_nobody_answers_in_time_is_a_no_when_the_cell_is_carried_on(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}, approvals=Approvals(expires_s=0.5)) as rt:
        outcome = await run(rt, "await mail.send('ann')")
        assert waits(outcome)
        outcome = await rt.outcome(wait=True)
        assert isinstance(outcome.error, CodeError)
        assert "nobody answered by 20" in outcome.error.message
    (question,) = office.store.questions(decided=True)
    with pytest.raises(UsageError, match="until"):
        decide(office.store, question.id, yes=True)
    assert mail.sent == []


async def test_an_approver_who_answers_too_late_is_not_heard(office: Office) -> None:
    mail = Mail()

    async def approve(wanted: ApprovalWanted) -> bool:
        assert wanted.expires is not None
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return True

    async with office.open(scope={"mail": mail}, approve=approve, approvals=Approvals(expires_s=0.3)) as rt:
        outcome = await run(rt, "await mail.send('ann')")
    assert "nobody answered by" in str(outcome.error)
    assert mail.sent == []


@pytest.mark.parametrize("given", [{"expires_s": 0}, {"wait_s": -1}, {"at_once": 0}, {"expires_s": "soon"}])
def test_approvals_refuse_what_is_no_time(given: Any) -> None:
    with pytest.raises(UsageError, match=rf"Approvals\({next(iter(given))}="):
        Approvals(**given)


# hostile guests, and others who would decide what is not theirs


async def test_a_flood_of_questions_is_bounded_and_the_rest_is_denied(office: Office) -> None:
    code = """
    import asyncio
    found = await asyncio.gather(*(mail.send(n) for n in range(30)), return_exceptions=True)
    [str(one) for one in found]
    """
    async with office.open(scope={"mail": Mail()}, approvals=Approvals(at_once=10)) as rt:
        assert waits(await run(rt, code))
        assert len(office.questions) == 10
        office.say(yes=False)
        said = (await rt.outcome()).unwrap()
    assert sum("10 calls of this session wait" in one for one in said) == 20


async def test_a_question_is_of_one_session_alone_also_where_all_else_is_the_same(office: Office) -> None:
    ids: list[str] = []
    for session in ("s1", "s2"):
        async with office.open(session, scope={"mail": Mail()}) as rt:
            ids += (await run(rt, "await mail.send('ann')")).waiting
    assert len(set(ids)) == 2
    decide(office.store, ids[0], yes=True)
    async with office.open("s2", scope={"mail": Mail()}) as rt:
        assert (await rt.outcome()).waiting == (ids[1],)


async def test_a_question_whose_session_was_forgotten_cannot_be_decided(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}) as rt:
        (id,) = (await run(rt, "await mail.send('ann')")).waiting
    office.store.forget("s1")
    with pytest.raises(NoQuestion):
        decide(office.store, id, yes=True)
    with pytest.raises(NoQuestion):
        decide(office.store, "q-0", yes=True)


async def test_code_that_asks_for_something_else_when_it_is_run_again_gets_nothing_of_the_yes(office: Office) -> None:
    code = """
    import ctypes
    now = (ctypes.c_long * 2)()
    ctypes.CDLL(None).clock_gettime(1, now)
    await mail.send(now[0] * 10**9 + now[1])
    """
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await run(rt, code))
        office.say()
        outcome = await rt.outcome()
    assert "Diverged" in type(outcome.error).__name__
    assert (mail.sent, office.questions) == ([], [])


async def test_long_arguments_are_cut_with_a_mark_and_can_be_had_whole(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}) as rt:
        await run(rt, "await mail.send('x' * 50_000 + '\\x1b[2J')")
    (question,) = open_questions(office.store, "s1")
    assert len(question.arguments) < LONGEST + 100
    assert "cut" in question.arguments[-60:]
    whole = full_arguments(office.store, question)
    assert (len(whole) > 50_000, whole.isprintable()) == (True, True)
    assert full_arguments(office.store, replace(question, path="9#9")) == question.arguments
