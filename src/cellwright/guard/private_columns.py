"""Kinds of private data by the name of a column, field or key, and whether a value there is one at all.

A bare `name` is the commonest field of things that are no people. It counts only where the record has another field
that only people have: `kinds_of_columns` looks at all names of a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache

from cellwright.guard.private_kinds import KINDS
from cellwright.guard.private_words import pattern, word_file, words
from cellwright.redaction import is_secret_name

_LONGEST = 60
_MOST_WORDS = 4  # of a phrase
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-ÿ]+|\d+")


@cache
def _phrases() -> Mapping[tuple[str, ...], str]:
    return {tuple(one.split("_")): kind for kind, phrases in word_file()["columns"].items() for one in phrases.split()}


@lru_cache(maxsize=8192)
def kind_of_column(name: str) -> str | None:
    """The kind of the values in a column of this name. A bare `name` has none: see `kinds_of_columns`.

    `username` has none either: it names an account, of a bot or a role as often as of a person, and code joins by it.
    """
    parts = _words_of(name)
    if not parts or (len(parts) > 1 and parts[0] in words("questions")):
        return None
    kind = _kind_by_end(parts)
    if kind is None and len(parts) > 2 and (parts[-1].isdigit() or parts[-1] in words("variants")):
        kind = _kind_by_end(parts[:-1])
    if kind is None and len(parts) > 1 and parts[-1] in ("name", "names", "nm") and parts[-2] in words("people"):
        return "name"
    return "secret" if kind is None and is_secret_name(name) else kind


def _kind_by_end(parts: tuple[str, ...]) -> str | None:
    for at in range(max(len(parts) - _MOST_WORDS, 0), len(parts)):
        kind = _phrases().get(parts[at:])
        if kind is not None:
            return None if kind == "address" and at and parts[at - 1] in words("no_place") else kind
    return None


@lru_cache(maxsize=8192)
def _words_of(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name)) if len(name) <= _LONGEST else ()


def kinds_of_columns(names: Iterable[str], kind_of: Callable[[str], str | None] = kind_of_column) -> dict[str, str]:
    """The private columns of one record or table, by name; a bare `name` where another column is a person's."""
    kinds = {name: kind for name in names if (kind := kind_of(name))}
    if any(kind not in ("secret", "ip") for kind in kinds.values()) or any(map(is_personal, names)):
        kinds |= {name: "name" for name in names if name not in kinds and is_bare_name(name)}
    return kinds


def is_bare_name(name: str) -> bool:
    """Whether a field is called `name`, or for a role (`patient`): a person's name if the record is a person's."""
    parts = _words_of(name)
    return len(parts) == 1 and (parts[0] in words("bare_names") or parts[0] in words("people"))


def is_personal(name: str) -> bool:
    """Whether only people have a field of this name."""
    parts = _words_of(name)
    return len(parts) == 1 and parts[0] in words("personal")


def is_private_value(kind: str, value: str) -> bool:
    """Whether a value of such a column is private at all: not where it is empty, unknown, a type, or a token."""
    value = value.strip()
    if not value or pattern("nothing").fullmatch(value[:80]) or pattern("placeholder").fullmatch(value):
        return False
    return kind not in KINDS or bool(pattern(f"value_{kind}").match(value))
