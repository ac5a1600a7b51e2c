"""The commands of a chat: `/undo`, `/fork`, and so on. Each is a method of `SlashCommands`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cellwright.cli.terminal_page import harmless
from cellwright.cli.turn_view import usage_words
from cellwright.errors import CellwrightError, RollbackRefused
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.cli.chat import Chat

_COMMAND = re.compile(r"/([A-Za-z?]*)(?:\s+(.*))?", re.DOTALL)
HELP = {
    "undo": "take the last turn back: its calls, names, files and words",
    "fork": "go on in a copy of this session; `/fork NAME` names it",
    "continue": "go on with a turn that waited for a yes",
    "giveup": "end a turn that waits for a yes, in the place of going on",
    "cost": "what the last turn and the session took",
    "rung": "the sandbox this session runs in, and what isolates it",
    "help": "this list",
    "exit": "leave; Ctrl-D does too",
}
DURING_TURN = {
    "ask": "a question: it is answered, and the task goes on",
    "redirect": "another task, in the place of this one",
    "cancel": "end the turn at its next step; Ctrl-C ends it now",
}


def command_in(line: str) -> tuple[str, str] | None:
    """The command and what follows it; None where the text is a task, as "/etc/hosts is odd" and several lines are."""
    found = _COMMAND.fullmatch(line.strip())
    if found is None or ("\n" in found[0] and found[1].lower() not in ("ask", "redirect")):
        return None
    return found[1].lower(), (found[2] or "").strip()


class SlashCommands:
    """The slash commands of one chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._page = chat.page

    def carry_out(self, name: str, rest: str) -> bool:
        """False where the chat is over."""
        match name:
            case "exit" | "quit" | "q":
                return False
            case "undo":
                self._undo(yes=rest == "yes")
            case "fork":
                self._fork(rest or None)
            case "continue":
                self._chat.carry_on()
            case "giveup":
                self._chat.do(self._chat.session.give_up())
                self._page.line("given up; names and files are as they were before the cell")
            case "cost":
                self._cost()
            case "rung":
                self._rung()
            case "help" | "h" | "?" | "":
                self._help()
            case "ask" | "redirect" | "cancel":
                self._page.line(f"cellwright: no turn is running; /{name} is for while one is", "yellow")
            case _:
                self._page.line(f"cellwright: there is no /{name}; /help lists what there is", "yellow")
        return True

    def during_turn(self, line: str) -> None:
        """A line that was typed while a turn runs: a message to the turn, which sees it at its next step."""
        from cellwright.journal import LONGEST_MESSAGE

        session, command = self._chat.session, command_in(line)
        self._page.mark()  # what was written above the line cannot be taken back any more
        try:
            match command:
                case None if len(line) > LONGEST_MESSAGE:
                    self._chat.too_long.append(line.strip())
                    self._page.line(f"more than {LONGEST_MESSAGE:,} characters: the next task", "yellow")
                case None:
                    if line.strip():
                        session.tell(line.strip())
                case ("ask", text):
                    session.ask(text)
                case ("redirect", text):
                    session.redirect(text)
                case ("cancel", _):
                    session.cancel()
                case (name, _):
                    self._page.line(f"cellwright: /{name} can be typed when the turn is over", "yellow")
        except CellwrightError as error:
            self._page.line(f"cellwright: {harmless(str(error))}", "red")

    def _undo(self, *, yes: bool) -> None:
        try:
            undone = self._chat.do(self._chat.session.undo(yes=yes))
        except RollbackRefused as refused:
            self._page.line("This cannot be undone, and stays done:")
            for effect in refused.left:
                self._page.line(harmless(effect), "yellow", before="  ")
            if not self._chat.keyboard.terminal:
                self._page.line("`/undo yes` undoes the rest; nothing was done.")
                return
            if not self._chat.keyboard.yes("Undo the rest?"):
                self._page.line("nothing was done", "dim")
                return
            undone = self._chat.do(self._chat.session.undo(yes=True))
        self._page.line(harmless(str(undone)))

    def _fork(self, id: str | None) -> None:
        before = self._chat.session.id
        self._chat.go_on_in(self._chat.session.fork(id))
        self._page.line(f"in {self._chat.session.id} now, a fork; {before} stays as it is")

    def _cost(self) -> None:
        tally = self._chat.view.tally
        self._page.line(f"last turn  {usage_words(tally.turn)}")
        self._page.line(f"session    {usage_words(tally.session)}")

    def _rung(self) -> None:
        from cellwright.sandboxes import STANDARD, probe_layers

        report = self._chat.do(probe_layers())
        there = [finding.name for finding in report.findings if finding.ok]
        missing = [f"{f.name}{'' if f.name in STANDARD else ' (optional)'}" for f in report.findings if not f.ok]
        asked = Settings.from_environment().sandbox
        lower = asked == "landlock" or (asked == "best" and not report.ok)
        self._page.line(f"rung     {'landlock: no namespaces' if lower else 'process: CPython in a kernel jail'}")
        self._page.line(f"layers   {', '.join(there)}")
        if missing:
            self._page.line(f"missing  {', '.join(missing)}; `cellwright doctor` says what adds them", "yellow")

    def _help(self) -> None:
        for name, words in HELP.items():
            self._page.line(f"/{name:<8} {words}")
        if self._chat.keyboard.terminal:
            self._page.line("While a turn runs, what is typed is added to its task; and there are")
            for name, words in DURING_TURN.items():
                self._page.line(f"/{name:<8} {words}")
            self._page.line("Ctrl-C cancels the step under way and keeps the session. A line that ends in \\ goes on.")
