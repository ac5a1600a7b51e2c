"""`ServedFlow`: the flow of a session whose call is served, for sessions that host code runs meanwhile."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cellwright.guard.labels import UNTRUSTED

if TYPE_CHECKING:
    from cellwright.guard.flow import FlowGuard


@dataclass(kw_only=True, slots=True)
class ServedFlow:
    """The flow of the session whose call is served, for other sessions that host code runs meanwhile. `guard` None:
    host code of the developer's runs several, and what one gives goes into the next.
    """

    guard: FlowGuard | None = None
    labels: set[str] = field(default_factory=set[str])  # what their answers carry into this one

    @property
    def taints_words(self) -> bool:
        """Whether a task that is set now is no person's words."""
        return UNTRUSTED in self.labels or (self.guard is not None and self.guard.taints_words)

    @property
    def reached(self) -> set[tuple[str, str]]:
        """Labels and their sources, for a session that begins now."""
        above = set[tuple[str, str]]() if self.guard is None else self.guard.state.reached_from
        return above | {(label, "an agent before it") for label in self.labels - {label for label, _ in above}}


BY_CODE = "code of a session"  # who wrote a message that is no person's words
SERVED_FLOW: ContextVar[ServedFlow | None] = ContextVar("cellwright_flow", default=None)
