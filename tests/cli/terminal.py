"""A terminal with a command in it: what it shows, what is typed, with every wait bounded."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.cli.firm import environment

PATIENCE_S = 60.0
QUIET_S = 5.0
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x01|\x02")


class Terminal:
    """Runs `cellwright …` on a pseudo-terminal. A context manager; what still runs at its end is killed."""

    def __init__(
        self, *args: str, cwd: Path, columns: int = 100, rows: int = 40, environ: Mapping[str, str] | None = None
    ) -> None:
        self._args = [sys.executable, "-m", "cellwright", *args]
        self._cwd = cwd
        self._size = rows, columns
        settled = {
            name: value for name, value in environment(cwd).items() if name not in ("NO_COLOR", "COLUMNS", "LINES")
        }
        self._environ = {**settled, "TERM": "xterm-256color", **(environ or {})}
        self.raw = ""
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._seen = 0

    def __enter__(self) -> Terminal:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *self._size, 0, 0))
        # A session of its own with this as its terminal, so that a typed Ctrl-C is a signal.
        self.running = subprocess.Popen(
            self._args, cwd=self._cwd, env=self._environ, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait(PATIENCE_S)
        os.close(self._ours)

    @property
    def keys(self) -> int:
        """The descriptor that is typed on."""
        return self._ours

    def look(self, seconds: float) -> None:
        """Read what is shown meanwhile."""
        self._read(time.monotonic() + seconds)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        self.type("\x03")

    def interrupt_prompt(self) -> None:
        """Ctrl-C at the prompt, until something comes of it: one in the moment before readline waits is not heard."""
        for _ in range(int(PATIENCE_S / QUIET_S)):
            self.interrupt()
            deadline = time.monotonic() + QUIET_S
            while self._read(deadline):
                if self._more():
                    return
            if self.running.poll() is not None:
                return

    def _more(self) -> bool:
        """Whether more than the echo of the key has come, or the end."""
        return self.shown[self._seen :].replace("^C", "").strip() != "" or self.running.poll() is not None

    def until(self, text: str) -> str:
        """What is shown from the last such wait to this text, without colours; fails when it does not come."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.shown.find(text, self._seen)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} is not in {self.shown[self._seen :]!r}")
        before, self._seen = self._seen, found + len(text)
        return self.shown[before : self._seen]

    def end(self) -> int:
        """Reads to the end; gives the exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline):
            pass
        return self.running.wait(PATIENCE_S)

    @property
    def shown(self) -> str:
        return _CODES.sub("", self.raw.replace("\r\x1b[2K", "\n")).replace("\r\n", "\n")

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            part = os.read(self._ours, 65536)
        except OSError:  # EIO: the other side has closed
            return False
        self.raw += self._text.decode(part)
        return bool(part)


def screen(raw: str) -> list[str]:
    """The lines that are to be seen after all of this was written. As much of a terminal as a page needs."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.", raw, re.DOTALL):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\x1b[1A":
            row -= 1
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
