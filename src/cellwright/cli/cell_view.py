"""The parts of a cell as a person sees them: code, calls, prints. Knows a page, and no turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cellwright.cli.terminal_page import harmless
from cellwright.short_texts import cut

if TYPE_CHECKING:
    from cellwright.cli.terminal_page import TerminalPage
    from cellwright.events import CallFinished

BAR = "│ "
IN = "  "
LINES = 60  # of what one cell prints; the model reads more


def time_words(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:.{0 if seconds >= 0.01 else 1}f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def short(text: str) -> str:
    return cut(harmless(text.strip().partition("\n")[0]), 100)


class CodeView:
    """Code as the model writes it: each line is highlighted when it is complete, and not redrawn."""

    def __init__(self, page: TerminalPage) -> None:
        self._page = page
        self._text = ""
        self._shown = 0  # lines
        self._syntax: Any = None

    def clear(self) -> None:
        self._text, self._shown = "", 0

    @property
    def begun(self) -> bool:
        return bool(self._text)

    def more(self, text: str) -> None:
        self._text += text
        if "\n" in text:
            self._lines(self._text[: self._text.rfind("\n") + 1])

    def flush(self) -> None:
        if self._text[-1:] not in ("", "\n"):
            self._text += "\n"
            self._lines(self._text)

    def whole(self, code: str) -> None:
        """The complete cell. Lines that were shown while it was written are not shown again."""
        self.flush()
        if code.strip() not in self._text:
            self.clear()
            self._text = code.strip("\n") + "\n"
            self._lines(self._text)

    def _lines(self, code: str) -> None:
        from rich.syntax import Syntax

        if self._syntax is None:
            self._syntax = Syntax("", "python", theme="ansi_dark", background_color="default")
        # All code is highlighted again for each line: a quote that began lines above decides how this line looks.
        lines = self._syntax.highlight(harmless(code)).split("\n")
        for line in lines[self._shown :]:
            self._page.line(line, before=BAR)
        self._shown = len(lines)


class CallsView:
    """Calls that have ended. Those of one name that follow each other are one line."""

    def __init__(self, page: TerminalPage) -> None:
        self._page = page
        self._name = ""
        self._count = 0
        self._seconds = 0.0

    def add(self, event: CallFinished) -> None:
        if event.name != self._name or event.error:
            self.flush()
        self._name, self._count, self._seconds = event.name, self._count + 1, self._seconds + event.duration_s
        if event.error:
            self._line(short(event.error))
        else:
            self._page.note(f"{IN}→ {self._words()}")

    def flush(self) -> None:
        if self._count:
            self._line("")

    def _words(self) -> str:
        return self._name + (f" ×{self._count}" if self._count > 1 else "")

    def _line(self, error: str) -> None:
        from rich.text import Text

        words = Text.assemble(
            ("→ ", "cyan"), (harmless(self._words()), "cyan"), (f"  {time_words(self._seconds)}", "dim")
        )
        if error:
            words.append(f"  {error}", "yellow")
        self._page.line(words, before=IN)
        self._name, self._count, self._seconds = "", 0, 0.0


class PrintsView:
    """What a cell prints, line by line, up to a number of lines."""

    def __init__(self, page: TerminalPage) -> None:
        self._page = page
        self._part = ""
        self._lines = 0

    def clear(self) -> None:
        self._part, self._lines = "", 0

    @property
    def any(self) -> bool:
        return bool(self._lines)

    def more(self, text: str) -> None:
        *lines, self._part = (self._part + text).split("\n")
        for line in lines:
            self._line(line)

    def flush(self) -> None:
        if self._part:
            self._line(self._part)
        self._part = ""

    def end(self) -> None:
        if self._lines > LINES:
            self._page.line(f"… {self._lines - LINES:,} more lines", "dim", before=IN)
        self.clear()

    def _line(self, line: str) -> None:
        self._lines += 1
        if self._lines <= LINES:
            self._page.line(line, before=IN)
