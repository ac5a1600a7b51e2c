"""The call that host code is serving, for that host code to ask about. Knows nothing of how it is answered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

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


# the call, the `Lender` of its guest (None where the guest does not wait for it), its number among all of this host's,
# and what makes a `CurrentCall` of these: a tuple, because one is made for every call and few are asked about
Serving = tuple[Call, object, int, Callable[[Call, int], CurrentCall]]
CURRENT: ContextVar[Serving | None] = ContextVar("cellwright_call", default=None)


def current_call() -> CurrentCall:
    """The call that the running host code serves, on whatever thread. `UsageError` outside of one."""
    serving = CURRENT.get()
    if serving is None:
        raise UsageError("current_call() was asked outside of a call of guest code; ask it in a function in scope")
    call, _, number, tell = serving
    return tell(call, number)


def key_of(session: str, call: str) -> str:
    """The idempotency key of a call that is named `call` in its session."""
    return hashlib.sha256(f"{session}\0{call}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
