"""Lines that a person types or pastes: between turns (`Keyboard`, or a pipe), and while one runs (`TypedLines`).

Knows the terminal, and not what a line means.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cellwright.cli.terminal_page import harmless

if TYPE_CHECKING:
    from cellwright.cli.approval_prompt import TerminalApprover

PROMPT, GOES_ON = "> ", "… "
_KEPT = 1000  # lines of history
_LONGEST = 5_000  # characters of a message in the history
_SHOWN = 20  # lines of a paste
_QUIET_S = 0.05  # a paste has no longer gap,
_LATE_S = 1.0  # except in the middle of a character or an escape sequence, and where it is more than a terminal holds
_HOLDS = 4_000
_CUT = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2}|\x1b(?:\[[0-9]*)?)\Z")
_PASTE_MARKS = re.compile(rb"\x1b\[20[01]~")
_CTRL_D = "\x04"


def drained(source: int) -> bytes:
    """Everything that is there to read, to the end of a paste, with the beginning of a line that is not ended."""
    import termios

    read = bytearray()
    with suppress(OSError, termios.error):  # the terminal is gone
        before, single = termios.tcgetattr(source), termios.tcgetattr(source)
        single[0] &= ~termios.ICRNL
        single[3] &= ~(termios.ICANON | termios.ECHO)  # a canonical terminal holds such a beginning back
        termios.tcsetattr(source, termios.TCSANOW, single)
        try:
            while select.select([source], [], [], _gap_s(read))[0]:
                if not (part := os.read(source, 65536)):
                    break
                read += part
        finally:
            termios.tcsetattr(source, termios.TCSANOW, before)
    return bytes(read)


def _gap_s(read: bytearray) -> float:
    """How long more may be on its way."""
    return _LATE_S if len(read) > _HOLDS or _CUT.search(read[-4:]) else _QUIET_S


def typed_text(raw: bytes) -> str:
    """The text, with `\\n` at the end of each line."""
    text = _PASTE_MARKS.sub(b"", raw).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def messages_in(lines: Sequence[str], alone: Callable[[str], object]) -> Iterator[str]:
    """Lines that came together are one message; those at the beginning that stand `alone` are messages themselves."""
    first = next((number for number, line in enumerate(lines) if not alone(line)), len(lines))
    yield from lines[:first]
    if first < len(lines):
        yield "\n".join(lines[first:])


class Keyboard:
    """`terminal`: somebody is there, who can be asked. `alone`: whether a line is a message of its own in any case."""

    def __init__(self, history: Path | None, alone: Callable[[str], object]) -> None:
        self.terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self.dropped = False  # by the last Ctrl-C: text that was typed
        self.alone = alone
        self._history = history if self.terminal else None
        self._lines: deque[str] = deque()  # read ahead of their use
        self._begun = ""  # the line after them, which has no end yet
        self._over = False  # after them
        typed: object = sys.stdin
        if isinstance(typed, io.TextIOWrapper):
            cast(io.TextIOWrapper, typed).reconfigure(errors="replace")
        if self._history is not None:
            with suppress(ImportError, OSError):  # a Python without readline, a history that cannot be read: none
                import readline

                readline.parse_and_bind("set enable-bracketed-paste on")  # Python sets it off
                readline.set_auto_history(False)
                readline.set_history_length(_KEPT)
                readline.read_history_file(self._history)

    def line(self) -> str | None:
        """The next message; None at the end. A backslash at the end of a line goes on in the next.

        Lines of a terminal that are there together, as those of a paste are, are one message.
        """
        if not self.terminal:
            return self._of_pipe()
        self.dropped = False
        try:
            text = self._message()
        except KeyboardInterrupt:
            self._begun = ""
            raise
        if text and len(text) <= _LONGEST:
            with suppress(ImportError):
                import readline

                readline.add_history(text)
        return text

    def keep(self, raw: bytes) -> None:
        """What was read from the terminal and not used belongs to the next message."""
        *lines, self._begun = (self._begun + typed_text(raw)).split("\n")
        for line in (*lines, self._begun):
            self._over = self._over or line.startswith(_CTRL_D)
        if self._over:
            lines, self._begun = [line for line in lines if not line.startswith(_CTRL_D)], ""
        self._lines += lines

    def yes(self, question: str) -> bool:
        """Whether the person says yes; where nobody is there, no. What was typed before the question is no answer."""
        if not self.terminal:
            return False
        self.keep(drained(sys.stdin.fileno()))
        return (self._ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")

    def close(self) -> None:
        if self._history is not None:
            with suppress(ImportError, OSError):
                import readline

                self._history.parent.mkdir(parents=True, exist_ok=True)
                self._history.touch(mode=0o600)
                readline.write_history_file(self._history)

    def _of_pipe(self) -> str | None:
        text = sys.stdin.readline()
        while text.endswith("\\\n"):
            text = f"{text[:-2]}\n{sys.stdin.readline()}"
        return text.removesuffix("\n") if text else None

    def _message(self) -> str | None:
        taken: list[str] = []
        shown = 0
        while True:
            prompt = GOES_ON if taken else PROMPT
            if self._lines:
                line = self._lines.popleft()
                shown += 1
                if shown <= _SHOWN:
                    print(f"{prompt}{harmless(line)}")
                elif not self._lines:
                    print(f"{GOES_ON}({shown - _SHOWN:,} more lines)")
            elif self._over or (line := self._next(prompt, bool(taken))) is None:
                return "\n".join(taken) if taken else None
            more = bool(self._lines or self._begun)
            goes_on = line.endswith("\\") and not more  # in the middle of a paste it is a character as any other
            taken.append(line[:-1] if goes_on else line)
            if not goes_on and (not more or (len(taken) == 1 and self.alone(line))):
                return "\n".join(taken)

    def _next(self, prompt: str, again: bool) -> str | None:
        """The next line that is typed; those that are there with it are kept."""
        begun, self._begun = self._begun, ""
        try:
            line = self._ask(prompt, begun)
            if line is not None:
                self.keep(drained(sys.stdin.fileno()).removeprefix(b"\n"))  # of "\r\n": the line ended with the first
        except KeyboardInterrupt:
            self.dropped = again or bool(_edited())
            raise
        return line

    def _ask(self, prompt: str, begun: str = "") -> str | None:
        """One line; it begins with `begun`, which the person may change."""
        try:
            import readline
        except ImportError:
            readline = None
        try:
            if readline is None or not begun:
                return begun + input(prompt + begun)
            readline.set_startup_hook(lambda: readline.insert_text(begun))
            try:
                return input(prompt)
            finally:
                readline.set_startup_hook()
        except EOFError:
            return None


def _edited() -> str:
    """What stands in the line that Ctrl-C left."""
    try:
        import readline
    except ImportError:
        return ""
    return readline.get_line_buffer()


class TypedLines:
    """A context manager on the turn's event loop. `take` is called with each message; lines of a paste are one.

    While a question to the person is open, only `approver` reads the terminal: its reader replaces this one on the same
    loop, so that no line goes to the wrong reader. A line without its end is left to the keyboard.
    """

    def __init__(self, approver: TerminalApprover, keyboard: Keyboard, take: Callable[[str], None]) -> None:
        self._approver = approver
        self._keyboard = keyboard
        self._take = take
        self._source = sys.stdin.fileno()
        self._raw = bytearray()
        self._held: list[str] = []  # lines that go on in the next
        self._pause: asyncio.TimerHandle | None = None

    def __enter__(self) -> TypedLines:
        self._loop = asyncio.get_running_loop()
        approver = self._approver
        self._before = approver.answered, approver.early
        approver.answered, approver.early = self._answered, self._early
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._approver.answered, self._approver.early = self._before
        self._loop.remove_reader(self._source)
        self._give()
        if self._held:
            self._take("\n".join(self._held))
        self._keyboard.keep(bytes(self._raw))

    def _answered(self) -> None:
        self._before[0]()
        self._give()
        self._listen()

    def _early(self, raw: bytes) -> None:
        if not self._approver.asked:
            self._raw += raw
            self._give()
        else:  # no part of a line that was begun before the question
            self._raw += b"\n" + raw if self._raw else raw

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
        self._raw += part
        if self._pause is not None:
            self._pause.cancel()
        self._pause = self._loop.call_later(_gap_s(self._raw), self._give)

    def _give(self) -> None:
        """What came until now, in messages."""
        if self._pause is not None:
            self._pause.cancel()
        ended = max(self._raw.rfind(b"\n"), self._raw.rfind(b"\r")) + 1
        if not ended:
            return
        lines = [*self._held, *typed_text(bytes(self._raw[:ended])).split("\n")[:-1]]
        del self._raw[:ended]
        if lines and lines[-1].endswith("\\") and not self._raw:
            self._held = [*lines[:-1], lines[-1][:-1]]
            return
        self._held = []
        for message in messages_in(lines, self._keyboard.alone):
            self._take(message)
