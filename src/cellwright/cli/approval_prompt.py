"""Asks the person at the terminal about calls that wait for a yes. Knows the terminal, and no command.

Guest code may print, and what it prints may move cursors and change colours: while a question is open, nothing else may
be written, and what was typed before the question is no answer to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from cellwright.cli.keyboard import drained, typed_text
from cellwright.short_texts import one_line, printable

if TYPE_CHECKING:
    from cellwright.events import ApprovalWanted
    from cellwright.guard import ApproverReply
    from cellwright.store import Decision

NOBODY = "nobody can be asked here; run it in a terminal, or say yes to everything with --yes"
NOBODY_OF_FLOW = "nobody can be asked here, and --yes is no answer to this; run it in a terminal, or with --flow warn"
CHOICES = "[y/N, or why not] "
_AS_IT_WAS = "\x1b[!p\x1b[0m"  # soft reset: margins, character sets, a hidden cursor; then colours


class TerminalApprover:
    """Asks the person, one question at a time; with `yes` every answer is yes, but to questions of the data flow: who
    said yes beforehand has not seen where outsiders' text leads.

    Without a terminal, a kept session leaves the question for later, and any other session takes it as a no. While
    `asked` is true a question is open: other writers to the terminal wait until `answered` is called. `early` takes
    what was typed before a question, and several lines at once: a paste is no answer.
    """

    def __init__(self, *, yes: bool = False) -> None:
        self.asked = False
        self.answered: Callable[[], None] = lambda: None
        self.early: Callable[[bytes], None] = lambda _: None
        self._yes = yes
        self._turn = asyncio.Lock()

    async def approve(self, wanted: ApprovalWanted) -> ApproverReply:
        """For `Runtime(approve=…)` and `Agent(approve=…)`."""
        from cellwright.guard import LATER
        from cellwright.store import Decision

        if self._yes and not wanted.flow:
            return Decision(yes=True, reason="--yes", who=login()) if wanted.question else True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return LATER if wanted.question else NOBODY_OF_FLOW if wanted.flow else NOBODY
        async with self._turn:
            self.early(drained(sys.stdin.fileno()))
            self.asked = True
            try:
                typed = await self._answer(wanted)
            finally:
                self.asked = False
                self.answered()
        meant = _meant(typed, kept=bool(wanted.question))
        return LATER if meant is None else meant

    async def _answer(self, wanted: ApprovalWanted) -> str:
        from rich.console import Console

        where = Console(stderr=True)
        sys.stdout.flush()
        again = "" if where.is_dumb_terminal else _AS_IT_WAS
        choices = kept_choices(wanted.flow) if wanted.question else CHOICES
        call = below(f"{wanted.name}{wanted.arguments}")
        why = f"\n{why_words(wanted.why, wanted.flow)}" if wanted.why else ""
        words = f"cellwright: a call waits for your yes:\n    {call}{why}\nMake it? {choices}"
        while True:
            sys.stderr.write(f"{again}\r\n{words}")
            sys.stderr.flush()
            typed = await _line(sys.stdin.fileno())
            if typed:
                typed += drained(sys.stdin.fileno())
            text = typed_text(typed)
            if "\n" not in text[:-1]:
                return text
            self.early(typed)
            words = f"Several lines at once are no answer. Make it? {choices}"


def kept_choices(flow: str) -> str:
    """`flow` is the key of a question of the data flow: always is said of that alone."""
    return (
        f"[y/N, a: always{f' for {printable(one_line(flow))}' if flow else ''} in this session, l: later, or why not] "
    )


def why_words(why: str, flow: str) -> str:
    """Why a person is asked: in one line, so that nothing in it looks like a line of ours."""
    return f"{'Unusual' if flow else 'Asked because'}: {printable(one_line(why))}"


def below(text: str) -> str:
    """A text of others below a line of ours: each of its lines is indented."""
    return printable(text).replace("\n", "\n    ")


def login() -> str:
    """The login name of this process's user."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return "the person at the terminal"


def read_answer(flow: str) -> Decision | None:
    """The typed answer to a question that is on the screen; None for later. Blocks. `flow`: see `kept_choices`."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stderr.write(f"May it be made? {kept_choices(flow)}")
    sys.stderr.flush()
    return _meant(sys.stdin.readline(), kept=True)


async def _line(source: int) -> bytes:
    """The next typed line. Read by the event loop, so that Ctrl-C and the end of the cell end the wait."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    so_far = bytearray()

    def read() -> None:
        try:
            part = os.read(source, 4096)
        except OSError:  # the terminal is gone
            part = b""
        so_far.extend(part)
        if (not part or b"\n" in part) and not typed.done():
            typed.set_result(bytes(so_far))

    loop.add_reader(source, read)
    try:
        return await typed
    finally:
        loop.remove_reader(source)


def _meant(line: str, *, kept: bool) -> Decision | None:
    """Only `y` and `yes` mean yes; other text is the reason for a no. None: decide later, in a kept session."""
    from cellwright.store import Decision

    text = line.strip()
    word = text.lower()
    if kept and line.endswith("\n") and word in ("l", "later"):
        return None
    if kept and line.endswith("\n") and word in ("a", "always"):
        return Decision(yes=True, who=login(), always="session")
    if not line.endswith("\n") or word in ("", "n", "no"):
        return Decision(yes=False, who=login())
    yes = word in ("y", "yes")
    return Decision(yes=yes, reason="" if yes else text, who=login())
