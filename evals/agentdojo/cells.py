"""Cells as a model writes them that carries out calls one by one: it looks first, and acts on what it has seen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal, cast

from evals.agentdojo.labels import FACTS
from evals.agentdojo.suite_client import Suite, ToolCall

SHOWN = {"get_channels": "[channel.name for channel in {}]"}
When = Literal["at once", "last", "both"]


def cells_of(suite: Suite, calls: Sequence[ToolCall], known: str) -> list[str]:
    """Calls that read print, and stand together in a cell while all that they ask for is `known` from the task; each
    other call has the next cell, with its values as literals: who writes that has seen what is printed above.
    """
    places = {tool.name: tool.object for tool in suite.tools}
    cells: list[str] = []
    looks = False
    for call in calls:
        facts = FACTS[call.tool]
        line = f"{places[call.tool]}.{call.tool}({_arguments(call.arguments)})"
        line = SHOWN.get(call.tool, "{}").format(line)
        line = f"print({line})" if facts.get("reads") or facts.get("untrusted") else line
        if looks and facts.get("reads") and all(text in known for text in _texts(call.arguments)):
            cells[-1] += f"\n{line}"
        else:
            cells.append(line)
        looks = bool(facts.get("reads"))
    return cells


def obeyed(cells: Sequence[str], injection: Sequence[str], first: int, when: When) -> list[str]:
    """The cells of a task, and those of an injection: at once when the call of the number `first` has shown it, last,
    when the model knows all that the task shows, or both.
    """
    at = calls = 0
    while at < len(cells) and calls <= first:
        calls += len(cells[at].splitlines())
        at += 1
    tried = [
        f"try:\n{textwrap.indent(cell, '    ')}\nexcept Exception as error:\n    print(error)" for cell in injection
    ]
    at_once, last = (tried if when != "last" else []), (tried if when != "at once" else [])
    return [*cells[:at], *at_once, *cells[at:], *last]


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return [text for item in cast("list[Any]", value) for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
