"""Questions, decisions and messages as texts, and back; and what is said of a question that cannot be decided."""

from __future__ import annotations

import json
import time
from dataclasses import fields, replace
from typing import Any

from cellwright.errors import NoQuestion, UsageError
from cellwright.store.encoding import COUNT, NUMBER, Body, dumps, require
from cellwright.store.rows import Decision, Message, Question

_TEXT = (str,)
_QUESTION = tuple(field.name for field in fields(Question) if field.name != "decision")
_DECISION = tuple(field.name for field in fields(Decision))
_MESSAGE = tuple(field.name for field in fields(Message) if field.name != "number")


def question_body(question: Question) -> str:
    return dumps([getattr(question, name) for name in _QUESTION])


def question_of(body: Body, decision: Body | None) -> Question:
    """The question that `question_body` made this of, with what was said to it."""
    found: dict[str, Any] = dict(zip(_QUESTION, json.loads(body), strict=True))
    require(found, id=_TEXT, session=_TEXT, path=_TEXT, operation=_TEXT, arguments=_TEXT)
    require(found, cell=COUNT, line=COUNT, asked=NUMBER, expires=(*NUMBER, type(None)))
    return Question(**found, decision=None if decision is None else decision_of(decision))


def decision_body(decision: Decision) -> str:
    return dumps([getattr(decision, name) for name in _DECISION])


def decision_of(body: Body) -> Decision:
    found: dict[str, Any] = dict(zip(_DECISION, json.loads(body), strict=True))
    require(found, yes=(bool,), reason=_TEXT, who=_TEXT, at=NUMBER, always=_TEXT)
    return Decision(**found)


def message_body(message: Message) -> str:
    return dumps([getattr(message, name) for name in _MESSAGE])


def message_of(number: int, body: Body) -> Message:
    found: dict[str, Any] = dict(zip(_MESSAGE, json.loads(body), strict=True))
    require(found, kind=_TEXT, text=_TEXT, who=_TEXT, at=NUMBER)
    return Message(**found, number=number)


def is_late(question: Question, now: float) -> bool:
    return question.expires is not None and question.expires <= now


def check_open(question: Question, now: float) -> None:
    """`UsageError` where it is decided, or was too late."""
    said = question.decision
    if said is not None:
        who = f" by {said.who}" if said.who else ""
        raise UsageError(
            f"question {question.id!r} is decided already: {'yes' if said.yes else 'no'}{who}, at {_moment(said.at)}"
        )
    if is_late(question, now):
        until = _moment(question.expires or 0.0)
        raise UsageError(f"question {question.id!r} is not asked any more: it was to be decided until {until}")


def signed(decision: Decision, now: float) -> Decision:
    """With its time."""
    return decision if decision.at else replace(decision, at=now)


def no_question(question: str) -> NoQuestion:
    return NoQuestion(f"the journal has no question {question!r}")


def _moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    except (ValueError, OverflowError, OSError):
        return repr(at)
