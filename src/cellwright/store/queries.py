"""What a person typed to find something: its terms and words, of which each search engine makes its own syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST, MOST = 1000, 40  # letters, words
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


def terms_of(query: str) -> Iterator[tuple[str, bool]]:
    """Each word, or words in quotes; and whether it is only the beginning of a word, by a star."""
    for quoted, word in _TERM.findall(query[:LONGEST].encode("utf-8", "replace").decode()):
        if any(letter.isalnum() for letter in quoted or word):
            yield quoted or word, not quoted and word.endswith("*")


def words_of(query: str) -> list[str]:
    """The words to look for in a text where the index matched only a part of a longer name."""
    return re.findall(r"\w+", query[:LONGEST])[:MOST]
