"""What is known of an operation, said once: by `@operation` on a function of yours, by `scope.declare` on any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from toolwright.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "__toolwright_operation__"


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """Facts about one operation. What is not said is assumed to be the careful answer."""

    reads: bool = False  # changes nothing: allowed under `read_only`, may be run again to revive a handle
    idempotent: bool = False  # twice is as good as once
    undo: Callable[..., Any] | None = None
    revive: Callable[..., Any] | None = None
    direct: bool = False  # offered to the model as an ordinary function call too
    timeout_s: float | None = None
    thread: Literal["worker", "loop"] | None = None  # None: the session's worker, or the loop for asyncio's own objects

    def __post_init__(self) -> None:
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise UsageError(f"timeout_s={self.timeout_s!r}: give seconds above zero, or leave it out")
        if self.thread not in (None, "worker", "loop"):
            raise UsageError(f'thread={self.thread!r}: give "worker" or "loop"')


FACTS = frozenset(f.name for f in fields(Operation))


def operation(
    *,
    reads: bool = False,
    idempotent: bool = False,
    undo: Callable[..., Any] | None = None,
    revive: Callable[..., Any] | None = None,
    direct: bool = False,
    timeout_s: float | None = None,
    thread: Literal["worker", "loop"] | None = None,
) -> Callable[[Function], Function]:
    """Say what is known of a function or a method. It stays the function that it was."""
    known = Operation(
        reads=reads, idempotent=idempotent, undo=undo, revive=revive, direct=direct, timeout_s=timeout_s, thread=thread
    )

    def mark(function: Function) -> Function:
        setattr(function, MARK, known)
        return function

    return mark


def facts_of(function: Any) -> Operation:
    """What `@operation` said of a function; the careful default where it said nothing."""
    known = getattr(getattr(function, "__func__", function), MARK, None)
    return known if isinstance(known, Operation) else Operation()


def with_facts(known: Operation, facts: dict[str, Any]) -> Operation:
    return replace(known, **facts) if facts else known
