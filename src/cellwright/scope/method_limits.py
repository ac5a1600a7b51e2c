"""Limits of methods of the standard library that make as much as guest code asks for: `rows.extend(rows)`,
`text.ljust(10**9)`, `file.seek(10**10)`, `log.info("%999999999d", 1)`.

Methods that a developer wrote, and those of other libraries, take what they are given.
"""

from __future__ import annotations

import io
import logging
import types
from array import array
from collections import UserDict, UserList, UserString, deque
from typing import Any

from cellwright.scope.operand_limits import LENGTH, WIDTH, check, refuse
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

_GROWING = (list, dict, set, deque, bytearray, array, UserList, UserDict)
_TEXTS = (str, bytes, bytearray, UserString)
_SIZED = (*_GROWING, *_TEXTS, tuple, frozenset)
_FILES = (io.BytesIO, io.StringIO)
SORTED = 200_000  # items, which C code compares without giving up the interpreter
_LOGS = (logging.Logger, logging.LoggerAdapter)
_OWN = (types.BuiltinMethodType, types.MethodWrapperType)


@weak_cache
def _has_limits(cls: type) -> bool:
    return issubclass(cls, (*_GROWING, *_TEXTS, *_FILES, *_LOGS))


def is_measured(function: Any) -> bool:
    """Whether calls of a function have limits here."""
    owner: Any = getattr(function, "__self__", None)
    if owner is None or not _has_limits(type_of(owner)):
        return False
    return isinstance(function, _OWN) or getattr(function, "__module__", "") in ("collections", "logging")


def check_method(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `CallLimit` if a method of a container, a text, a file in memory or a logger would make too much."""
    if not is_measured(function):
        return
    owner: Any = function.__self__
    name = str(getattr(function, "__name__", ""))
    given = (*args, *kwargs.values())
    if isinstance(owner, _LOGS):
        for part in given:
            check(part, "__str__", ())
        for place, text in enumerate(given):
            if isinstance(text, str):
                check(text, "__mod__", (given[place + 1 :],))
                break
    elif isinstance(owner, _FILES):
        if any(isinstance(part, int) and part > LENGTH for part in given):
            raise refuse(f"{name}() so far", f"a file in memory takes at most {LENGTH} more")
    else:
        _check_growth(owner, name, given)


def _check_growth(owner: Any, name: str, given: tuple[Any, ...]) -> None:
    sizes = [len(part) for part in given if issubclass(type_of(part), _SIZED)]
    made = sum(sizes)
    if isinstance(owner, _TEXTS):
        if name.startswith("format"):
            check(owner, "__mod__", (given,))
            made = max(part for part in (0, *given) if isinstance(part, int)) * len(owner)
        elif name == "replace":
            made = (len(owner) + 1) * sizes[-1] if sizes else 0
        elif name == "join":
            made = len(owner) * sum(sizes)
        else:
            made = max(part for part in (0, *given) if isinstance(part, int))
            made *= 1 if name != "expandtabs" else len(owner)
    elif name == "sort" and len(owner) > SORTED:
        raise refuse("sort() of so much", f"it sorts at most {SORTED} items")
    elif name not in ("extend", "extendleft", "update", "frombytes", "fromlist", "fromunicode", "union"):
        return
    if made + len(owner) > max(LENGTH, WIDTH) and made:
        raise refuse(f"{name}() of so much", f"the result would have more than {LENGTH} items")
