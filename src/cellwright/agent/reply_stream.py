"""A reply as it streams, split into text and code: fences are removed, the JSON of a call is decoded on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Literal

from cellwright.agent.steps import EXECUTE, PYTHON
from cellwright.events import CodePiece, Event, TextPiece
from cellwright.messages import Piece

_OPENING = re.compile(r'^\s*\{\s*"code"\s*:\s*"')
# What of a JSON string is whole: an escape that is cut in two, and half of a pair, wait for the rest.
_WHOLE = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*'
)
_FENCE = re.compile(r"[ \t]*`{3,}[ \t]*([\w+-]*)[^`]*$")


class ReplyStream:
    """Takes the pieces of one reply. A part that the next piece may change waits for it."""

    def __init__(self, tell: Callable[[Event], None], *, fenced: bool) -> None:
        self._tell = tell
        self._fenced = fenced
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._fresh = True  # nothing of the line was told yet
        self._inside: Literal["", "code", "other"] = ""
        self._calls: dict[int, _Call] = {}

    def hear(self, piece: Piece) -> None:
        if piece.restart:
            self._begin()
            self._tell(TextPiece(text="", restart=True))
        if piece.kind == "call":
            if piece.name == EXECUTE and piece.call not in self._calls:
                if self._calls:
                    self._tell(CodePiece(text="\n"))  # the next cell begins on a line of its own
                self._calls[piece.call] = _Call()
            known = self._calls.get(piece.call)
            if known is not None and (code := known.more(piece.text)):
                self._tell(CodePiece(text=code))
        elif not self._fenced:
            self._say(piece.text)
        else:
            self._text += piece.text
            self._sort(last=False)

    def end(self) -> None:
        self._sort(last=True)

    def _sort(self, *, last: bool) -> None:
        while self._text:
            line, newline, rest = self._text.partition("\n")
            if self._fresh and (not line.strip() or line.lstrip().startswith("`")):
                if not newline and not last:
                    return  # it may still turn out to be a fence
                if self._turns(line):
                    self._text = rest
                    continue
            self._say(line + newline)
            self._fresh, self._text = bool(newline), rest

    def _turns(self, line: str) -> bool:
        """Whether the line is a fence; it switches between text and code."""
        fence = _FENCE.match(line)
        if fence is None or (self._inside and fence[1]):
            return False
        before, self._inside = self._inside, "" if self._inside else "code" if fence[1].lower() in PYTHON else "other"
        if "other" in (before, self._inside):
            self._tell(TextPiece(text=f"{line}\n"))
        return True

    def _say(self, text: str) -> None:
        if text:
            self._tell(CodePiece(text=text) if self._inside == "code" else TextPiece(text=text))


class _Call:
    """The arguments of one `execute`, as far as they have arrived."""

    def __init__(self) -> None:
        self._raw = ""
        self._open = self._ended = False

    def more(self, text: str) -> str:
        """The code that is known by this piece."""
        if self._ended:
            return ""
        self._raw += text
        if not self._open:
            opening = _OPENING.match(self._raw)
            if opening is None:
                return ""
            self._open, self._raw = True, self._raw[opening.end() :]
        whole = _WHOLE.match(self._raw)
        known = whole[0] if whole is not None else ""
        self._raw = self._raw[len(known) :]
        self._ended = self._raw.startswith('"')
        return json.loads(f'"{known}"', strict=False)
