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
    from cellwright.guard import Approvals, Network, Policy, PolicyRule, Privacy, allow_hosts, decide, open_questions
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
    name: module
    for module, names in {
        "agent": "Agent Recovered Result Session",
        "connectors": "Command Secret",
        "events": "CallFinished CallStarted Event Printed",
        "guard": "Approvals Network Policy PolicyRule Privacy allow_hosts decide open_questions",
        "journal": "Divergence Repeated Restored RolledBack",
        "mcp": "MCP",
        "models": "Budget",
        "openapi": "OpenAPI",
        "runtime": "Runtime replay run",
        "sandboxes": "CallRecord GuestValue Limits Outcome",
        "scope": "CurrentCall GuestFunction LostObject Operation Revivable Scope Undoing current_call operation",
        "sessions": "Sessions",
        "store": "Decision Question",
    }.items()
    for name in names.split()
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
    "Network",
    "OpenAPI",
    "Operation",
    "Outcome",
    "Policy",
    "PolicyRule",
    "Printed",
    "Privacy",
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
    "allow_hosts",
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
