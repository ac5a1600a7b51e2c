"""Promises about questions, grants and messages."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace
from typing import Any

from cellwright.errors import Fenced, NoQuestion, NoSession, UsageError
from cellwright.store import CellRow, Claim, Decision, Message, Note, Question, Store, TurnRow
from cellwright.testing.samples import LONE, PATIENCE_S, expect, expect_refused, facts, row
from cellwright_guest.wire import Packed


def _question(claim: Claim, **fields: Any) -> Question:
    known: dict[str, Any] = {"id": uuid.uuid4().hex, "session": claim.session, "cell": 1, "path": "1/a"}
    known |= {"operation": "crm.delete", "arguments": "(7)", "asked": 1.5}
    return Question(**known | fields)


def a_question_is_asked_once(journal: Store) -> None:
    """a question is written down once, comes back as it was, and with its decision when it has one."""
    claim, other = journal.create(facts()), journal.create(facts())
    one = _question(claim, arguments=LONE * 3000, operation=LONE, line=3, path=LONE)
    expect(journal.ask(claim, one), one)
    expect(journal.ask(claim, replace(one, arguments="others")), one)
    expect(journal.question(one.id), one)
    expect_refused(UsageError, lambda: journal.ask(other, one))
    said = Decision(yes=False, reason=LONE, who="ada", at=5.5)
    expect(journal.decide(one.id, said), replace(one, decision=said))
    expect(journal.ask(claim, one).decision, said)
    expect(journal.question(one.id).decision, said)
    expect_refused(NoQuestion, lambda: journal.question("no such question"))
    expect_refused(NoQuestion, lambda: journal.decide("no such question", said))
    journal.claim(claim.session)
    expect_refused(Fenced, lambda: journal.ask(claim, _question(claim)))


def a_question_is_written_with_its_row(journal: Store) -> None:
    """`write` takes a question with the changes before and after it: all are written, or none."""
    claim, other = journal.create(facts()), journal.create(facts())
    id, one, bad = claim.session, _question(claim), row(1, "b", value=Packed(object(), []))
    journal.write(claim, TurnRow(number=1, task="a task"), CellRow(number=1, code="x"))
    for wrong in ((row(1, "a"), one, bad), (bad, one), (row(1, "a"), _question(other))):
        expect_refused(UsageError, lambda wrong=wrong: journal.write(claim, *wrong))
    expect((len(journal.rows(id)), len(journal.questions(id)), journal.summary(id).state), (0, 0, "running"))
    asked = row(1, "a", status="asked")
    expect(journal.write(claim, asked, one) > len(one.arguments), True)
    expect((list(journal.rows(id)), journal.question(one.id)), ([asked], one))
    expect((journal.summary(id).state, len(journal.entries(id))), ("waiting", 3))  # a question is no entry
    said = journal.decide(one.id, Decision(yes=True, at=2.5))
    journal.write(claim, row(1, "a", status="started"), replace(one, arguments="others"), row(1, "c"))
    expect((journal.question(one.id), journal.summary(id).state), (said, "running"))
    expect([each.path for each in journal.rows(id)], ["1/a", "1/c"])
    expect_refused(UsageError, lambda: journal.write(other, row(1, "a"), replace(one, session=other.session)))
    journal.claim(id)
    expect_refused(Fenced, lambda: journal.write(claim, row(1, "d"), _question(claim)))
    expect(
        (len(journal.rows(id)), len(journal.questions(id, decided=True)), len(journal.rows(other.session))), (2, 1, 0)
    )


def the_first_decision_counts(journal: Store) -> None:
    """of two who decide at once one decides, and the other is told UsageError; nothing said is changed."""
    claim = journal.create(facts())
    asked = journal.ask(claim, _question(claim))
    told: list[object] = []

    def decide(number: int) -> None:
        try:
            told.append(journal.decide(asked.id, Decision(yes=bool(number % 2), who=f"person {number}")).decision)
        except UsageError as refused:
            told.append(refused)

    threads = [threading.Thread(target=decide, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    decisions = [one for one in told if isinstance(one, Decision)]
    expect((len(told), len(decisions)), (4, 1))
    expect(journal.question(asked.id).decision, decisions[0])
    expect(decisions[0].at > 1e9, True)  # it has a time, though nobody gave one
    try:
        journal.decide(asked.id, Decision(yes=True))
    except UsageError as refused:
        expect(decisions[0].who in str(refused), True)


def what_is_too_late_is_not_decided(journal: Store) -> None:
    """a question that has expired is not among those to decide, and is not decided."""
    claim = journal.create(facts())
    late = journal.ask(claim, _question(claim, expires=time.time() - 60))
    early = journal.ask(claim, _question(claim, expires=time.time() + 3600))
    expect_refused(UsageError, lambda: journal.decide(late.id, Decision(yes=True)))
    expect(journal.question(late.id).decision, None)
    expect([one.id for one in journal.questions(claim.session)], [early.id])
    journal.decide(early.id, Decision(yes=True, at=1.0))
    expect(list(journal.questions(claim.session)), list[Question]())
    both = journal.questions(claim.session, decided=True)
    expect({one.id for one in both}, {late.id, early.id})


def questions_are_the_oldest_first(journal: Store) -> None:
    """the questions of a session or of all come the oldest first, without those that are decided."""
    claim, other = journal.create(facts()), journal.create(facts())
    times = [(claim, 3.0), (other, 1.0), (claim, 2.0), (other, 4.0)]
    ids = [journal.ask(of, _question(of, asked=at)).id for of, at in times]
    mine = [one.id for one in journal.questions() if one.id in ids]
    expect(mine, [ids[1], ids[2], ids[0], ids[3]])
    expect([one.id for one in journal.questions(claim.session)], [ids[2], ids[0]])
    journal.decide(ids[2], Decision(yes=True))
    expect([one.id for one in journal.questions(claim.session)], [ids[0]])
    expect([one.id for one in journal.questions(claim.session, decided=True)], [ids[2], ids[0]])
    expect(list(journal.questions("no such session")), list[Question]())


def a_session_that_asks_waits(journal: Store) -> None:
    """a session that runs is waiting from the question on, until all are decided or it goes on."""
    claim = journal.create(facts())

    def state() -> str:
        return journal.summary(claim.session).state

    journal.write(claim, TurnRow(number=1, task="a task"), CellRow(number=1, code="x"))
    one, two = journal.ask(claim, _question(claim)), journal.ask(claim, _question(claim))
    expect(state(), "waiting")
    expect(claim.session in [one.id for one in journal.summaries(state="waiting")], True)
    journal.decide(one.id, Decision(yes=True))
    expect(state(), "waiting")
    journal.decide(two.id, Decision(yes=False))
    expect(state(), "running")
    three = journal.ask(claim, _question(claim))
    journal.write(claim, CellRow(number=1, code="x", status="done"))
    expect(state(), "running")
    journal.write(claim, TurnRow(number=1, task="a task", status="waiting"))
    journal.decide(three.id, Decision(yes=True))
    expect(state(), "waiting")  # as the turn says


def always_is_remembered(journal: Store) -> None:
    """a decision that says always is found for that operation, here or everywhere, until it is revoked."""
    claim, other = journal.create(facts()), journal.create(facts())
    here, there = claim.session, other.session
    one, two = f"op {uuid.uuid4()}", f"op {LONE}{uuid.uuid4()}"
    expect(journal.granted(here, one), None)
    journal.decide(journal.ask(claim, _question(claim, operation=one)).id, Decision(yes=True, who="ada"))
    expect(journal.granted(here, one), None)

    def said(of: Claim, operation: str, **fields: Any) -> Decision:
        known: dict[str, Any] = {"yes": True, "at": 3.5, "who": "ada"}
        decision = Decision(**known | fields)
        return journal.decide(journal.ask(of, _question(of, operation=operation)).id, decision).decision or decision

    first = said(claim, one, always="session")
    expect((journal.granted(here, one), journal.granted(there, one)), (first, None))
    second = said(other, one, always="operation", yes=False)
    expect((journal.granted(here, one), journal.granted(there, one)), (first, second))
    third = said(claim, one, always="session", yes=False, reason="not any more")
    expect(journal.granted(here, one), third)
    expect((journal.revoke(here, two), journal.revoke(here, one), journal.revoke(here, one)), (False, True, False))
    expect((journal.granted(here, one), journal.granted(there, one)), (None, None))
    fourth = said(claim, two, always="operation")
    expect((journal.granted(there, two), journal.granted("no such session", two)), (fourth, fourth))
    journal.forget(here)
    expect(journal.granted(there, two), fourth)
    expect((journal.revoke(there, two), journal.granted(there, two)), (True, None))


def messages_wait_until_they_are_taken_up(journal: Store) -> None:
    """messages wait in the order in which they came, until a note takes one up."""
    claim, other = journal.create(facts()), journal.create(facts())
    first = journal.post(claim.session, Message(kind="add", text=LONE, who=LONE, at=1.5))
    journal.post(other.session, Message(kind="ask", text="?"))
    second = journal.post(claim.session, Message(kind="cancel", at=1.0))
    expect(list(journal.inbox(claim.session)), [first, second])
    expect((first.text, first.kind, first.at, first.number < second.number), (LONE, "add", 1.5, True))
    expect(journal.inbox(other.session)[0].at > 1e9, True)
    journal.write(other, Note(kind="message", about=str(first.number)))  # not its own
    journal.write(claim, Note(kind="decided", about=str(first.number)), Note(kind="message", about="nothing"))
    expect(len(journal.inbox(claim.session)), 2)
    journal.write(claim, Note(kind="message", about=str(first.number), text=LONE))
    expect(list(journal.inbox(claim.session)), [second])
    newer = journal.claim(claim.session)
    expect_refused(Fenced, lambda: journal.write(claim, Note(kind="message", about=str(second.number))))
    expect(list(journal.inbox(claim.session)), [second])
    journal.write(newer, Note(kind="message", about=str(second.number)))
    third = journal.post(claim.session, Message(kind="stop"))
    expect((list(journal.inbox(claim.session)), third.number > second.number), ([third], True))
    expect_refused(NoSession, lambda: journal.post("no such session", Message(kind="add")))
