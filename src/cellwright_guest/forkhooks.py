"""Keeps the fork hooks of `threading` and `logging` out of the zygote's own forks.

They put locks right that another thread may have held; the zygote has one thread. Run, they touch some 150 pages, which
is a third of a child's start and half a megabyte of its memory. In a guest's own forks they run as ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_NOT_NEEDED = ("threading", "logging")
_register = os.register_at_fork
_skipping = False


def watch() -> None:
    """Call before anything imports `threading`."""
    os.register_at_fork = _register_wrapped


def unwatch() -> None:
    os.register_at_fork = _register


def fork() -> int:
    """`os.fork` without those hooks."""
    global _skipping
    _skipping = True
    try:
        return os.fork()
    finally:
        _skipping = False


def _register_wrapped(**hooks: Any) -> None:
    _register(**{when: _skippable(hook) for when, hook in hooks.items()})


def _skippable(hook: Callable[[], Any]) -> Callable[[], Any]:
    if getattr(hook, "__module__", None) not in _NOT_NEEDED:
        return hook
    return lambda: None if _skipping else hook()
