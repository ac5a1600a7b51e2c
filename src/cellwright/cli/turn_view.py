"""Shows the events of a turn to a person: text and code as they arrive, calls, prints, the outcome of each cell.

On a terminal output grows line by line and is not redrawn; elsewhere each item is shown when it is complete. Knows no
model and no session; it counts the usage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cellwright import events
from cellwright.cli.cell_view import IN, CallsView, CodeView, PrintsView, short, time_words
from cellwright.cli.terminal_page import harmless
from cellwright.messages import Usage

if TYPE_CHECKING:
    from cellwright.cli.terminal_page import TerminalPage
    from cellwright.events import Event

VALUE_CHARS, VALUE_LINES = 400, 6
NOTHING, NOT_RUN = "It ran; there is no output", "Not run."  # how the agent's observations begin
_TAKEN = {"add": "added", "ask": "asked", "redirect": "another task", "cancel": "cancelled", "stop": "cancelled"}
_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"line \d+.*:")
_ASIDE = re.compile(r"\n\(Only the first block[^\n]*\)\s*$")


class UsageTally:
    """The usage of turns, spawned agents included."""

    def __init__(self, before: Usage | None = None) -> None:
        self._before = before or Usage()
        self._turns: dict[tuple[str, int], Usage] = {}
        self._done = Usage()

    def hear(self, event: Event) -> None:
        if isinstance(event, events.Used):
            self._turns[event.session, event.turn] = event.usage

    def next_turn(self) -> None:
        self._done, self._turns = self._done + self.turn, {}

    @property
    def turn(self) -> Usage:
        return sum(self._turns.values(), Usage())

    @property
    def session(self) -> Usage:
        return self._before + self._done + self.turn


def usage_words(usage: Usage) -> str:
    """`2 requests, 1,234 tokens in (1,000 cached), 56 out, $0.0012`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    requests = f"{usage.requests:,} request{'s' * (usage.requests != 1)}"
    cost = "price not known" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "$0"
    return f"{requests}, {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out, {cost}"


