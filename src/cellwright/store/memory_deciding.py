"""Questions and messages in `MemoryStore`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cellwright.errors import UsageError
from cellwright.store import asking, standing
from cellwright.store.memory_sessions import MemorySessions
from cellwright.store.rows import Claim, Decision, Message, Question


class MemoryDeciding(MemorySessions):
    """See `Deciding` and `Inbox`."""

    def __init__(self) -> None:
        super().__init__()
        self._questions: dict[str, Question] = {}
        self._grants: dict[tuple[str, str], Decision] = {}  # by session, "" for any, and operation
        self._posted = 0

    def ask(self, claim: Claim, question: Question) -> Question:
        body = asking.question_body(replace(question, decision=None))
        with self._lock:
            session = self._claimed(claim)
            known = self._questions.get(question.id)
            if known is None:
                known = self._questions[question.id] = asking.question_of(body, None)
                session.standing = replace(session.standing, state=standing.asked(session.standing.state))
            if known.session != claim.session:
                raise UsageError(f"there is a question {question.id!r} of another session already; give it another id")
            return known

    def decide(self, question: str, decision: Decision) -> Question:
        with self._lock:
            asked, now = self.question(question), self.clock()
            asking.check_open(asked, now)
            said = asking.decision_of(asking.decision_body(asking.signed(decision, now)))
            told = self._questions[question] = replace(asked, decision=said)
            if said.always:
                of = asked.session if said.always == "session" else ""
                self._grants[of, asked.operation] = said
            session = self._known(asked.session)
            state = standing.decided(session.standing.state, left=bool(self.questions(asked.session)))
            session.standing = replace(session.standing, state=state)
            return told

    def question(self, question: str) -> Question:
        with self._lock:
            if question not in self._questions:
                raise asking.no_question(question)
            return self._questions[question]

    def questions(self, session: str | None = None, *, decided: bool = False) -> Sequence[Question]:
        now = self.clock()
        with self._lock:
            found = [one for one in self._questions.values() if session in (None, one.session)]
        wanted = [one for one in found if decided or (one.decision is None and not asking.is_late(one, now))]
        return sorted(wanted, key=lambda one: one.asked)

    def granted(self, session: str, operation: str) -> Decision | None:
        with self._lock:
            return self._grants.get((session, operation)) or self._grants.get(("", operation))

    def revoke(self, session: str, operation: str) -> bool:
        with self._lock:
            said = [self._grants.pop((of, operation), None) for of in (session, "")]
        return any(said)

    def _forget_questions(self, session: str) -> None:
        self._questions = {id: one for id, one in self._questions.items() if one.session != session}
        self._grants = {key: said for key, said in self._grants.items() if key[0] != session}

    # messages

    def post(self, session: str, message: Message) -> Message:
        body = asking.message_body(replace(message, at=message.at or self.clock()))
        with self._lock:
            found = self._known(session)
            self._posted += 1
            found.inbox[self._posted] = asking.message_of(self._posted, body)
            return found.inbox[self._posted]

    def inbox(self, session: str) -> Sequence[Message]:
        with self._lock:
            return list(self._known(session).inbox.values())
