"""`Redactor`: removes known keys from what an upstream says, also where they are encoded.

A server that repeats a key is not hostile: it echoes headers, or quotes them in an error. A hostile one has the key
anyway. It knows neither upstreams nor where keys come from.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote, quote_plus

from cellwright.redaction import MASK, redacted

SHORTEST = 4  # characters: a shorter key cannot be told from other text
SHORTEST_IN_RESULTS = 8  # more in results, which must not be damaged


class Redactor:
    """Keys, and the forms that they take in texts. An added key stays: an old key may be echoed late."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._forms: list[str] = []
        self._long: list[str] = []  # the forms that are looked for in results
        self._bytes: list[bytes] = []

    def add(self, *secrets: str) -> None:
        for secret in secrets:
            if len(secret) < SHORTEST or secret in self._known:
                continue
            self._known.add(secret)
            forms = _forms(secret)
            self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)
            if len(secret) >= SHORTEST_IN_RESULTS:
                self._long = sorted({*self._long, *forms}, key=len, reverse=True)
                self._bytes = [form.encode("utf-8", "surrogatepass") for form in self._long]

    def text(self, text: str) -> str:
        """The text with a mark instead of each key."""
        return _masked(text, self._forms)

    def words(self, text: str) -> str:
        """A text about an upstream, an error or a log line: also without what looks like a key or a password."""
        return redacted(self.text(text))

    def body(self, body: bytes) -> bytes:
        """The bytes that an upstream sent, without the keys."""
        for form in self._bytes:
            if form in body:
                body = body.replace(form, MASK.encode())
        return body

    def plain(self, value: Any) -> Any:
        """JSON data with every text in it redacted, at any depth."""
        return _replaced(value, self.text, self.body)

    def result(self, value: Any) -> Any:
        """The same for the result of an API: only keys of `SHORTEST_IN_RESULTS` characters or more."""
        return _replaced(value, lambda text: _masked(text, self._long), self.body)


def _masked(text: str, forms: list[str]) -> str:
    for form in forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def _replaced(value: Any, text: Callable[[str], str], body: Callable[[bytes], bytes]) -> Any:
    top: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(top, 0)]
    while todo:
        holder, at = todo.pop()
        found = holder[at]
        if isinstance(found, str):
            holder[at] = text(found)
        elif isinstance(found, bytes):
            holder[at] = body(found)
        elif isinstance(found, list):
            holder[at] = made = list(cast(list[Any], found))
            todo.extend((made, index) for index in range(len(made)))
        elif isinstance(found, dict):
            holder[at] = named = {text(str(key)): inner for key, inner in cast(dict[Any, Any], found).items()}
            todo.extend((named, key) for key in named)
    return top[0]


def _forms(secret: str) -> set[str]:
    """A key as it is, in a URL, in JSON, and in base64 at each of the three offsets where it may begin."""
    escaped = json.dumps(secret)[1:-1]
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), escaped}
    forms |= {json.dumps(secret, ensure_ascii=False)[1:-1], escaped.replace("/", "\\/")}
    for character in "<>&'+":
        escaped = escaped.replace(character, f"\\u{ord(character):04x}")
    forms.add(escaped)
    raw = secret.encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        forms.add(encode(raw).decode().rstrip("="))
        forms |= {form for shift in (0, 1, 2) if len(form := _inner(raw, shift, encode)) >= SHORTEST_IN_RESULTS}
    return forms


def _inner(raw: bytes, shift: int, encode: Any) -> str:
    """The characters in the base64 of a longer text that depend on the key alone."""
    text = encode(b"\0" * shift + raw).decode().rstrip("=")
    whole = (shift + len(raw)) // 3 * 4  # the next text changes the last group, unless the key fills it
    return text[(0, 2, 3)[shift] : whole]
