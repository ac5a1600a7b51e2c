"""What is said to a language model and by it, as plain values. Knows no provider and no agent.

A conversation is a tuple of messages: the person or the loop speaks (`UserMessage`), the model replies
(`AssistantMessage`), its tool calls are answered (`ToolMessage`). `to_plain` and `from_plain` turn them into what a
journal keeps, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A function that is offered to the model: `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The model wants a tool called. `arguments` is JSON text as the model wrote it, which may be malformed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What came of one call."""

    id: str
    name: str
    text: str
    failed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class UserMessage:
    """A person's task, or an observation of the loop's."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AssistantMessage:
    """A reply. `own` is what its provider wants back untouched (signatures, ids), as plain data."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    own: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMessage:
    """The results of all the calls of the reply before."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What requests took. `input_tokens` counts cached ones too; `cost` is in US dollars, None where nobody knows."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # read from the provider's cache
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A part of a reply, as it arrives: of its text, or of the arguments of its call number `call`.

    `restart` takes back all that was told of this reply: it broke off, and is told anew from its beginning.
    """

    text: str
    kind: Literal["text", "call"] = "text"
    call: int = 0
    name: str = ""  # of the tool, for a call
    restart: bool = False


OnPiece = Callable[[Piece], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What a model can do. `calls`: it takes tools; without, it is read for fenced code. `window` is in tokens."""

    calls: bool = True
    window: int = 128_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """How a reply is to be made. What is None is left to the provider."""

    temperature: float | None = 0.0
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    timeout_s: float | None = 600.0
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])  # settings of one provider, by its own names


def to_plain(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text=text):
            return {"kind": "asked", "text": text}
        case AssistantMessage(text=text, calls=calls, own=own):
            return {"kind": "said", "text": text, "calls": [[c.id, c.name, c.arguments] for c in calls], "own": own}
        case ToolMessage(results=results):
            return {"kind": "answered", "results": [[r.id, r.name, r.text, r.failed] for r in results]}


def from_plain(plain: Mapping[str, Any]) -> Message:
    match plain["kind"]:
        case "asked":
            return UserMessage(text=_a_text(plain["text"]))
        case "said":
            calls = (ToolCall(id=_a_text(i), name=_a_text(n), arguments=_a_text(a)) for i, n, a in plain["calls"])
            return AssistantMessage(text=_a_text(plain["text"]), calls=tuple(calls), own=plain["own"])
        case "answered":
            results = (
                ToolResult(id=_a_text(i), name=_a_text(n), text=_a_text(t), failed=bool(f))
                for i, n, t, f in plain["results"]
            )
            return ToolMessage(results=tuple(results))
        case other:
            raise ValueError(f"a message of kind {other!r:.100} is not known")


def usage_from_plain(plain: Mapping[str, Any]) -> Usage:
    """What a journal or a cache kept of a request's usage; ValueError or TypeError for what is none."""
    usage = Usage(**plain)
    counts = (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    if any(type(count) is not int for count in counts) or type(usage.cost) not in (int, float, type(None)):
        raise ValueError("not a usage")
    return usage


def _a_text(value: Any) -> str:
    if type(value) is not str:  # found here, not by whoever reads the message much later
        raise ValueError(f"a {type(value).__name__} in the place of a text")
    return value


def pieces_of(said: AssistantMessage) -> tuple[Piece, ...]:
    """A reply that is there already, as it is told to whoever listens: its text whole, and each call."""
    text = (Piece(text=said.text),) if said.text else ()
    calls = (Piece(text=c.arguments, kind="call", call=n, name=c.name) for n, c in enumerate(said.calls))
    return (*text, *calls)


def estimated_tokens(*parts: Message | Tool | str) -> int:
    """A guess, for where nobody counts: one token for four bytes of text."""
    return sum((len(_text(part).encode(errors="replace")) + 3) // 4 for part in parts)


def _text(part: Message | Tool | str) -> str:
    match part:
        case str():
            return part
        case UserMessage(text=text):
            return text
        case AssistantMessage(text=text, calls=calls):  # `own` is the same once more
            return text + "".join(call.name + call.arguments for call in calls)
        case ToolMessage(results=results):
            return "".join(result.name + result.text for result in results)
        case Tool(name=name, description=description, parameters=parameters):
            return name + description + json.dumps(parameters, default=repr)
