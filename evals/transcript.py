"""What was said and run in one attempt, as text for people who want to know why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cellwright.events import CallFinished, CellFinished, CodeReady, Done, Event, Failed, ModeChosen, Replied, Used
from cellwright.messages import Usage


def used(events: Sequence[Event]) -> Usage:
    """What all requests of an attempt took, also of one that broke off."""
    return next((event.usage for event in reversed(events) if isinstance(event, Used)), Usage())


def write(file: Path, prompt: str, events: Sequence[Event], why: str) -> None:
    lines = [f"task: {prompt}", *(line for event in events for line in _lines(event)), f"check: {why or 'passed'}"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(event: Event) -> Iterator[str]:
    match event:
        case ModeChosen(mode=mode, why=why):
            yield f"mode: {mode}, {why}"
        case Replied(text=text):
            yield f"--- model, step {event.step}\n{text}"
        case CodeReady(code=code):
            yield f"--- cell, step {event.step}\n{code}"
        case CallFinished(name=name, error=error):
            yield f"call: {name}{f' -> {error}' if error else ''}"
        case CellFinished(observation=observation):
            yield f"--- told, step {event.step}\n{observation}"
        case Done(value=value):
            yield f"done: {value!r}"
        case Failed(error=error):
            yield f"failed: {error}"
        case _:
            return
