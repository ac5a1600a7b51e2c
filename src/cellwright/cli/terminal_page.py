"""A stream that may close, and lines on it. On a terminal the latest lines can be taken back.

Knows nothing of agents. Where there is no terminal it writes whole lines and no control codes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|\b(?:mailto|data|javascript|tel|sms):|\bwww\.)[^\s<>\"'`)\]]+", re.IGNORECASE
)
LINK = "underline cyan"
_WORDS = re.compile(r"\n|[^\S\n]+|\S+")


def harmless(text: str) -> str:
    """Text of guest code or a model, for a terminal: it moves no cursor, reverses no line, hides no text."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def marked(text: str, style: str = "") -> Text:
    """An answer for a terminal: its text as it is, with links marked. Nothing that it names is loaded."""
    from rich.text import Text

    shown = Text(harmless(text), style)
    shown.highlight_regex(_LINK, LINK)
    return shown


class Outlet:
    """A stream whose reader may leave, as `head` does: then it drops what is written, and calls `on_close` once.

    So it does where the stream cannot be written, as on a full disk; stderr tells why.
    """

    def __init__(self, stream: TextIO, on_close: Callable[[], object] | None = None) -> None:
        self.closed_early = False
        self.on_close = on_close
        self._stream = stream

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        if not self.closed_early:
            try:
                return self._stream.write(text)
            except OSError as error:
                self._close(error)
        return len(text)

    def flush(self) -> None:
        if not self.closed_early:
            try:
                self._stream.flush()
            except OSError as error:
                self._close(error)

    def _close(self, error: OSError) -> None:
        self.closed_early = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        if not isinstance(error, BrokenPipeError) and self._stream is not sys.stderr:
            print(f"cellwright: cannot write the output: {error.strerror}", file=sys.stderr, flush=True)
        if self.on_close is not None:
            self.on_close()


class TerminalPage:
    """Lines, one below the other. `live`: a terminal, on which text may grow and be taken back."""

    def __init__(self, stream: TextIO, *, console: Console | None = None) -> None:
        from rich.console import Console

        self.outlet = Outlet(stream)
        self.console = console or Console(file=self.outlet, highlight=False)  # pyright: ignore[reportArgumentType] - as much of a file as rich needs
        self.live = self.console.is_terminal and not self.console.is_dumb_terminal and stream.isatty()
        self._column = 0
        self._rows = 0  # since the last `mark`
        self._held = ""  # the beginning of a word
        self._noted = False

    # whole lines

    def line(self, words: str | Text = "", style: str = "", *, before: str = "") -> None:
        """One line; a long one is wrapped. `before` stands in front of each part."""
        from rich.text import Text

        text = Text(words, style) if isinstance(words, str) else words
        self.fresh()
        for part in self._parts(text, len(before)):
            self._print(Text.assemble((before, "dim"), part), end="\n")
            self._rows += 1

    def _parts(self, text: Text, used: int) -> list[Text]:
        parts: list[Text] = []
        for line in text.split("\n", allow_blank=True):
            if self.live and line.cell_len > self.console.width - used:
                parts += line.wrap(self.console, max(self.console.width - used, 8), overflow="fold")
            else:
                parts.append(line)
        return parts

    # text that grows

    def say(self, text: str, style: str = "") -> None:
        """More of a text, wrapped between words."""
        tokens = _WORDS.findall(self._held + text)
        self._held = tokens.pop() if tokens and not tokens[-1].isspace() else ""  # more of the word may come
        for token in tokens:
            self._token(token, LINK if _LINK.search(token) else style)

    def _token(self, token: str, style: str = "") -> None:
        from rich.cells import cell_len
        from rich.text import Text

        width = self.console.width
        if token == "\n" or (self._column and self._column + cell_len(token) > width):
            self._newline()
        if token == "\n" or (not token.strip() and not self._column and self._rows):
            return
        self._erase_note()
        self._print(Text(token, style), end="")
        self._column += cell_len(token)
        self._rows += (self._column - 1) // width
        self._column = (self._column - 1) % width + 1

    def fresh(self) -> None:
        """End a line that has begun."""
        self._erase_note()
        if self._held:
            held, self._held = self._held, ""
            self._token(held, LINK if _LINK.search(held) else "")
        if self._column:
            self._newline()

    def _newline(self) -> None:
        self._erase_note()
        self._print("", end="\n")
        self._rows += 1
        self._column = 0

    # and taken back

    def mark(self) -> None:
        """What is written from here on may be taken back."""
        self.fresh()
        self._rows = 0

    def withdraw(self) -> bool:
        """Take back what was written since the mark. False where it cannot be: no terminal, or it has scrolled away."""
        self._held = ""
        self._erase_note()
        rows, self._rows = self._rows, 0
        if not self.live or rows >= self.console.height:
            self.fresh()
            return False
        self._control("\r\x1b[2K" + "\x1b[1A\x1b[2K" * rows)
        self._column = 0
        return True

    def note(self, words: str) -> None:
        """A line that is erased when the next one is written. Only on a terminal, and not in the middle of a line."""
        from rich.text import Text

        if self.live and not self._column and not self._held:
            self._erase_note()
            text = Text(words, "dim", no_wrap=True, overflow="ellipsis")
            text.truncate(max(self.console.width - 1, 1), overflow="ellipsis")
            self._print(text, end="")
            self._noted = True

    def _erase_note(self) -> None:
        if self._noted:
            self._noted = False
            self._control("\r\x1b[2K")

    def _control(self, codes: str) -> None:
        self.outlet.write(codes)
        self.outlet.flush()

    def _print(self, text: str | Text, end: str) -> None:
        self.console.print(text, end=end, soft_wrap=True, markup=False)
