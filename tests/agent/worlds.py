"""Live objects for an agent to work on, and short ways to run one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cellwright.agent import Agent
from cellwright.events import Event
from cellwright.messages import ToolMessage, Traits, UserMessage
from cellwright.testing import ScriptedModel

FENCED = Traits(calls=False, window=8192)


@dataclass(frozen=True)
class Contact:
    name: str
    city: str
    deals: int


@dataclass
class Crm:
    """Contacts, and letters to them."""

    letters: list[str] = field(default_factory=list[str])

    def contacts(self, city: str | None = None) -> list[Contact]:
        """Contacts, of one city or all."""
        everybody = [Contact("Ada", "Oslo", 2), Contact("Bo", "Oslo", 0), Contact("Cy", "Rome", 0)]
        return [c for c in everybody if city in (None, c.city)]

    def write(self, name: str, text: str) -> int:
        """Send a letter; gives its number."""
        self.letters.append(f"{name}: {text}")
        return len(self.letters)

    def fail(self, number: int) -> None:
        """Never works."""
        raise LookupError(f"there is no letter {number}")


def agent_with(*replies: Any, scope: dict[str, Any] | None = None, **options: Any) -> tuple[Agent, ScriptedModel]:
    traits = options.pop("traits", None)
    model = ScriptedModel(*replies, traits=traits, otherwise=options.pop("otherwise", None))
    return Agent(model, scope={"crm": Crm()} if scope is None else scope, **options), model


def last_observation(model: ScriptedModel, number: int = -1) -> str:
    """What the model was told last, in its request `number`."""
    message = model.requests[number].messages[-1]
    assert isinstance(message, UserMessage | ToolMessage)
    return message.text if isinstance(message, UserMessage) else "\n".join(r.text for r in message.results)


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]
