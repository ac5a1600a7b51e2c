"""Questions and messages in PostgreSQL. Nothing that was said is changed: a grant is taken back by a row of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.errors import UsageError
from cellwright.store import asking, encoding
from cellwright.store.postgres_claims import PostgresClaims
from cellwright.store.postgres_database import CLOCK, no_session
from cellwright.store.postgres_failures import told
from cellwright.store.postgres_schema import safe
from cellwright.store.rows import Claim, Decision, Message, Question
from cellwright.store.standing import asked, decided

QUESTION = "select q.body, d.body from questions q left join decisions d on d.question = q.n"
UNDECIDED = f"d.question is null and (q.expires is null or q.expires > {CLOCK})"
ASK = (
    "insert into questions (id, session, asked, expires, body) values (%s, %s, %s, %s, %s) on conflict (id) do nothing"
)
ANYWHERE = 0  # the session of a grant that is for all


class PostgresDeciding(PostgresClaims):
    """See `Deciding` and `Inbox`."""

    @told
    def ask(self, claim: Claim, question: Question) -> Question:
        body = asking.question_body(replace(question, decision=None))

        def work() -> Question:
            number = self._holder(claim).number
            sql = "select state from sessions where n = %s and epoch = %s for no key update"
            found = self._link.fetch(sql, number, claim.epoch)
            if not found:
                raise self._fenced(claim)
            new = self._link.run(ASK, safe(question.id), number, question.asked, question.expires, body).rowcount
            told = self._question(question.id)
            if told.session != claim.session:
                raise UsageError(f"there is a question {question.id!r} of another session already; give it another id")
            if new:
                self._link.run("update sessions set state = %s where n = %s", asked(found[0][0]), number)
            return told

        return self._link.transact(work, made=lambda: None)  # to ask again changes nothing

    @told
    def decide(self, question: str, decision: Decision) -> Question:
        signed = decision

        def work() -> Question:
            nonlocal signed
            # Who comes second waits here, and sees what the first one said.
            sql = f"select n, session, {CLOCK} from questions where id = %s for update"
            found = self._link.fetch(sql, safe(question))
            if not found:
                raise asking.no_question(question)
            ((number, session, now),) = found
            asking.check_open(self._question(question), now)
            signed = asking.signed(decision, now)
            body = asking.decision_body(signed)
            self._link.run("insert into decisions values (%s, %s)", number, body)
            told = self._question(question)
            if decision.always:
                of = session if decision.always == "session" else ANYWHERE
                self._grant(told.operation, of, body)
            self._decided(session)
            return told

        def made() -> Question | None:
            told = self._question(question)
            return told if told.decision == signed else None

        return self._link.transact(work, made=made)

    def _decided(self, session: int) -> None:
        """The session waits no more, if that was the last question."""
        # Its row first: two people may decide its last two questions at once.
        for (state,) in self._link.fetch("select state from sessions where n = %s for no key update", session):
            left = self._link.fetch(
                "select 1 from questions q left join decisions d on d.question = q.n "
                f"where q.session = %s and {UNDECIDED} limit 1",
                session,
            )
            self._link.run("update sessions set state = %s where n = %s", decided(state, bool(left)), session)

    @told
    def question(self, question: str) -> Question:
        return self._link.reading(lambda: self._question(question))

    @told
    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]:
        terms: list[str] = [] if decided else [UNDECIDED]
        values: list[Any] = []
        if session is not None:
            terms.append("q.session = (select n from sessions where id = %s)")
            values.append(safe(session))
        where = f"where {' and '.join(terms)}" if terms else ""
        found = self._link.read(f"{QUESTION} {where} order by q.asked, q.n", *values)
        with encoding.reading(session or ""):
            return [asking.question_of(body, said) for body, said in found]

    @told
    def granted(self, session: str, operation: str) -> Decision | None:
        def work() -> str | None:
            number = self._number(session) or ANYWHERE
            return self._granted(operation, number) or self._granted(operation, ANYWHERE)

        body = self._link.reading(work)
        with encoding.reading(session):
            return None if body is None else asking.decision_of(body)

    @told
    def revoke(self, session: str, operation: str) -> bool:
        def work() -> bool:
            number = self._number(session) or ANYWHERE
            said = [of for of in {number, ANYWHERE} if self._granted(operation, of) is not None]
            for of in said:
                self._grant(operation, of, None)
            return bool(said)

        return self._link.transact(work, made=lambda: None)

    def _grant(self, operation: str, session: int, body: str | None) -> None:
        sql = "insert into grants (operation, session, body) values (%s, %s, %s)"
        self._link.run(sql, safe(operation), session, body)

    def _granted(self, operation: str, session: int) -> str | None:
        """What was said last; None where that was taken back."""
        sql = "select body from grants where operation = %s and session = %s order by n desc limit 1"
        found = self._link.fetch(sql, safe(operation), session)
        return found[0][0] if found else None

    def _question(self, question: str) -> Question:
        found = self._link.fetch(f"{QUESTION} where q.id = %s", safe(question))
        if not found:
            raise asking.no_question(question)
        with encoding.reading(question):
            return asking.question_of(*found[0])

    # messages

    @told
    def post(self, session: str, message: Message) -> Message:
        sql = (
            "insert into inbox (session, body) select s.n, %s from sessions s where s.id = %s for key share returning n"
        )

        def work() -> Message:
            ((now,),) = self._link.fetch(f"select {CLOCK}")
            sent = replace(message, at=message.at or now)
            found = self._link.fetch(sql, asking.message_body(sent), safe(session))
            if not found:
                raise no_session(session)
            return replace(sent, number=found[0][0])

        return self._link.transact(work)

    @told
    def inbox(self, session: str) -> Sequence[Message]:
        sql = "select i.n, i.body from sessions s left join inbox i on i.session = s.n where s.id = %s order by i.n"
        found = self._link.read(sql, safe(session))
        if not found:
            raise no_session(session)
        with encoding.reading(session):
            return [asking.message_of(number, body) for number, body in found if body is not None]