class TurnView:
    """Hears the events of turns. `text`: also show the model's text as it comes, which may be the answer."""

    def __init__(self, page: TerminalPage, *, text: bool, tally: UsageTally | None = None) -> None:
        self.tally = tally or UsageTally()
        self.cell_runs = False
        self.calls: dict[str, int] = {}  # of the cell under way, by name
        self.said = ""  # the model's last text, as far as it was shown
        self._page = page
        self._streams = page.live
        self._text = text
        self._session = ""
        self._model = ""
        self._reply = ""  # not shown yet: it may be the answer
        self._code = CodeView(page)
        self._over = True  # the last reply: the next piece begins another
        self._calls = CallsView(page)
        self._prints = PrintsView(page)

    def hear(self, event: Event) -> None:
        self.tally.hear(event)
        if isinstance(event, events.Used):
            self._reply_ended(event.session)
        if isinstance(event, events.TurnStarted) and not self._session:
            self._session = event.session
        if event.session in ("", self._session):
            self._show(event)
        elif isinstance(event, events.ApprovalWanted):
            self._approval(event)

    def next_turn(self) -> None:
        """Another turn begins, maybe of another session."""
        self.tally.next_turn()
        self._session, self._reply, self.said, self._over = "", "", "", True
        self.cell_runs, self.calls = False, {}

    def end(self) -> None:
        """The turn is over, however it ended: show what is still held back."""
        self._calls.flush()
        self._prints.flush()
        self._code.flush()
        self._page.fresh()

    def _show(self, event: Event) -> None:
        match event:
            case events.TextPiece() | events.CodePiece():
                self._piece(event)
            case events.Replied(text=text):
                self._replied(text)
            case events.CodeReady(code=code):
                self._cell_begins(code)
            case events.Printed() | events.CallStarted() | events.CallFinished():
                self._happens(event)
            case events.CellFinished():
                self._cell_ended(event)
            case _:
                self._aside(event)

    # what the model says

    def _piece(self, event: events.TextPiece | events.CodePiece) -> None:
        if not self._streams:
            return
        if isinstance(event, events.TextPiece) and event.restart:
            self._take_back()
        if not event.text:
            return
        if self._over:
            self._new_reply()
        if isinstance(event, events.CodePiece):
            self._page.fresh()
            self._tell_reply()
            self._code.more(event.text)
        elif self._text:
            self._code.flush()
            self.said += event.text
            self._page.say(harmless(event.text))
        else:
            self._reply += event.text

    def _take_back(self) -> None:
        """A reply that broke off does not count: remove what was shown of it."""
        if not self._over and not self._page.withdraw():
            self._page.line("it broke off, and begins anew:", "dim")
        self._over = True

    def _new_reply(self) -> None:
        self._over, self.said, self._reply = False, "", ""
        self._page.mark()
        self._code.clear()

    def _reply_ended(self, session: str) -> None:
        if session == self._session:
            if self._over:  # no piece of it was told: its code is not on the page yet
                self._code.clear()
            self._over = True

    def _replied(self, text: str) -> None:
        shown = self._streams and (self._text or self._code.begun)
        self._reply = "" if shown else _FENCED.sub("", text).strip()
        self._page.fresh()

    def _tell_reply(self) -> None:
        """Show the reply that was held back: something follows it, so it was not the answer."""
        if self._reply.strip():
            self._page.line(harmless(self._reply.strip()))
        self._reply = ""

    # a cell

    def _cell_begins(self, code: str) -> None:
        self._tell_reply()
        self._code.whole(code)
        self.cell_runs, self.calls = True, {}
        self._prints.clear()
        self._page.note("running …")

    def _happens(self, event: events.Printed | events.CallStarted | events.CallFinished) -> None:
        match event:
            case events.Printed(text=text):
                self._calls.flush()
                self._prints.more(harmless(text))
            case events.CallStarted(name=name) if name != "done":
                self._tell_reply()
                self._prints.flush()
                self._page.note(f"{IN}→ {harmless(name)} …")
            case events.CallFinished(name=name, error=error) if name != "done" or error:
                self.calls[name] = self.calls.get(name, 0) + 1
                self._calls.add(event)
            case _:
                pass

    def _cell_ended(self, event: events.CellFinished) -> None:
        self._calls.flush()
        self._prints.flush()
        self.cell_runs = False
        took = time_words(event.duration_s)
        observed = _ASIDE.sub("", event.observation).strip()
        if event.ok:
            value = "" if observed.startswith(NOTHING) else _value(observed, self._prints.any)
            self._marked("✓", "green", f"{value}  " if value else "", took)
        elif observed.startswith(NOT_RUN):
            self._marked("✗", "red", f"not run: {_mistakes(observed)}", "")
        else:
            self._marked("✗", "red", _error(observed) + "  ", took)
        self._prints.end()
        self._page.note(f"{self._model} is thinking …")

    def _marked(self, mark: str, style: str, words: str, after: str) -> None:
        from rich.text import Text

        line = Text.assemble((mark + " ", style), (harmless(words), style if mark == "✗" else ""), (after, "dim"))
        self._page.line(line, before=IN)

    # the rest

    def _aside(self, event: Event) -> None:
        match event:
            case events.TurnStarted(model=model):
                self._model = model
                self._page.note(f"{model} is thinking …")
            case events.ModeChosen(mode=mode, why=why) if mode != "code":
                self._page.line(harmless(why), "dim")
            case events.Planned(lines=lines, revision=revision):
                self._planned(lines, revision)
            case events.Retried(why=why, delay_s=delay_s):
                self._take_back()
                self._page.line(f"asked again in {time_words(delay_s)}: {harmless(why)}", "yellow")
            case events.Compacted(before_tokens=before, after_tokens=after):
                self._page.line(f"the conversation was shortened: {before:,} tokens to {after:,}", "dim")
            case events.ApprovalWanted():
                self._approval(event)
            case events.MessageTaken() | events.Answered():
                self._message(event)
            case events.ChildStarted(child=child, task=task):
                self._page.line(f"⇢ {child}: {short(task)}", "magenta", before=IN)
            case events.ChildFinished(child=child, error=error):
                words = f"✗ {short(error)}" if error else "✓"
                self._page.line(f"⇠ {child} {words}", "red" if error else "magenta", before=IN)
            case events.Failed():
                self._tell_reply()
            case _:
                pass

    def _message(self, event: events.MessageTaken | events.Answered) -> None:
        if isinstance(event, events.Answered):
            words = harmless(event.text.strip()) if event.error is None else f"not answered: {harmless(event.error)}"
            self._page.line(words, "cyan" if event.error is None else "yellow", before=IN)
            return
        self._tell_reply()
        said = f": {short(event.text)}" if event.text.strip() else ""
        self._page.line(f"⇠ {_TAKEN.get(event.kind, 'a message')}{said}", "cyan", before=IN)

    def _planned(self, lines: tuple[str, ...], revision: int) -> None:
        self._reply = ""  # the plan is what it said
        self._page.line("plan" if not revision else f"plan, revision {revision}", "bold")
        for number, line in enumerate(lines, 1):
            self._page.line(f"{number}. {harmless(line)}", before=IN)

    def _approval(self, event: events.ApprovalWanted) -> None:
        self._page.line(f"waits for a yes: {harmless(event.name + event.arguments)}", "yellow", before=IN)


def _value(observed: str, printed: bool) -> str:
    """The cell's value, from the observation that the model gets: prints come before it there."""
    if printed:
        before, found, value = observed.rpartition("Value: ")
        if not found or (before and not before.endswith("\n")):
            return ""
    else:
        value = observed
    return _cut(value)


def _error(observed: str) -> str:
    """The last line says what happened."""
    lines = [line for line in observed.splitlines() if line.strip()]
    return _cut(lines[-1] if lines else "it failed")


def _mistakes(observed: str) -> str:
    """The type checker's messages, without the lines that they refer to."""
    lines = [line for line in observed.splitlines()[1:] if line[:1].strip() and not _PLACE.fullmatch(line)]
    return _cut("; ".join(lines) or observed.removeprefix(NOT_RUN).strip())


def _cut(text: str) -> str:
    lines = text[:VALUE_CHARS].splitlines()[:VALUE_LINES]
    short = "\n".join(lines)
    return short if short == text.rstrip("\n") else f"{short} …"
