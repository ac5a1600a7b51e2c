"""`PrivateValues`: the tokens of one session and the values that they stand for. Only the host has it.

A token is `<EMAIL_1_k7q2xzab>`: the kind, a number, and a mark that is made with a secret of the session, so that no
outsider writes one that means anything. Equal values have equal tokens. It looks for nothing in texts, and does not
know who may have a value.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cellwright_guest.wire import type_of

TOKEN = re.compile(r"<([A-Z][A-Z0-9_]{0,39})_([1-9][0-9]{0,8})_([a-z2-7]{8})>")
LONGEST_TOKEN = 64
_MARK = 8  # letters, of 5 bits each


@dataclass(frozen=True, slots=True)
class PrivateValue:
    """A value as it is packed: a text, a number, or a tagged date. `text` is what stands in a longer text for it.

    `guessed`: guest code had it, and not from the host. Its token is another one than that of the same value of the
    host: else code could try names until a token is that of a record.
    """

    kind: str
    tree: Any
    guessed: bool = False

    @property
    def text(self) -> str:
        if type_of(self.tree) is dict:
            return str(self.tree["x"][1])
        return self.tree if isinstance(self.tree, str) else str(self.tree)


class PrivateValues:
    """`above`: the values of the session whose code opened this one. They share their tokens. Any thread may use it."""

    def __init__(self, secret: bytes, above: PrivateValues | None = None) -> None:
        self._secret = secret
        self._above = above
        self._lock = threading.RLock()
        self._tokens: dict[str, str] = {}  # by kind and packed value
        self._values: dict[str, PrivateValue] = {}
        self._numbers: dict[str, int] = {}
        self._unkept: list[str] = []

    def token(self, value: PrivateValue) -> str:
        """The token of a value; a new one where it has none."""
        key = _key(value)
        with self._lock:
            token = self._tokens.get(key)
            if token is None:
                token = self._made(value, key) if self._above is None else self._above.token(value)
                self._tokens[key], self._values[token] = token, value
                self._unkept.append(token)
            return token

    def value(self, token: str) -> PrivateValue | None:
        """What a token stands for; None for a text that only looks like one."""
        found = self._values.get(token)
        if found is None and self._above is not None:
            found = self._above.value(token)
            if found is not None:
                self.token(found)  # from here on this session has it too, also when the other one is gone
        return found

    def _made(self, value: PrivateValue, key: str) -> str:
        number = self._numbers[value.kind] = self._numbers.get(value.kind, 0) + 1
        digest = hmac.digest(self._secret, f"{number} {key}".encode("utf-8", "surrogatepass"), "sha256")
        mark = base64.b32encode(digest).decode().lower()[:_MARK]
        return f"<{value.kind.upper()}_{number}_{mark}>"

    def tokens_in(self, text: str) -> Iterator[tuple[int, int, PrivateValue]]:
        """Where tokens of this session stand in a text, with their values."""
        if "<" not in text:
            return
        for match in TOKEN.finditer(text):
            value = self.value(match[0])
            if value is not None:
                yield match.start(), match.end(), value

    def __bool__(self) -> bool:
        return bool(self._values or self._above)

    # what a journal keeps

    def take_unkept(self) -> list[tuple[str, PrivateValue]]:
        """Tokens that are new since the last time, with their values."""
        with self._lock:
            unkept, self._unkept = self._unkept, []
            return [(token, self._values[token]) for token in unkept]

    def restore(self, token: str, value: PrivateValue) -> None:
        """Take in what `take_unkept` gave to an earlier process."""
        match = TOKEN.fullmatch(token)
        if match is None:
            return
        with self._lock:
            self._tokens[_key(value)], self._values[token] = token, value
            self._numbers[value.kind] = max(self._numbers.get(value.kind, 0), int(match[2]))


def _key(value: PrivateValue) -> str:
    return f"{'?' * value.guessed}{value.kind} {json.dumps(value.tree)}"
