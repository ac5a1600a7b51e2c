"""A reply as it streams, told as text and as code: the fence is taken off, the JSON of a call is decoded on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from toolwright.agent.reading import EXECUTE
from toolwright.events import CodePiece, Event, TextPiece
from toolwright.messages import Piece

_OPENING = re.compile(r'^\s*\{\s*"code"\s*:\s*"')
_FENCE = re.compile(r"^[ \t]*`{3,}[ \t]*(?:python3?|py)?[ \t]*\n", re.MULTILINE)
_CLOSING = re.compile(r"^[ \t]*`{3,}[ \t]*$", re.MULTILINE)


class Pieces:
    """Hears the pieces of one reply. What cannot be told yet, because more may change it, waits for the next piece."""

    def __init__(self, tell: Callable[[Event], None], *, fenced: bool) -> None:
        self._tell = tell
        self._fenced = fenced
        self._text = ""
        self._in_code = False
        self._calls: dict[int, _Call] = {}

    def hear(self, piece: Piece) -> None:
        if piece.restart:
            self._text, self._in_code, self._calls = "", False, {}
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
            mark = (_CLOSING if self._in_code else _FENCE).search(self._text)
            if mark is None:
                break
            self._say(self._text[: mark.start()])
            self._text = self._text[mark.end() :]
            self._in_code = not self._in_code
        # A line that may still turn out to be a fence is held back.
        line = self._text.rfind("\n") + 1
        held = len(self._text) if last or not self._text[line:].lstrip().startswith("`") else line
        self._say(self._text[:held])
        self._text = self._text[held:]

    def _say(self, text: str) -> None:
        if text:
            self._tell(CodePiece(text=text) if self._in_code else TextPiece(text=text))


class _Call:
    """The arguments of one `execute`, as far as they are there."""

    def __init__(self) -> None:
        self._raw = ""
        self._told = 0

    def more(self, text: str) -> str:
        self._raw += text
        opening = _OPENING.match(self._raw)
        if opening is None:
            return ""
        body = self._raw[opening.end() :]
        end = re.search(r'(?<!\\)(?:\\\\)*"', body)
        body = body[: end.end() - 1] if end else re.sub(r"\\(u[0-9a-fA-F]{0,3})?$", "", body)
        try:
            code: str = json.loads(f'"{body}"', strict=False)
        except ValueError:
            return ""  # an escape that is cut in two
        fresh, self._told = code[self._told :], max(self._told, len(code))
        return fresh
