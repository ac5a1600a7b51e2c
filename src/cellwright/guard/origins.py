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


class Origins:
    """For one session. Answers are read when a question is asked, which most sessions never do."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._unread: deque[tuple[str, list[Scalar], int]] = deque()
        self._reading = threading.Lock()

    @property
    def unread(self) -> int:
        """Characters of answers that are read when a question is asked."""
        return sum(size for _, _, size in tuple(self._unread))

    def add(self, title: str, content: PackedContent) -> None:
        values, room = list[Scalar](), READ
        for leaf in content.leaves:
            if room <= 0:
                break
            values.append(leaf.value[:room] if isinstance(leaf.value, str) else leaf.value)
            room -= len(leaf.value) if isinstance(leaf.value, str) else SHORT
        self._unread.append((title, values, READ - room))
        while self.unread > UNREAD:
            self._unread.popleft()

    def of(self, value: Scalar) -> str:
        """The operation; "" where none is known. Takes long after long answers, and may run in a thread."""
        with self._reading:
            for answer in tuple(self._unread):
                for each in answer[1]:
                    self._read(answer[0], each)
                if answer in self._unread:  # it may be forgotten meanwhile
                    self._unread.remove(answer)
        return self._titles.get(normalised(value), "").removesuffix(".__getitem__")

    def _read(self, title: str, value: Scalar) -> None:
        if len(self._titles) > MOST:
            return
        text = value if isinstance(value, str) else normalised(value)[:SHORT]
        if len(text) <= SHORT:
            self._titles.setdefault(normalised(value), title)
        for address in addresses_in(text):
            self._titles.setdefault(address, title)
