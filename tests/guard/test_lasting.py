"""Questions that a process did not live to see answered, and answers that it did not live to use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S
from tests.guard.people import Busy, Mail, Person, yes
from tests.journal.lasting import Sessions, failure, run, value

from cellwright import Runtime, Scope, operation
from cellwright.errors import CodeError
from cellwright.runtime import replay

pytestmark = pytest.mark.usefixtures("warm")

LOOP = "said = []\nfor to in ('ann', 'bob', 'cid'):\n    said.append(await mail.send(to))\nsaid"


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


async def die(sessions: Sessions, cell: asyncio.Task[Any]) -> None:
    """As the process would: nothing is written from here on."""
    sessions.journal.dead = True
    cell.cancel()
    await asyncio.gather(cell, return_exceptions=True)


async def test_a_question_without_an_answer_is_asked_again_and_effects_are_made_once(sessions: Sessions) -> None:
    mail, busy, person = Mail(), Busy(), Person()
    async with sessions.life(scope={"mail": mail}, approve=busy.approve) as rt:
        cell = asyncio.create_task(run(rt, LOOP))
        await busy.until(lambda: "('ann')" in busy.waiting)
        busy.waiting["('ann')"].set_result(True)
        await busy.until(lambda: "('bob')" in busy.waiting)
        await die(sessions, cell)
    assert mail.sent == ["ann"]
    async with sessions.life(scope={"mail": mail}, approve=person.approve) as rt:
        assert (await rt.outcome()).unwrap() == [1, 2, 3]
    assert person.calls == ["mail.send('bob')", "mail.send('cid')"]
    assert mail.sent == ["ann", "bob", "cid"]


async def test_questions_of_a_gather_are_asked_again_but_for_the_one_that_was_answered(sessions: Sessions) -> None:
    mail, busy, person = Mail(), Busy(), Person()
    gather = "import asyncio\nsorted(await asyncio.gather(*map(mail.send, 'abc')))"
    async with sessions.life(scope={"mail": mail}, approve=busy.approve) as rt:
        cell = asyncio.create_task(run(rt, gather))
        await busy.until(lambda: len(busy.waiting) == 3)
        busy.waiting["('b')"].set_result(True)
        async with asyncio.timeout(PATIENCE_S):
            while not any(row.status == "done" for row in sessions.journal.rows("s1")):  # noqa: ASYNC110  no event
                await asyncio.sleep(0)
        await die(sessions, cell)
    async with sessions.life(scope={"mail": mail}, approve=person.approve) as rt:
        assert (await rt.outcome()).unwrap() == [1, 2, 3]
    assert sorted(person.calls) == ["mail.send('a')", "mail.send('c')"]
    assert sorted(mail.sent) == ["a", "b", "c"]


async def test_what_was_approved_and_done_is_not_asked_for_again(sessions: Sessions) -> None:
    mail, first, second = Mail(), Person(), Person()
    async with sessions.life(scope={"mail": mail}, approve=first.approve) as rt:
        await value(rt, "n = await mail.send('ann')")
    async with sessions.life(scope={"mail": mail}, approve=second.approve) as rt:
        assert await value(rt, "n") == 1
    assert (len(first.asked), second.asked, mail.sent) == (1, [], ["ann"])


async def test_a_denial_stays_one_and_nobody_is_asked_again(sessions: Sessions) -> None:
    mail, person = Mail(), Person()
    code = "try:\n    await mail.send('ann')\nexcept PermissionError as error:\n    why = str(error)"
    async with sessions.life(scope={"mail": mail}, approve=Person(lambda wanted: "not now").approve) as rt:
        await run(rt, code)
    async with sessions.life(scope={"mail": mail}, approve=person.approve) as rt:
        assert await value(rt, "why") == "mail.send was denied: not now"
    assert (person.asked, mail.sent) == ([], [])


@pytest.mark.parametrize(("method", "sent"), [("send", 1), ("send_once", 2)])
async def test_a_call_that_had_its_yes_and_is_in_doubt_is_not_asked_for_again(
    sessions: Sessions, method: str, sent: int
) -> None:
    mail, person = Mail(), Person()
    mail.gate.clear()
    async with sessions.life(scope={"mail": mail}, approve=yes) as rt:
        cell = asyncio.create_task(run(rt, f"await mail.{method}('ann')"))
        await asyncio.wait_for(mail.at_gate.wait(), PATIENCE_S)
        await die(sessions, cell)
    mail.gate.set()
    async with sessions.life(scope={"mail": mail}, approve=person.approve) as rt:
        outcome = await rt.outcome()
    in_doubt = isinstance(outcome.error, CodeError) and outcome.error.type == "OutcomeUnknown"
    assert (in_doubt, person.asked, len(mail.sent)) == (method == "send", [], sent)


async def test_a_fork_asks_the_same_person(sessions: Sessions) -> None:
    mail, person = Mail(), Person()
    async with sessions.life(scope={"mail": mail}, approve=person.approve) as rt:
        await value(rt, "n = await mail.send('ann')")
        async with await rt.fork(session="branch") as branch:
            assert await value(branch, "n, await mail.send('bob')") == (1, 2)
    assert [(wanted.session, wanted.arguments) for wanted in person.asked] == [("s1", "('ann')"), ("branch", "('bob')")]


async def test_a_session_with_questions_is_repeated_offline_without_asking_anybody(sessions: Sessions) -> None:
    async with sessions.life(scope={"mail": Mail()}, approve=Person().approve) as rt:
        await value(rt, LOOP)
    assert (await replay("s1", store=sessions.journal)).same


class Desk:
    """Hands out what must be asked for, so that the guest holds it without its object."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail

    @operation(reads=True)
    def sender(self) -> Any:
        return self._mail.send

    @operation(reads=True, ask=True)
    def drawer(self) -> Mail:
        return self._mail


