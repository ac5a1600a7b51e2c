"""Checks that most tasks are made of. Each gives "" or says in one line what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evals.small.task import Check


def equals(expected: Any) -> Check:
    """The value is exactly this, of this type."""

    def check(value: Any) -> str:
        if isinstance(value, type(expected)) and value == expected:
            return ""
        return f"the answer is {shown(value)}, not {shown(expected)}"

    return check


def near(expected: float, within: float = 0.01) -> Check:
    """The value is this number, but for rounding."""

    def check(value: Any) -> str:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and math.isclose(value, expected, rel_tol=0, abs_tol=within):
            return ""
        return f"the answer is {shown(value)}, not about {expected:g}"

    return check


def state(what: str, read: Callable[[], Any], expected: Any) -> Check:
    """Afterwards the objects are like this, whatever the value is."""

    def check(value: Any) -> str:
        found = read()
        return "" if found == expected else f"{what}: {shown(found)}, not {shown(expected)}"

    return check


def every(*checks: Check) -> Check:
    """All of them; says what the first one has to say."""

    def check(value: Any) -> str:
        return next((wrong for one in checks if (wrong := one(value))), "")

    return check


def shown(value: Any, most: int = 160) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
