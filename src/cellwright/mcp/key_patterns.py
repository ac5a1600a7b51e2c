"""Which parts of a command line or a URL look like a key: they are kept out of titles, names and what a server says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

MASK = "***"
SHORTEST = 6
_KEYLIKE = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|session|signature|_pat$|^pat$", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
_NAMED = re.compile(r"(?:--?)?([A-Za-z][\w.-]*)\s*[=:]\s*(.+)", re.DOTALL)  # --api-key=…, API_KEY=…, Authorization: …
_LONG = re.compile(r"[\w.~=-]{20,}")  # a part of a path: with a letter and a digit in it, it looks random


def is_keylike(name: str) -> bool:
    """Whether a variable, header or option of this name holds a key."""
    return _KEYLIKE.search(name) is not None


def bare_key(value: str) -> str:
    """A key without the scheme that may stand before it in a header."""
    return _SCHEME.sub("", value, count=1).strip()


def keys_in_command(words: Sequence[str]) -> Iterator[str]:
    """The keys among the arguments of a program."""
    for before, word in zip(("", *words), words, strict=False):
        named = _NAMED.fullmatch(word)
        if before.startswith("-") and "=" not in before and is_keylike(before) and not word.startswith("-"):
            yield bare_key(word)
        elif "://" in word:
            yield from keys_in_url(word)
        elif named is not None and is_keylike(named[1]):
            yield bare_key(named[2])


def keys_in_url(url: str) -> Iterator[str]:
    """The keys in a URL: its login, parameters of its query with a key's name, parts of its path that look random."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or parts.username or "")
    yield from (value for name, value in parse_qsl(parts.query) if is_keylike(name))
    yield from filter(_is_random, _LONG.findall(parts.path))


def bare_url(url: str) -> str:
    """A URL as it may be shown: without login, query, fragment and the parts of its path that look random."""
    bare = re.sub(r"//[^/@]*@", "//", re.split(r"[?#]", url, maxsplit=1)[0])
    return _LONG.sub(lambda part: "…" if _is_random(part[0]) else part[0], bare)


def _is_random(part: str) -> bool:
    return re.search(r"\d", part) is not None and re.search("[A-Za-z]", part) is not None


def masked(words: Sequence[str]) -> list[str]:
    """The words of a command line without its keys."""
    shown = list(words)
    for key in sorted((key for key in keys_in_command(words) if len(key) >= SHORTEST), key=len, reverse=True):
        shown = [word.replace(key, MASK) for word in shown]
    return shown