async def test_a_function_that_came_back_from_an_earlier_process_is_not_called_without_a_yes(
    sessions: Sessions,
) -> None:
    mail, person = Mail(), Person(lambda wanted: "('cid')" not in wanted.arguments)
    scope = Scope({"desk": Desk(mail)})

    def named(function: Any) -> str:
        return function.__name__

    scope.declare("desk.sender", shown=named)
    async with sessions.life(scope=scope, approve=person.approve) as rt:
        await value(rt, "send = desk.sender()\n1")
    async with sessions.life(scope=scope, approve=person.approve) as rt:
        assert "call it once more" in await failure(rt, "await send('bob')")  # it is known when it is back
        assert (person.asked, mail.sent) == ([], [])
        assert await value(rt, "await send('bob')") == 1
        assert "was denied" in await failure(rt, "await send('cid')")
    assert ([wanted.arguments for wanted in person.asked], mail.sent) == (
        [f"('{to}') on Mail.send#2: 'send'" for to in ("bob", "cid")],
        ["bob"],
    )


async def test_an_object_that_was_asked_for_is_not_brought_back_behind_the_persons_back(sessions: Sessions) -> None:
    mail, person = Mail(), Person()
    async with sessions.life(scope={"desk": Desk(mail)}, approve=person.approve) as rt:
        await value(rt, "mine = desk.drawer()\nmine.post('ann')")
    mail = Mail()
    async with sessions.life(scope={"desk": Desk(mail)}, approve=person.approve) as rt:
        assert "HandleLost" in await failure(rt, "mine.post('bob')")
    assert (len(person.asked), mail.sent) == (1, [])


async def test_a_rule_declared_since_holds_for_a_session_that_is_resumed(sessions: Sessions) -> None:
    mail, person = Mail(), Person(lambda wanted: False)
    async with sessions.life(scope={"mail": mail}) as rt:
        await value(rt, "post = mail.post\npost('ann')")
    scope = Scope({"mail": mail})
    scope.declare("Mail.post", ask=True)
    async with sessions.life(scope=scope, approve=person.approve) as rt:
        assert "Denied" in await failure(rt, "post('bob')")
    assert (person.calls, mail.sent) == (["mail.post('bob')"], ["ann"])


async def test_without_a_journal_the_event_has_no_session() -> None:
    person = Person()
    async with Runtime({"mail": Mail()}, approve=person.approve) as rt:
        await rt.execute("await mail.send('ann')")
    assert person.asked[0].session == ""
