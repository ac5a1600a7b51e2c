"""Questions and messages in `SqliteStore`. What was said stays: a grant is taken back by a row of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.errors import UsageError
from cellwright.store import asking, encoding
from cellwright.store.encoding import restored, storable
from cellwright.store.rows import Claim, Decision, Message, Question
from cellwright.store.sqlite_claims import SqliteClaims
from cellwright.store.standing import asked, decided

QUESTION = "select q.body, d.body from questions q left join decisions d on d.question = q.n"


class SqliteDeciding(SqliteClaims):
    """See `Deciding` and `Inbox`."""

    def ask(self, claim: Claim, question: Question) -> Question:
        body = asking.question_body(replace(question, decision=None))
        with self._transaction():
            number = self._holder(claim).number
            found = self._fetch("select state from sessions where n = ? and epoch = ?", number, storable(claim.epoch))
            if not found:
                raise self._fenced(claim)
            new = self._run(
                "insert or ignore into questions (id, session, asked, expires, body) values (?, ?, ?, ?, ?)",
                *(question.id, number, question.asked, question.expires, body),
            )
            told = self._question(question.id)
            if told.session != claim.session:
                raise UsageError(f"there is a question {question.id!r} of another session already; give it another id")
            if new:
                self._run("update sessions set state = ? where n = ?", asked(found[0][0]), number)
        return told

    def decide(self, question: str, decision: Decision) -> Question:
        with self._transaction():
            now = self.clock()
            asking.check_open(self._question(question), now)
            ((number, session),) = self._fetch("select n, session from questions where id = ?", storable(question))
            body = asking.decision_body(asking.signed(decision, now))
            self._run("insert into decisions values (?, ?)", number, body)
            self._run("update questions set decided = 1 where n = ?", number)
            told = self._question(question)
            if decision.always:
                of = session if decision.always == "session" else 0
                sql = "insert into grants (operation, session, body) values (?, ?, ?)"
                self._run(sql, told.operation, of, body)
            sql = (
                "select 1 from questions where session = ? and decided = 0 and (expires is null or expires > ?) limit 1"
            )
            left = bool(self._fetch(sql, session, now))
            ((state,),) = self._fetch("select state from sessions where n = ?", session)
            self._run("update sessions set state = ? where n = ?", decided(state, left), session)
        return told

    def question(self, question: str) -> Question:
        with self._reading():
            return self._question(question)

    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]:
        terms: list[str] = [] if decided else ["q.decided = 0 and (q.expires is null or q.expires > ?)"]
        values: list[Any] = [] if decided else [self.clock()]
        with self._reading():
            if session is not None:
                terms.append("q.session = ?")
                values.append(self._number(session) or 0)
            where = f"where {' and '.join(terms)}" if terms else ""
            found = self._fetch(f"{QUESTION} {where} order by q.asked, q.n", *values)
        with encoding.reading(session or ""):
            return [asking.question_of(body, said) for body, said in found]

    def granted(self, session: str, operation: str) -> Decision | None:
        with self._reading():
            body = self._grant(operation, self._number(session) or 0) or self._grant(operation, 0)
        with encoding.reading(session):
            return None if body is None else asking.decision_of(body)

    def revoke(self, session: str, operation: str) -> bool:
        with self._transaction():
            number = self._number(session) or 0
            said = [of for of in {number, 0} if self._grant(operation, of) is not None]
            for of in said:
                self._run("insert into grants (operation, session, body) values (?, ?, null)", operation, of)
        return bool(said)

    def _grant(self, operation: str, session: int) -> Any:
        """What was said last; None where that was taken back."""
        sql = "select body from grants where operation = ? and session = ? order by n desc limit 1"
        found = self._fetch(sql, storable(operation), session)
        return found[0][0] if found else None

    def _question(self, question: str) -> Question:
        found = self._fetch(f"{QUESTION} where q.id = ?", storable(question))
        if not found:
            raise asking.no_question(question)
        with encoding.reading(restored(question)):
            return asking.question_of(*found[0])

    # messages

    def post(self, session: str, message: Message) -> Message:
        message = replace(message, at=message.at or self.clock())
        with self._transaction():
            number = self._known(session)
            insert = "insert into inbox (session, body) values (?, ?)"
            given = self._connection.execute(insert, (number, asking.message_body(message))).lastrowid
        return replace(message, number=given or 0)

    def inbox(self, session: str) -> Sequence[Message]:
        with self._reading():
            found = self._fetch("select n, body from inbox where session = ? order by n", self._known(session))
        with encoding.reading(session):
            return [asking.message_of(number, body) for number, body in found]
