"""Questions and messages in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cellwright.store.codec import DECISIONS, MESSAGES, decoding
from cellwright.store.entry_codec import question_of
from cellwright.store.postgres_database import CLOCK, PostgresDatabase
from cellwright.store.postgres_failures import reports_failures
from cellwright.store.postgres_schema import safe
from cellwright.store.rows import Decision, Message, Question
from cellwright.store.session_state import decided
from cellwright.store.sql_database import ANYWHERE, QUESTION, check_open, no_question, no_session, signed

UNDECIDED = f"d.question is null and (q.expires is null or q.expires > {CLOCK})"


class PostgresQuestions(PostgresDatabase):
    """See `QuestionStore` and `SessionInbox`."""

    @reports_failures
    def decide(self, question: str, decision: Decision) -> Question:
        written = decision

        def work() -> Question:
            nonlocal written
            # The second of two people who decide at once waits here, and sees the first decision.
            sql = f"select n, session, {CLOCK} from questions where id = %s for update"
            found = self._link.fetch(sql, safe(question))
            if not found:
                raise no_question(question)
            ((number, session, now),) = found
            check_open(self._question(question), now)
            written = signed(decision, now)
            body = DECISIONS.body(written)
            self._link.run("insert into decisions values (%s, %s)", number, body)
            decided_question = self._question(question)
            if decision.always:
                of = session if decision.always == "session" else ANYWHERE
                self._grant(decided_question.operation, of, body)
            self._decided(session)
            return decided_question

        def made() -> Question | None:
            known = self._question(question)
            return known if known.decision == written else None

        return self._link.transact(work, made=made)

    def _decided(self, session: int) -> None:
        """The session no longer waits, if that was its last open question."""
        # Lock the session first: two people may decide its last two questions at once.
        for (state,) in self._link.fetch("select state from sessions where n = %s for no key update", session):
            left = self._link.fetch(
                "select 1 from questions q left join decisions d on d.question = q.n "
                f"where q.session = %s and {UNDECIDED} limit 1",
                session,
            )
            self._link.run("update sessions set state = %s where n = %s", decided(state, bool(left)), session)

    @reports_failures
    def question(self, question: str) -> Question:
        return self._link.reading(lambda: self._question(question))

    @reports_failures
    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]:
        terms: list[str] = [] if decided else [UNDECIDED]
        values: list[Any] = []
        if session is not None:
            terms.append("q.session = (select n from sessions where id = %s)")
            values.append(safe(session))
        where = f"where {' and '.join(terms)}" if terms else ""
        found = self._link.read(f"{QUESTION} {where} order by q.asked, q.n", *values)
        with decoding(session or ""):
            return [question_of(body, decision) for body, decision in found]

    @reports_failures
    def granted(self, session: str, operation: str) -> Decision | None:
        body = self._link.reading(lambda: self._granted_in(session, operation))
        with decoding(session):
            return None if body is None else DECISIONS.of_body(body)

    @reports_failures
    def revoke(self, session: str, operation: str) -> bool:
        return self._link.transact(lambda: self._revoke(session, operation), made=lambda: None)

    # messages

    @reports_failures
    def post(self, session: str, message: Message) -> Message:
        sql = (
            "insert into inbox (session, body) select s.n, %s from sessions s where s.id = %s for key share returning n"
        )

        def work() -> Message:
            ((now,),) = self._link.fetch(f"select {CLOCK}")
            sent = replace(message, at=message.at or now)
            found = self._link.fetch(sql, MESSAGES.body(sent), safe(session))
            if not found:
                raise no_session(session)
            return replace(sent, number=found[0][0])

        return self._link.transact(work)

    @reports_failures
    def inbox(self, session: str) -> Sequence[Message]:
        sql = "select i.n, i.body from sessions s left join inbox i on i.session = s.n where s.id = %s order by i.n"
        found = self._link.read(sql, safe(session))
        if not found:
            raise no_session(session)
        with decoding(session):
            return [MESSAGES.of_body(body, number) for number, body in found if body is not None]
