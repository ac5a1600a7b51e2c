"""Reads the header of a large frame in pieces: json's scanner is C code, which gives other threads no turn.

The text is what a guest sent. Pieces are cut between the items of a container, and json reads each of them; so what
json refuses in the whole text is refused in a piece of it. It does not know what the trees stand for.
"""

from __future__ import annotations

import re
from typing import Any

from cellwright_guest.framing import load
from cellwright_guest.wire import type_of

PIECE = 1 << 16  # characters
REACH = 1 << 16  # characters that one search goes through
TEXT = 1 << 24  # characters of a text: longer ones are blobs, and json reads it at once
DEPTH = 900  # of containers in each other; a value has fewer levels by far

_ATOM = r'[^"\[\]{}\s]{1,4000}+'  # numbers, names, commas and colons
_CHARACTERS = r'(?:[^"\\]|\\.)'  # of a text
_TEXT = rf'"{_CHARACTERS}{{0,4000}}+"'
_UNIT = rf"(?:{_ATOM}|{_TEXT}|[\[{{](?:{_ATOM}|{_TEXT}){{0,50}}+[\]}}])"  # the last one is a small container
_ONE = re.compile(rf"{_UNIT}?+")
_MANY = re.compile(rf"{_UNIT}{{0,100}}+")
_REST = re.compile(r'[^",\[\]{}\s]{0,5000}+')  # of an atom
_LONG = re.compile(rf"{_CHARACTERS}{{0,4000}}+")  # of a text that is no unit


def read(text: str) -> Any:
    """What `json.loads` gives for a list without white space between its parts. Raises what json raises."""
    try:
        return _Reader(text).read()
    except (IndexError, AttributeError):  # the text ends too early, or a key is none
        raise ValueError("no JSON text") from None


class _Reader:
    """`_made` are the open containers that are put together here; `_places` where all open ones begin.

    Whatever else is open is still text, from `_done` on, and is read by json.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._done = 1
        self._after_comma = False  # just before `_done`, so that an item follows
        self._made: list[Any] = [[]]
        self._places = [0]
        self._keys: list[str] = []  # under which each of `_made` but the first belongs to the one around it

    def read(self) -> Any:
        text, whole = self._text, self._made[0]
        if text[0] != "[":
            raise ValueError("no list")
        while self._places:
            units = _MANY if self._at - self._done <= PIECE else _ONE
            self._at = self._end(units, self._at)
            here = text[self._at]
            if here in "[{" and len(self._places) < DEPTH:
                self._places.append(self._at)
                self._at += 1
            elif here in "]}":
                self._places.pop()
                self._at += 1
                if len(self._places) < len(self._made):
                    self._close(here)
            elif here == '"':
                self._at = self._end_of_text()
            elif here in "[{" or here.isspace():
                raise ValueError("no JSON text of a guest")
            if self._at - self._done > PIECE:
                self._cut()
        if self._at != len(text):
            raise ValueError("text after the list")
        return whole

    def _end(self, units: re.Pattern[str], at: int) -> int:
        found = units.match(self._text, at, at + REACH)
        return at if found is None else found.end()

    def _end_of_text(self) -> int:
        """Of one that is too long for a unit."""
        at, before = self._at + 1, self._at
        while at > before and at - self._at <= TEXT:
            at, before = self._end(_LONG, at), at
        if self._text[at] != '"' or at - self._at > TEXT:
            raise ValueError("a text without an end, or longer than a guest writes")
        return at + 1

    def _cut(self) -> None:
        """Have json read what is whole; what is not is opened, if it is large."""
        while len(self._places) > len(self._made) and self._at - self._done > PIECE:
            self._open(self._places[len(self._made)])
        if len(self._places) == len(self._made):
            end = self._at - 1 if self._text[self._at - 1] == "," else self._end(_REST, self._at)
            if end >= self._done and self._text[end] == ",":
                self._take(self._text[self._done : end])
                self._done, self._after_comma = end + 1, True
                self._at = max(self._at, self._done)

    def _take(self, items: str) -> None:
        """Items of the innermost container, with commas between them."""
        if not items:
            raise ValueError("a comma without an item")
        inner = self._made[-1]
        if type_of(inner) is list:
            inner.extend(load(f"[{items}]"))
        else:
            inner.update(load(f"{{{items}}}"))

    def _open(self, place: int) -> None:
        before = self._text[self._done : place]
        if type_of(self._made[-1]) is list:
            if before:
                if before[-1] != ",":
                    raise ValueError("an item without a comma")
                self._take(before[:-1])
            self._keys.append("")
        else:
            if before[-1] != ":":
                raise ValueError("a value without a key")
            pairs = f"{before}0"
            self._take(pairs)
            self._keys.append(_last_key(pairs))
        self._made.append([] if self._text[place] == "[" else {})
        self._done, self._after_comma = place + 1, False

    def _close(self, bracket: str) -> None:
        inner = self._made[-1]
        if (bracket == "]") != (type_of(inner) is list):
            raise ValueError("a bracket that closes another")
        items = self._text[self._done : self._at - 1]
        if items:
            self._take(items)
        elif self._after_comma:
            raise ValueError("a comma without an item")
        self._made.pop()
        self._done, self._after_comma = self._at, False
        if not self._made:
            return
        if type_of(self._made[-1]) is list:
            self._made[-1].append(inner)
            self._keys.pop()
        else:
            self._made[-1][self._keys.pop()] = inner
        if self._text[self._at] == ",":
            self._at = self._done = self._at + 1
            self._after_comma = True
        elif self._text[self._at] not in "]}":
            raise ValueError("items without a comma")


def _last_key(pairs: str) -> Any:
    """The key of the last of some pairs, which may stand among them before, too."""
    return load(f"{{{pairs}}}", lambda items: items[-1][0] if items else None)
