"""`KnownValues`: names, addresses and the like that a session has met in a column, found again in texts.

No pattern finds them there. Upper and lower case are one. It knows neither tokens nor columns.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

SHORTEST = 4  # characters: "Bo" stands in too many words
LONGEST = 200
MOST = 100_000  # values that are looked for; later ones are not
_WORD = re.compile(r"\w+")


class KnownValues:
    """Takes time in proportion to a text, however many values are known."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._lengths: dict[str, list[int]] = {}  # by the first word: the lengths of the values that begin with it
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, text: str, kind: str) -> None:
        text = _folded(text.strip())
        first = _WORD.match(text)
        if first is None or not SHORTEST <= len(text) <= LONGEST or (text.isdigit() and len(text) < 2 * SHORTEST):
            return
        with self._lock:
            if text in self._kinds or len(self._kinds) >= MOST:
                return
            lengths = self._lengths.get(first[0], [])
            self._lengths[first[0]] = sorted({*lengths, len(text)}, reverse=True)
            self._kinds[text] = kind

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where known values stand as whole words, each with its kind. They do not overlap."""
        if not self._lengths:
            return
        folded, end = _folded(text), 0
        for word in _WORD.finditer(folded):
            if word.start() < end:
                continue
            for length in self._lengths.get(word[0], ()):
                stop = word.start() + length
                kind = self._kinds.get(folded[word.start() : stop])
                if kind is not None and not folded[stop : stop + 1].isalnum():
                    yield word.start(), stop, kind
                    end = stop
                    break


def _folded(text: str) -> str:
    """In lower case, where that moves no character."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text
