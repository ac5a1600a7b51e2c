"""Lines that a person types: between turns (`Keyboard`, or a pipe), and while one runs (`TypedLines`).

Knows the terminal, and not what a line means.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellwright.cli.approval_prompt import TerminalApprover

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


class TypedLines:
    """A context manager on the turn's event loop. `take` is called with each line, without its end.

    While a question to the person is open, only `approver` reads the terminal: its reader replaces this one on the same
    loop, so that no line goes to the wrong reader.
    """

    def __init__(self, approver: TerminalApprover, take: Callable[[str], None]) -> None:
        self._approver = approver
        self._take = take
        self._source = sys.stdin.fileno()
        self._so_far = b""

    def __enter__(self) -> TypedLines:
        self._loop = asyncio.get_running_loop()
        self._before, self._approver.answered = self._approver.answered, self._answered
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._approver.answered = self._before
        self._loop.remove_reader(self._source)

    def _answered(self) -> None:
        self._before()
        self._so_far = b""
        self._listen()

    def _listen(self) -> None:
        if not self._approver.asked:
            self._loop.add_reader(self._source, self._read)

    def _read(self) -> None:
        try:
            part = os.read(self._source, 4096)
        except OSError:  # the terminal is gone
            part = b""
        if not part:  # Ctrl-D, or the end: the prompt will see it
            self._loop.remove_reader(self._source)
            return
        *lines, self._so_far = (self._so_far + part).split(b"\n")
        for number, line in enumerate(lines):
            if line.endswith(b"\\"):  # it goes on in the next
                self._so_far = b"\n".join((line[:-1], *lines[number + 1 :], self._so_far))
                return
            self._take(line.decode("utf-8", "replace"))
