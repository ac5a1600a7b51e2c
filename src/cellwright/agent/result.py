"""The result of a turn, and the trace of its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from cellwright.agent.event_stream import EventQueue
from cellwright.events import ChildFinished, Done, Event, Failed, tell
from cellwright.messages import Usage

T = TypeVar("T")
OnEvent = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Result(Generic[T]):
    """The answer of a turn, its usage and its events."""

    value: T
    usage: Usage = field(default_factory=Usage)
    session_id: str = ""
    trace: tuple[Event, ...] = ()
    steps: int = 0


class Trace:
    """Adds session, turn and step to each event, gives it to the listener and keeps it. Pieces are not kept.

    After the end of the turn only the ends of children that it left are told, whatever a model still says.
    """

    def __init__(self, session: str, turn: int, listener: OnEvent | None) -> None:
        self.events: list[Event] = []
        self.step = 0
        self._session = session
        self._turn = turn
        self._listener = listener
        self.heard = listener is not None  # otherwise nobody needs the pieces
        self._is_over = False

    def tell(self, event: Event) -> None:
        placed = replace(event, session=event.session or self._session, turn=event.turn or self._turn)
        if placed.session == self._session:
            if self._is_over and not isinstance(placed, ChildFinished):
                return
            placed = replace(placed, step=placed.step or self.step)
            self._is_over = self._is_over or isinstance(placed, Done | Failed)
        if type(placed).__name__ not in ("TextPiece", "CodePiece"):
            self.events.append(placed)
        if self._listener is not None:
            tell(self._listener, placed)

    __call__ = tell  # as the listener of a child

    async def room(self) -> None:
        """Wait until a listener that keeps events has room for those of a step."""
        if isinstance(self._listener, Trace | EventQueue):
            await self._listener.room()

    def result(self, value: Any, usage: Usage) -> Result[Any]:
        return Result(value=value, usage=usage, session_id=self._session, trace=tuple(self.events), steps=self.step)
