"""Lines that a person types while a turn runs. Read on the turn's event loop; a question to that person goes first.

Knows the terminal, and not what a line means.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellwright.cli.asking import Person


class Meanwhile:
    """A context manager, on the loop. `take` is called with each line, without its end.

    While a question stands, `person` reads the terminal alone: its reader takes this one's place on the same loop, so
    that no line is read by the wrong one.
    """

    def __init__(self, person: Person, take: Callable[[str], None]) -> None:
        self._person = person
        self._take = take
        self._source = sys.stdin.fileno()
        self._so_far = b""

    def __enter__(self) -> Meanwhile:
        self._loop = asyncio.get_running_loop()
        self._before, self._person.answered = self._person.answered, self._answered
        self._listen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._person.answered = self._before
        self._loop.remove_reader(self._source)

    def _answered(self) -> None:
        self._before()
        self._so_far = b""
        self._listen()

    def _listen(self) -> None:
        if not self._person.asked:
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
