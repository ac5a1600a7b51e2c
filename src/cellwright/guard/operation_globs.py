"""Globs of names of operations, such as `mail.*`: which names one covers, and which may be below one."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import translate
from functools import lru_cache
from typing import Any

from cellwright.errors import UsageError

_WILD = re.compile(r"[*?\[]")


def covers_name(glob: str, names: Collection[str]) -> bool:
    matches = _compiled(glob).match
    return any(matches(name) for name in names)


def may_be_below(glob: str, name: str) -> bool:
    """Whether the glob may cover something below a name."""
    below, plain = f"{name}.", _WILD.split(glob, maxsplit=1)[0]
    return plain.startswith(below) or (plain != glob and below.startswith(plain))


def names_of(given: Any, key: str) -> tuple[str, ...]:
    """A list of texts as a tuple; UsageError for anything else."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):  # type: ignore[reportUnknownVariableType]
        raise UsageError(f"{key} is {given!r:.50}; write a list of texts")
    return tuple(given)  # type: ignore[reportUnknownArgumentType]


@lru_cache(maxsize=4096)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
