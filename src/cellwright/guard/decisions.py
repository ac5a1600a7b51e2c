"""Decisions on questions that wait in a store, from any process: what `cellwright approve` does, for Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from cellwright.errors import NoQuestion, UsageError
from cellwright.guard.approval_desk import once
from cellwright.guard.arguments_text import arguments_text
from cellwright.journal import WITHDRAWN, is_open
from cellwright.store import Decision, Question, Store, open_store

T = TypeVar("T")
Always = Literal["", "session", "operation"]


def open_questions(store: str | Path | Store, session: str | None = None) -> Sequence[Question]:
    """The calls that wait for a person's yes, the oldest first: in all sessions of the store, or in one."""
    return _in(store, lambda place: [one for one in place.questions(session) if is_open(place, one)])


def decide(
    store: str | Path | Store, question: str, *, yes: bool, reason: str = "", who: str = "", always: Always = ""
) -> Question:
    """Say yes or no to a question. The first one counts: `UsageError` where it is decided already, or was too late.

    `always` says the same of all later calls of that operation: "session" in this session, "operation" in every
    session of the store. Those that wait already are decided with it.
    """
    if always not in ("", "session", "operation"):
        raise UsageError(f'always={always!r}: give "session" or "operation"')
    return _in(store, lambda place: _decide(place, question, Decision(yes=yes, reason=reason, who=who, always=always)))


def _decide(store: Store, question: str, said: Decision) -> Question:
    decision = replace(said, at=time.time())
    try:
        decided = store.decide(question, decision)
    except UsageError:
        before = store.question(question).decision
        if before is None or before.who != WITHDRAWN:
            raise
        raise UsageError(f"question {question!r} was {before.reason}; nobody waits for an answer any more") from None
    if decision.always:
        for other in store.questions(decided.session if decision.always == "session" else None):
            if other.operation == decided.operation:
                with suppress(NoQuestion, UsageError):  # somebody was quicker
                    store.decide(other.id, once(decision))
    return decided


def full_arguments(store: str | Path | Store, question: Question) -> str:
    """All of a question's arguments, however long; host objects by number alone. Its own text where they are gone."""

    def read(place: Store) -> str:
        rows = place.rows(question.session, question.cell)
        found = next((row for row in rows if row.path == question.path and row.door == "host"), None)
        return (
            question.arguments
            if found is None
            else arguments_text(found.arguments, lambda n: f"object {n}", longest=None)
        )

    return _in(store, read)


def _in(store: str | Path | Store, what: Callable[[Store], T]) -> T:
    given = open_store(str(store), make=False) if isinstance(store, str | Path) else store
    with closing(given) if isinstance(store, str | Path) else nullcontext():
        return what(given)
