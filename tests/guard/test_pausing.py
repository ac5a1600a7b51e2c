"""A call that waits for a person pauses its cell: the guest is ended, and the cell goes on when it is decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S, eventually
from tests.guard.keeping import LOOP, Counted, Office, carried_on, run, waits
from tests.guard.people import Mail

from cellwright import Limits, Scope, operation
from cellwright.errors import Cancelled, CodeError, UsageError
from cellwright.events import ApprovalWanted, Event
from cellwright.guard import LATER, Approvals, decide

pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


async def test_a_loop_is_paused_at_each_call_and_every_effect_is_made_once(office: Office) -> None:
    mail, sandbox = Mail(), await Counted.make()
    async with office.open(scope={"mail": mail}, sandbox=sandbox) as rt:
        outcome = await run(rt, LOOP)
        for sent, to in enumerate(("ann", "bob", "cid")):
            assert (waits(outcome), office.waiting, sandbox.alive) == (True, [f"('{to}')"], 0)
            assert len(mail.sent) == sent
            office.say()
            outcome = await rt.outcome()
        assert (outcome.unwrap(), mail.sent, outcome.cell) == ([1, 2, 3], ["ann", "bob", "cid"], 1)
        assert (await run(rt, "said")).unwrap() == [1, 2, 3]
    await sandbox.close()


async def test_a_paused_cell_is_carried_on_by_another_process(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await run(rt, LOOP))
    assert office.store.cells("s1")[-1].status == "running"
    office.say()
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await rt.outcome())
        assert mail.sent == ["ann"]
        assert (await carried_on(rt, office)).unwrap() == [1, 2, 3]
    assert mail.sent == ["ann", "bob", "cid"]


async def test_while_a_question_is_open_no_guest_is_started_for_its_cell(office: Office) -> None:
    sandbox = await Counted.make()
    async with office.open(scope={"mail": Mail()}, sandbox=sandbox) as rt:
        first = await run(rt, LOOP)
        opened = sandbox.opened
        again = await rt.outcome()
        assert (again.waiting, str(again.error)) == (first.waiting, str(first.error))
        assert (sandbox.opened, sandbox.alive) == (opened, 0)
    await sandbox.close()


GATHER = """
import asyncio
async def other():
    await asyncio.sleep(0.01)
    return mail.post('other')
