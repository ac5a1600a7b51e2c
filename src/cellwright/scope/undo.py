"""What an `undo=` function is told, and how it is called. Knows nothing of transactions or of what is undone when."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Undoing:
    """The call that is undone, for an `undo=` with two parameters: `undo(result, call)`.

    `target` is the object whose method was called, None for a function or a class. `idempotency_key` is that of the
    call itself; `current_call()` inside the undo has one of its own.
    """

    name: str
    cell: int
    path: str
    session: str
    idempotency_key: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def takes_call(undo: Any) -> bool:
    """Whether it needs two arguments, and so is told of the call too."""
    try:
        parameters = inspect.signature(undo).parameters.values()
    except (TypeError, ValueError):  # no signature to ask
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) >= 2
