"""Questions and messages in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.store.codec import DECISIONS, MESSAGES, decoding
from cellwright.store.entry_codec import question_of
from cellwright.store.rows import Decision, Message, Question
from cellwright.store.session_state import decided
from cellwright.store.sql_database import ANYWHERE, QUESTION, check_open, signed
from cellwright.store.sqlite_database import SqliteDatabase, storable


class SqliteQuestions(SqliteDatabase):
    """See `QuestionStore` and `SessionInbox`."""

    def decide(self, question: str, decision: Decision) -> Question:
        with self._transaction():
            now = self.clock()
            check_open(self._question(question), now)
            ((number, session),) = self._fetch("select n, session from questions where id = ?", storable(question))
            body = DECISIONS.body(signed(decision, now))
            self._run("insert into decisions values (?, ?)", number, body)
            self._run("update questions set decided = 1 where n = ?", number)
            decided_question = self._question(question)
            if decision.always:
                self._grant(decided_question.operation, session if decision.always == "session" else ANYWHERE, body)
            sql = (
                "select 1 from questions where session = ? and decided = 0 and (expires is null or expires > ?) limit 1"
            )
            left = bool(self._fetch(sql, session, now))
            ((state,),) = self._fetch("select state from sessions where n = ?", session)
            self._run("update sessions set state = ? where n = ?", decided(state, left), session)
        return decided_question

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
        with decoding(session or ""):
            return [question_of(body, decision) for body, decision in found]

    def granted(self, session: str, operation: str) -> Decision | None:
        with self._reading():
            body = self._granted_in(session, operation)
        with decoding(session):
            return None if body is None else DECISIONS.of_body(body)

    def revoke(self, session: str, operation: str) -> bool:
        with self._transaction():
            return self._revoke(session, operation)

    # messages

    def post(self, session: str, message: Message) -> Message:
        message = replace(message, at=message.at or self.clock())
        with self._transaction():
            number = self._known(session)
            insert = "insert into inbox (session, body) values (?, ?)"
            given = self._connection.execute(insert, (number, MESSAGES.body(message))).lastrowid
        return replace(message, number=given or 0)

    def inbox(self, session: str) -> Sequence[Message]:
        with self._reading():
            found = self._fetch("select n, body from inbox where session = ? order by n", self._known(session))
        with decoding(session):
            return [MESSAGES.of_body(body, number) for number, body in found]
