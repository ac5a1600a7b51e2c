"""Toolwright: a runtime for agents that write code.

Importing this loads nothing but itself; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.events import CallFinished, CallStarted, Event, Printed
    from toolwright.runtime import Runtime, run
    from toolwright.sandboxes import CallRecord, GuestValue, Limits, Outcome
    from toolwright.scope import GuestFunction, Operation, Scope, operation

    __version__: str

_HOME = {
    "CallFinished": "events",
    "CallRecord": "sandboxes",
    "CallStarted": "events",
    "Event": "events",
    "GuestFunction": "scope",
    "GuestValue": "sandboxes",
    "Limits": "sandboxes",
    "Operation": "scope",
    "Outcome": "sandboxes",
    "Printed": "events",
    "Runtime": "runtime",
    "Scope": "scope",
    "operation": "scope",
    "run": "runtime",
}

__all__ = [
    "CallFinished",
    "CallRecord",
    "CallStarted",
    "Event",
    "GuestFunction",
    "GuestValue",
    "Limits",
    "Operation",
    "Outcome",
    "Printed",
    "Runtime",
    "Scope",
    "operation",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("toolwright")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'toolwright' has no attribute {name!r}")
    return getattr(import_module(f"toolwright.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])
