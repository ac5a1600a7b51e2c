"""What a person typed to find something, as FTS5 reads it. No letter of it is FTS5's own syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST, MOST = 1000, 40  # letters, words
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


def terms(query: str) -> list[str]:
    """Each word, or words in quotes, as an FTS5 phrase; with a star any that begins so."""
    found: list[str] = []
    for quoted, word in _TERM.findall(query[:LONGEST].encode("utf-8", "replace").decode()):
        text = quoted or word.replace('"', " ")
        star = "*" if not quoted and text.endswith("*") else ""
        if any(letter.isalnum() for letter in text):
            found.append(f'"{text.replace(chr(0), " ").rstrip("*" if star else "")}"{star}')
    return list(dict.fromkeys(found))[:MOST]


def every(found: Sequence[str]) -> str:
    return " AND ".join(found)


def any_of(found: Sequence[str]) -> str:
    return " OR ".join(found)


def words(query: str) -> list[str]:
    """What a text is looked through for that the index found as a part of longer words."""
    return re.findall(r"\w+", query[:LONGEST])[:MOST]
