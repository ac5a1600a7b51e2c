"""`Questions`: what a session asks people, in the store. Asks nobody itself, and knows no guest."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from cellwright.errors import NoQuestion, UsageError
from cellwright.events import Event
from cellwright.store import Decision, Question, Store, Summary

WITHDRAWN = "cellwright"  # who says no to what nobody waits for any more
ID = 20  # hexadecimal digits: 2^40 calls until two have the same, and then their paths are compared


class Asker(Protocol):
    """Who can ask a person without a guest.

    `asked` asks about these questions and gives those that are open still; with `wait`, none is: it waits until
    each is decided, by whomever, or too late. `decided` waits for that alone, and asks nobody.
    """

    async def asked(
        self, questions: Sequence[Question], tell: Callable[[Event], None] | None, *, wait: bool
    ) -> Sequence[Question]: ...
    async def decided(self, question: Question) -> Question: ...


def question_id(secret: str, path: str, key: str) -> str:
    """The same for the same call of the same session, however often it is repeated; of no other."""
    text = f"{secret}\0{path}\0{key}".encode("utf-8", "surrogatepass")
    return f"q-{hashlib.sha256(text).hexdigest()[:ID]}"


def is_late(question: Question) -> bool:
    return question.expires is not None and question.expires <= time.time()


def is_open(store: Store, question: Question) -> bool:
    """Whether it still waits: not decided, nor too late, nor what somebody has said of such calls for good."""
    if question.decision is not None or is_late(question):
        return False
    return store.granted(question.session, question.operation) is None


def open_in(store: Store, session: str) -> list[Question]:
    """The open questions of a session, and of those whose agents its code spawned."""
    found = [*store.questions(session)]
    for child in _below(store, session):
        found += store.questions(child.id)
    return [one for one in found if is_open(store, one)]


def _below(store: Store, session: str) -> list[Summary]:
    family = store.family(session)
    found, last = list[Summary](), {session}
    while last:
        new = [one for one in family if one.child_of in last and one not in found]
        last = {one.id for one in new}
        found += sorted(new, key=lambda one: one.id)
    return found


def withdraw(store: Store, questions: Sequence[Question], why: str) -> None:
    """Nobody waits for these any more, so nobody can say yes to them."""
    for question in questions:
        try:
            store.decide(question.id, Decision(yes=False, reason=f"withdrawn: {why}", who=WITHDRAWN, at=time.time()))
        except (NoQuestion, UsageError):
            continue  # it was decided meanwhile, was too late, or went with its session


def withdraw_of_lost_cells(store: Store, session: str, why: str = "its cell was ended, or taken back") -> None:
    """Withdraw what cells asked that are not part of the session's state any more, and what their code gave up.

    Also what is asked in sessions below it, whose agents such a cell spawned: nobody carries these on.
    """
    own = store.questions(session)
    begun = [(child.created, found) for child in _below(store, session) if (found := store.questions(child.id))]
    if not own and not begun:
        return
    cells = store.cells(session)
    lost = {cell.number for cell in cells if cell.status == "ended" or cell.undone}
    asked = [one for one in own if one.cell in lost]
    for at, found in begun:
        asked += found if max((cell.number for cell in cells if cell.at <= at), default=0) in lost else []
    withdraw(store, asked, why)
    given_up = {row.path for row in store.rows(session) if row.status == "cancelled"} if own else ()  # and then it died
    withdraw(store, [one for one in own if one.path in given_up], "the code did not wait for it")
