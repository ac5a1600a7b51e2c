"""Lines from a person at a terminal, with a history that is kept; or from a pipe. Knows nothing of what they mean."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

PROMPT = "> "
_KEPT = 1000  # lines of history


class Keyboard:
    """`terminal`: somebody is there, who can be asked."""

    def __init__(self, history: Path | None) -> None:
        self.terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._history = history if self.terminal else None
        if self._history is not None:
            with suppress(ImportError, OSError):  # a Python without readline, a history that cannot be read: none
                import readline

                readline.set_history_length(_KEPT)
                readline.read_history_file(self._history)

    def line(self) -> str | None:
        """The next line; None at the end. A backslash at its end goes on in the next."""
        text = self._ask(PROMPT if self.terminal else "")
        while text is not None and text.endswith("\\"):
            more = self._ask("… " if self.terminal else "")
            text = f"{text[:-1]}\n{more or ''}"
        return text

    def yes(self, question: str) -> bool:
        """Whether the person says yes; where nobody is there, no."""
        return self.terminal and (self._ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")

    def close(self) -> None:
        if self._history is not None:
            with suppress(ImportError, OSError):
                import readline

                self._history.parent.mkdir(parents=True, exist_ok=True)
                self._history.touch(mode=0o600)
                readline.write_history_file(self._history)

    def _ask(self, prompt: str) -> str | None:
        try:
            return input(prompt)
        except EOFError:
            return None