sorted(await asyncio.gather(mail.send('a'), other(), mail.send('b'), mail.send('c')))
"""


async def test_in_a_gather_several_wait_at_once_and_the_other_branch_is_not_run_again(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        outcome = await run(rt, GATHER)
        assert (waits(outcome), len(outcome.waiting), mail.sent) == (True, 3, ["other"])
        one, *rest = office.questions
        decide(office.store, one.id, yes=True)
        assert (await rt.outcome()).waiting == tuple(question.id for question in rest)
        assert mail.sent == ["other"]
        assert (await carried_on(rt, office)).unwrap() == [1, 2, 3, 4]
    assert sorted(mail.sent) == ["a", "b", "c", "other"]


async def test_a_host_call_under_way_is_awaited_before_the_pause(office: Office) -> None:
    mail = Mail()
    mail.gate.clear()

    async def slow() -> str:
        mail.sent.append("slow")
        mail.at_gate.set()
        await mail.gate.wait()
        return "slow"

    async with office.open(scope={"mail": mail, "slow": slow}) as rt:
        cell = asyncio.create_task(run(rt, "import asyncio\nawait asyncio.gather(mail.send('ann'), slow())"))
        await asyncio.wait_for(mail.at_gate.wait(), PATIENCE_S)

        async def asked() -> bool:
            return bool(office.questions)

        await eventually(asked)
        done, _ = await asyncio.wait([cell], timeout=0.6)
        assert not done
        mail.gate.set()
        assert waits(await cell)
        assert (await carried_on(rt, office)).unwrap() == [2, "slow"]
    assert mail.sent == ["slow", "ann"]


async def test_a_timeout_around_a_question_does_not_run_out_in_a_pause(office: Office) -> None:
    mail = Mail()
    code = "import asyncio, time\nbegan = time.time()\nn = await asyncio.wait_for(mail.send('ann'), 3600)\nn"
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await run(rt, code))
        assert (await carried_on(rt, office)).unwrap() == 1


async def test_a_timeout_that_runs_out_first_gives_the_question_up(office: Office) -> None:
    code = """
    import asyncio
    try:
        await asyncio.wait_for(mail.send('ann'), 0.01)
    except TimeoutError:
        said = 'too slow'
    said
    """
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        assert (await run(rt, code)).unwrap() == "too slow"
        assert (await rt.rollback(0)).left == ()
    (question,) = office.store.questions(decided=True)
    assert question.decision is not None
    assert (office.questions, question.decision.yes, mail.sent) == ([], False, [])
    assert question.decision.reason.startswith("withdrawn")


async def test_code_that_only_sleeps_meanwhile_does_not_keep_the_guest(office: Office) -> None:
    code = """
    import asyncio
    async def tick():
        while True:
            await asyncio.sleep(0.02)
    ticking = asyncio.create_task(tick())
    n = await mail.send('ann')
    ticking.cancel()
    n
    """
    async with office.open(scope={"mail": Mail()}) as rt:
        assert waits(await run(rt, code))
        assert (await carried_on(rt, office)).unwrap() == 1


async def test_code_that_computes_meanwhile_is_not_paused_until_it_is_done(office: Office) -> None:
    code = """
    import asyncio
    waiting = asyncio.create_task(mail.send('ann'))
    await asyncio.sleep(0)
    while sum(range(8_000_000)) and not done():
        pass
    await waiting
    """
    mail, looks = Mail(), iter([False] * 2)

    @operation(reads=True)
    def done() -> bool:
        return next(looks, True)

    async with office.open(scope={"mail": mail, "done": done}) as rt:
        assert waits(await run(rt, code))
    rows = [row for row in office.store.rows("s1") if row.title == "done"]
    assert rows[-1].status == "done"
    assert len(rows) == 3


async def test_a_question_below_a_host_call_that_cannot_be_made_again_waits_here(office: Office) -> None:
    mail = Mail()

    def each(f: Callable[[str], int], items: str) -> list[int]:
        mail.sent.append("each")
        return [f(item) for item in items]

    scope = Scope({"mail": mail, "each": each})
    scope.declare("mail.post", ask=True)
    async with office.open(scope=scope) as rt:
        cell = asyncio.create_task(run(rt, "each(mail.post, 'ab')"))
        for _ in "ab":

            async def asked() -> bool:
                return bool(office.questions)

            await eventually(asked)
            office.say()
        assert (await cell).unwrap() == [2, 3]
    assert mail.sent == ["each", "a", "b"]


async def test_a_question_below_a_call_that_may_be_made_again_pauses_the_cell(office: Office) -> None:
    mail = Mail()

    @operation(idempotent=True)
    async def through(f: Any) -> Any:
        return await f()

    async with office.open(scope={"mail": mail, "through": through}) as rt:
        assert waits(await run(rt, "async def f(): return await mail.send('ann')\nawait through(f)"))
        assert (await carried_on(rt, office)).unwrap() == 1
    assert mail.sent == ["ann"]


async def test_a_pause_inside_a_transaction_goes_on_in_it(office: Office) -> None:
    undone: list[str] = []

    class Book:
        def __init__(self) -> None:
            self.lines: list[str] = []

        @operation(ask=True, undo=undone.append)
        def add(self, line: str) -> str:
            self.lines.append(line)
            return line

    book = Book()
    code = "with transaction():\n    book.add('a')\n    book.add('b')\n    raise ValueError('no')"
    async with office.open(scope={"book": book}) as rt:
        assert waits(await run(rt, code))
        outcome = await carried_on(rt, office)
    assert isinstance(outcome.error, CodeError)
    assert (book.lines, undone) == (["a", "b"], ["b", "a"])


async def test_a_background_task_that_waits_pauses_the_cell_that_awaits_it(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        first = "import asyncio\ntask = asyncio.create_task(mail.send('ann'))\nawait asyncio.sleep(0)\n1"
        assert (await run(rt, first)).unwrap() == 1
        assert waits(await run(rt, "await task"))
    office.say()
    async with office.open(scope={"mail": mail}) as rt:
        assert (await rt.outcome()).unwrap() == 1
    assert mail.sent == ["ann"]


# what else is done meanwhile


async def test_no_other_cell_runs_while_one_waits_and_the_line_says_what_to_do(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, LOOP)
        with pytest.raises(UsageError, match=r"cell 1 .* waits .* mail\.send.*cellwright approve.*q-.*give_up"):
            await run(rt, "1 + 1")
        outcome = await rt.give_up()
        assert isinstance(outcome.error, Cancelled)
        assert (await run(rt, "1 + 1")).unwrap() == 2
        with pytest.raises(UsageError, match="no cell that was cut off"):
            await rt.give_up()
    assert (office.questions, mail.sent) == ([], [])


async def test_what_a_given_up_cell_asked_cannot_be_decided_any_more(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}) as rt:
        (id,) = (await run(rt, LOOP)).waiting
        await rt.give_up()
    with pytest.raises(UsageError, match="withdrawn"):
        decide(office.store, id, yes=True)


async def test_a_rollback_past_a_paused_cell_withdraws_its_questions(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, "x = 1")
        (id,) = (await run(rt, f"x = 2\n{LOOP}")).waiting
        await rt.rollback(1)
        assert (await run(rt, "x")).unwrap() == 1
    with pytest.raises(UsageError):
        decide(office.store, id, yes=True)
    assert mail.sent == []


async def test_a_rewind_past_a_paused_cell_withdraws_its_questions(office: Office) -> None:
    async with office.open(scope={"mail": Mail()}) as rt:
        await run(rt, "x = 1")
        await run(rt, f"x = 2\n{LOOP}")
        await rt.rewind(1)
        assert (office.questions, (await run(rt, "x")).unwrap()) == ([], 1)


async def test_a_fork_of_a_paused_session_has_the_state_before_the_cell_and_no_question(office: Office) -> None:
    mail = Mail()
    async with office.open(scope={"mail": mail}) as rt:
        await run(rt, "x = 1")
        await run(rt, f"x = 2\n{LOOP}")
        async with await rt.fork(session="branch") as branch:
            assert (await run(branch, "x")).unwrap() == 1
            assert office.store.questions("branch") == []
        assert (await carried_on(rt, office)).unwrap() == [1, 2, 3]


async def test_cancelling_a_cell_withdraws_what_it_asked(office: Office) -> None:
    asked = asyncio.Event()

    async def approve(wanted: ApprovalWanted) -> bool:
        asked.set()
        return await asyncio.get_running_loop().create_future()

    async with office.open(scope={"mail": Mail()}, approve=approve) as rt:
        cell = asyncio.create_task(run(rt, LOOP))
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        cell.cancel()
        await asyncio.gather(cell, return_exceptions=True)
    assert office.questions == []


async def test_the_files_of_a_paused_cell_are_as_its_code_left_them_when_it_is_over(office: Office) -> None:
    code = "open('log', 'a').write('x')\nawait mail.send('ann')\nopen('log').read()"
    async with office.open(scope={"mail": Mail()}) as rt:
        assert waits(await run(rt, code))
        assert (await carried_on(rt, office)).unwrap() == "x"


async def test_outcome_waits_for_the_decision_where_it_is_asked_to(office: Office) -> None:
    mail, sandbox = Mail(), await Counted.make()
    async with office.open(scope={"mail": mail}, sandbox=sandbox) as rt:
        await run(rt, LOOP)
        ending = asyncio.create_task(rt.outcome(wait=True))

        async def all_said() -> bool:
            assert sandbox.alive <= 1
            office.say()
            return ending.done()

        await eventually(all_said)
        assert (await ending).unwrap() == [1, 2, 3]
    await sandbox.close()
    assert mail.sent == ["ann", "bob", "cid"]


# what the model and the listener are told


async def test_the_model_is_told_that_it_waits_and_never_the_arguments(office: Office) -> None:
    heard: list[Event] = []
    async with office.open(scope={"mail": Mail()}) as rt:
        outcome = await rt.execute("await mail.send('SECRET')", on_event=heard.append)
    assert "mail.send" in str(outcome.error)
    assert "SECRET" not in repr(outcome)
    (wanted,) = [event for event in heard if isinstance(event, ApprovalWanted)]
    assert (wanted.arguments, (wanted.question,), wanted.expires) == ("('SECRET')", outcome.waiting, None)


async def test_an_approver_that_puts_it_off_pauses_the_cell_and_is_asked_again_by_the_next(office: Office) -> None:
    mail, answers, asked = Mail(), iter([LATER, LATER, True, True, True]), list[str]()

    def approve(wanted: ApprovalWanted) -> Any:
        asked.append(wanted.arguments)
        return next(answers)

    async with office.open(scope={"mail": mail}, approve=approve) as rt:
        assert waits(await run(rt, LOOP))
        assert waits(await rt.outcome())
        assert (await rt.outcome()).unwrap() == [1, 2, 3]
    assert asked == ["('ann')"] * 3 + ["('bob')", "('cid')"]


async def test_an_approver_who_takes_longer_than_wait_s_is_cancelled_and_the_cell_paused(office: Office) -> None:
    cancelled: list[str] = []

    async def approve(wanted: ApprovalWanted) -> bool:
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(wanted.arguments)
            raise

    async with office.open(scope={"mail": Mail()}, approve=approve, approvals=Approvals(wait_s=0.05)) as rt:
        assert waits(await run(rt, LOOP))
    assert cancelled == ["('ann')"]


async def test_code_that_goes_on_asking_for_other_things_is_paused_when_its_time_is_over(office: Office) -> None:
    code = """
    import asyncio
    async def look():
        while True:
            peek()
            await asyncio.sleep(0.02)
    looking = asyncio.create_task(look())
    n = await mail.send('ann')
    looking.cancel()
    n
    """

    @operation(reads=True)
    def peek() -> None: ...

    async with office.open(scope={"mail": Mail(), "peek": peek}, limits=Limits(wall_s=2, cpu_s=PATIENCE_S)) as rt:
        assert waits(await asyncio.wait_for(run(rt, code), PATIENCE_S))
        assert (await carried_on(rt, office)).unwrap() == 1


async def test_what_was_given_up_before_a_death_is_not_asked_after_it(office: Office) -> None:
    code = """
    import asyncio
    try:
        await asyncio.wait_for(mail.send('ann'), 0.01)
    except TimeoutError:
        await mail.send('bob')
    """
    async with office.open(scope={"mail": Mail()}) as rt:
        assert waits(await run(rt, code))
        rows = {row.path: row.status for row in office.store.rows("s1")}
        (given_up,) = [one for one in office.store.questions(decided=True) if rows[one.path] == "cancelled"]
    # the process died before it was withdrawn: the same question, that nobody has decided
    claim = office.store.claim("s1")
    open_still = office.store.ask(claim, replace(given_up, id="q-open", decision=None))
    office.store.release(claim)
    assert open_still.id in [one.id for one in office.questions]
    async with office.open(scope={"mail": Mail()}) as rt:
        assert waits(await rt.outcome())
        assert office.waiting == ["('bob')"]
