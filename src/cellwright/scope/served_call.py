"""The call that host code is serving or undoing, for that host code to ask about."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from cellwright.doors import Call
from cellwright.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class CurrentCall:
    """One call of guest code, as the host function that serves it may know it.

    `idempotency_key` is the same in every attempt at this call of this session, and of no other call. Send it along
    where an upstream takes one: what had begun when a process died then happens once. `path` and `session` are empty
    where nothing is journaled.
    """

    name: str
    cell: int
    path: str
    session: str
    idempotency_key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Undoing(CurrentCall):
    """The call that is undone, for an `undo=` with two parameters: `undo(result, call)`.

    `target` is the object whose method was called, None for a function or a class. `idempotency_key` is that of the
    call itself; `current_call()` inside the undo has one of its own.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def takes_call(undo: Any) -> bool:
    """Whether an `undo=` function needs two arguments, and so gets the call too."""
    try:
        parameters = inspect.signature(undo).parameters.values()
    except (TypeError, ValueError):  # no signature to ask
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) >= 2


# the call, the `Lender` of its guest (None where the guest does not wait for it), its number among all of this host's,
# and the function that makes a `CurrentCall` of these: a tuple, because every call makes one and few ask for it
Serving = tuple[Call, object, int, Callable[[Call, int], CurrentCall]]
CURRENT: ContextVar[Serving | None] = ContextVar("cellwright_call", default=None)


def current_call() -> CurrentCall:
    """The call that the running host code serves, on any thread. `UsageError` outside of a call."""
    serving = CURRENT.get()
    if serving is None:
        raise UsageError("current_call() was asked outside of a call of guest code; ask it in a function in scope")
    call, _, number, make = serving
    return make(call, number)


def key_of(session: str, call: str) -> str:
    """The idempotency key of a call that is named `call` in its session."""
    return hashlib.sha256(f"{session}\0{call}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
