"""`Origins`: which operation's untrusted answer held a value. It explains a question, and decides nothing."""

from __future__ import annotations

import threading
from collections import deque

from cellwright.guard.proofs import addresses_in, normalised
from cellwright.scope import PackedContent, Scalar

MOST = 50_000  # values whose source can be told
UNREAD = 5_000_000  # characters of answers that wait to be read: of more the oldest are forgotten
READ = 1_000_000  # characters of one answer
SHORT = 300  # characters of a value that is remembered as a whole
NUMBER = 10  # characters that a number counts as


class Origins:
    """For one session. Answers are read when a question is asked, which most sessions never do."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._answers: deque[tuple[str, list[Scalar], int]] = deque()
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self.unread = 0  # characters

    def add(self, title: str, content: PackedContent) -> None:
        values, room = list[Scalar](), READ
        for leaf in content.leaves:
            if room <= 0:
                break
            values.append(leaf.value[:room] if isinstance(leaf.value, str) else leaf.value)
            room -= len(leaf.value) if isinstance(leaf.value, str | bytes) else NUMBER
        with self._lock:
            self._answers.append((title, values, READ - room))
            self.unread += READ - room
            while self.unread > UNREAD and self._answers:
                self.unread -= self._answers.popleft()[2]

    def of(self, value: Scalar) -> str:
        """The operation; "" where none is known. Takes long after long answers, and may run in a thread."""
        with self._reading:
            with self._lock:
                answers, self._answers = self._answers, deque()
            for title, values, size in answers:
                for each in values:
                    self._read(title, each)
                with self._lock:
                    self.unread -= size
        return self._titles.get(normalised(value), "").removesuffix(".__getitem__")

    def _read(self, title: str, value: Scalar) -> None:
        if len(self._titles) > MOST:
            return
        text = value if isinstance(value, str) else normalised(value)[:SHORT]
        if len(text) <= SHORT:
            self._titles.setdefault(normalised(value), title)
        for address in addresses_in(text):
            self._titles.setdefault(address, title)
