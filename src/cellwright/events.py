"""What a running turn and its cells say while they run: one typed union, told in order.

Each event says when (`at`, seconds since the epoch) and where: the session, the turn in it, the step in that. A cell
that is run without an agent has no turn and no step. `tell` calls a listener.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from cellwright.messages import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class EventFields:
    """What every event has."""

    at: float = field(default_factory=time.time)
    session: str = ""
    turn: int = 0
    step: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnStarted(EventFields):
    """A task was set."""

    task: str
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeChosen(EventFields):
    """Whether the model is to write code, to call functions one by one, or may do both; and why."""

    mode: Literal["code", "direct", "both"]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned(EventFields):
    """A plan was made, or made anew: each line is a sub-goal and what serves it."""

    lines: tuple[str, ...]
    revision: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPiece(EventFields):
    """Part of the model's text, as it arrives. `restart`: the reply begins anew, its pieces so far do not count."""

    text: str
    restart: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Replied(EventFields):
    """The model's whole reply, without its calls."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CodePiece(EventFields):
    """Part of the code that the model writes, as it arrives. `restart`: as in a `TextPiece`; each is told of it."""

    text: str
    restart: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeReady(EventFields):
    """The model has written a cell; it is checked and run now."""

    code: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Printed(EventFields):
    """Text that the cell wrote to stdout or stderr, as it arrives."""

    cell: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStarted(EventFields):
    """The cell asked for something outside; the call is under way."""

    cell: int
    call: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFinished(EventFields):
    """The answer is on its way to the cell."""

    cell: int
    call: int
    name: str
    duration_s: float
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalWanted(EventFields):
    """A call waits for a person's yes. `arguments` is for that person; the model sees only that it waits.

    `question` is its id in the store, "" where the session is kept in none; `expires` when it is too late for a yes.
    `why` says in a sentence what is unusual about the call, or why the policy asks. `flow` is what a yes for always is
    for where the guard of the data flow asks: the operation and where it leads; "" elsewhere.
    """

    cell: int
    call: int
    name: str
    arguments: str
    question: str = ""
    expires: float | None = None
    why: str = ""
    flow: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellFinished(EventFields):
    """What came of a cell, in the words that the model reads."""

    cell: int
    ok: bool
    observation: str
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Retried(EventFields):
    """The model did not reply; it is asked again."""

    why: str
    delay_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted(EventFields):
    """Old messages were cut, or told in short, because the window fills. The journal has them whole."""

    before_tokens: int
    after_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageTaken(EventFields):
    """What a person told the turn while it works was taken up: "add", "ask", "redirect", "cancel" or "stop"."""

    kind: str
    text: str
    who: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered(EventFields):
    """A person's question was answered beside the task; or, with an `error`, could not be. `who` asked it."""

    question: str
    text: str
    who: str = ""
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildStarted(EventFields):
    """A child agent began, in a session of its own."""

    child: str
    task: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildFinished(EventFields):
    """A child agent ended."""

    child: str
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Used(EventFields):
    """What the turn has used so far, and in its last request."""

    usage: Usage
    last: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Done(EventFields):
    """The turn has come to its answer."""

    value: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed(EventFields):
    """The turn ended without one."""

    error: str


Event = (
    TurnStarted
    | ModeChosen
    | Planned
    | TextPiece
    | Replied
    | CodePiece
    | CodeReady
    | Printed
    | CallStarted
    | CallFinished
    | ApprovalWanted
    | CellFinished
    | Retried
    | Compacted
    | MessageTaken
    | Answered
    | ChildStarted
    | ChildFinished
    | Used
    | Done
    | Failed
)


def tell(listener: Callable[[Event], None], event: Event) -> None:
    """Call the listener. What it raises ends neither turn nor cell: the event loop's exception handler gets it."""
    try:
        listener(event)
    except Exception as error:
        context = {"message": "cellwright: on_event failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)
