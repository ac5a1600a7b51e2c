"""Cellwright: a runtime for agents that write code.

Importing this loads nothing but itself; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellwright.agent import Agent, Recovered, Result, Session
    from cellwright.connectors import Command, Secret
    from cellwright.events import CallFinished, CallStarted, Event, Printed
    from cellwright.guard import Approvals, decide, open_questions
    from cellwright.journal import Divergence, Repeated, Restored, RolledBack
    from cellwright.mcp import MCP
    from cellwright.models import Budget
    from cellwright.openapi import OpenAPI
    from cellwright.runtime import Runtime, replay, run
    from cellwright.sandboxes import CallRecord, GuestValue, Limits, Outcome
    from cellwright.scope import (
        CurrentCall,
        GuestFunction,
        LostObject,
        Operation,
        Revivable,
        Scope,
        Undoing,
        current_call,
        operation,
    )
    from cellwright.sessions import Sessions
    from cellwright.store import Decision, Question

    __version__: str

_HOME = {
    "Agent": "agent",
    "Approvals": "guard",
    "Budget": "models",
    "CallFinished": "events",
    "CallRecord": "sandboxes",
    "CallStarted": "events",
    "Command": "connectors",
    "CurrentCall": "scope",
    "Decision": "store",
    "Divergence": "journal",
    "Event": "events",
    "GuestFunction": "scope",
    "GuestValue": "sandboxes",
    "Limits": "sandboxes",
    "LostObject": "scope",
    "MCP": "mcp",
    "OpenAPI": "openapi",
    "Operation": "scope",
    "Outcome": "sandboxes",
    "Printed": "events",
    "Question": "store",
    "Recovered": "agent",
    "Repeated": "journal",
    "Restored": "journal",
    "Result": "agent",
    "Revivable": "scope",
    "RolledBack": "journal",
    "Runtime": "runtime",
    "Scope": "scope",
    "Secret": "connectors",
    "Session": "agent",
    "Sessions": "sessions",
    "Undoing": "scope",
    "current_call": "scope",
    "decide": "guard",
    "open_questions": "guard",
    "operation": "scope",
    "replay": "runtime",
    "run": "runtime",
}

__all__ = [
    "MCP",
    "Agent",
    "Approvals",
    "Budget",
    "CallFinished",
    "CallRecord",
    "CallStarted",
    "Command",
    "CurrentCall",
    "Decision",
    "Divergence",
    "Event",
    "GuestFunction",
    "GuestValue",
    "Limits",
    "LostObject",
    "OpenAPI",
    "Operation",
    "Outcome",
    "Printed",
    "Question",
    "Recovered",
    "Repeated",
    "Restored",
    "Result",
    "Revivable",
    "RolledBack",
    "Runtime",
    "Scope",
    "Secret",
    "Session",
    "Sessions",
    "Undoing",
    "current_call",
    "decide",
    "open_questions",
    "operation",
    "replay",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("cellwright")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'cellwright' has no attribute {name!r}")
    return getattr(import_module(f"cellwright.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])
