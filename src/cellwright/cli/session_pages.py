"""Lists, histories and hits of sessions as a person reads them: tables on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cellwright.cli.cells import short, time_words
from cellwright.cli.page import harmless

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cellwright.sessions import CellShown, History, Removed, TurnShown
    from cellwright.store import Found, Question, Summary

KINDS = ("prompt", "reply", "code", "output", "error", "file")
LINES, LINE = 12, 300  # of code and output, where not all of it is asked for
_STYLES = {"done": "green", "failed": "red", "running": "yellow", "waiting": "yellow", "died": "bold red"}
WIDE = 10_000  # columns, where nobody looks on


def shown_console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE, soft_wrap=False)


def ago(moment: float) -> str:
    """`just now`, `3 h ago`."""
    seconds = time.time() - moment
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return "just now"


def is_dead(one: Summary) -> bool:
    """Whether it was at work, and nobody has it."""
    return one.state == "running" and one.holder is None


def state_words(one: Summary) -> tuple[str, str]:
    """The state in words, and its style."""
    word = "died" if is_dead(one) else one.state
    sign = {"died": "✗ ", "waiting": "? "}.get(word, "")
    return f"{sign}{word}", _STYLES.get(word, "")


def listed(found: Sequence[Summary]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = shown_console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("session", no_wrap=True, overflow="ellipsis", max_width=26)
    table.add_column("title", ratio=1 if console.is_terminal else None)  # the one that gives way; its texts do not wrap
    table.add_column("state", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("cells", justify="right", no_wrap=True)
    table.add_column("updated", no_wrap=True)
    for one in found:
        words, style = state_words(one)
        hangs = "↳ " if one.parent or one.child_of else ""
        table.add_row(
            Text(short(one.id)),
            Text(hangs + short(one.title), style="bold" if one.name else "", no_wrap=True, overflow="ellipsis"),
            Text(words, style=style),
            str(one.turns),
            str(one.cells),
            ago(one.updated),
        )
    if found:
        console.print(table)


def summary_json(one: Summary) -> dict[str, Any]:
    return asdict(one) | {"died": is_dead(one)}


# a history


def history_page(history: History, *, limit: int, full: bool) -> None:
    """One session, turn by turn."""
    from rich.text import Text

    from cellwright.journal import counted

    console, one = shown_console(), history.summary
    words, style = state_words(one)
    head = Text.assemble((short(one.id), "bold"), " ", (short(one.name), "bold cyan"), " " * bool(one.name))
    head.append(words, style=style)
    head.append(f", {ago(one.updated)}", style="dim")
    _line(console, head)
    if one.parent:
        at = f"entry {one.parent_entry}" if one.parent_entry else f"cell {one.parent_cell}"
        _line(console, Text(f"forked from {short(one.parent)} at {at}", style="dim"))
    if one.child_of:
        _line(console, Text(f"child of {short(one.child_of)}", style="dim"))
    if len(history.turns) > limit:
        _line(
            console, Text(f"… {counted(len(history.turns) - limit, 'earlier turn')}; --limit gives more", style="dim")
        )
    for turn in history.turns[-limit:]:
        _turn(console, turn, full=full)
    if history.files:
        _line(console, Text(f"\nfiles: {_joined(history.files, 20)}", style="dim"))


def _turn(console: Console, turn: TurnShown, *, full: bool) -> None:
    from rich.text import Text

    from cellwright.sessions import CellShown

    if turn.number:
        sign = ("" if turn.status == "done" else f" {turn.status}") + ", undone" * turn.undone
        style = "dim" if turn.undone else "bold yellow"
        _line(console, Text.assemble("\n", (f"turn {turn.number} [{turn.entry}]{sign}", style)))
        _block(console, turn.task, "", full=full)
    for step in turn.steps:
        if isinstance(step, CellShown):
            _cell(console, step, full=full)
        else:
            who = f" by {step.who}" if step.who else ""
            _line(console, Text(f"  {short(f'{step.kind}{who} {step.text}')}", style="cyan"))
    if turn.answer:
        _line(console, Text("  answer", style="dim"))
        _block(console, turn.answer, "", full=full)


def _cell(console: Console, cell: CellShown, *, full: bool) -> None:
    from rich.text import Text

    undone = ", undone" if cell.undone else ""
    took = f", {time_words(cell.duration_s)}" if cell.duration_s else ""
    head = f"  cell {cell.number} [{cell.entry}] {cell.status}{undone}{took}"
    _line(console, Text(head, style="dim" if cell.undone else "bold"))
    _block(console, cell.code, "dim" if cell.undone else "", full=full, before="  │ ")
    for call in cell.calls if full else cell.calls[:LINES]:
        bad = call.status not in ("done", "started")
        _line(console, Text(f"    → {short(call.text)}{f' ({call.status})' * bad}", style="red" if bad else "blue"))
    if len(cell.calls) > LINES and not full:
        _line(console, Text(f"    … {len(cell.calls) - LINES:,} more calls", style="dim"))
    for question in cell.questions:
        _line(console, Text(f"    {_asked(question)}", style="yellow"))
    for text, style in ((cell.stdout, ""), (cell.value, "green"), (cell.error, "red")):
        _block(console, text, style, full=full)
    if cell.files:
        _line(console, Text(f"    files: {_joined(cell.files, 10)}", style="dim"))


def _asked(question: Question) -> str:
    said = question.decision
    if said is None:
        return f"? {short(question.operation)} waits for a yes ({short(question.id)})"
    who = f" by {short(said.who)}" if said.who else ""
    why = f": {short(said.reason)}" if said.reason else ""
    return f"? {short(question.operation)}: {'yes' if said.yes else 'no'}{who}, {ago(said.at)}{why}"


def _block(console: Console, text: str, style: str, *, full: bool, before: str = "    ") -> None:
    from rich.text import Text

    lines = harmless(text).strip("\n").splitlines()
    shown = lines if full else lines[:LINES]
    for line in shown:
        cut = line if full or len(line) <= LINE else f"{line[:LINE]}…"
        _line(console, Text.assemble((before, "dim"), (cut, style)))
    if len(lines) > len(shown):
        _line(console, Text(f"{before}… {len(lines) - len(shown):,} more lines; --full shows them", style="dim"))


def _joined(files: Sequence[str], most: int) -> str:
    more = f" and {len(files) - most:,} more" if len(files) > most else ""
    return ", ".join(short(file) for file in files[:most]) + more


def _line(console: Console, text: Any) -> None:
    console.print(text, soft_wrap=True)


def history_json(history: History) -> dict[str, Any]:
    return {
        "session": summary_json(history.summary),
        "pins": history.facts.pins,
        "turns": [asdict(turn) for turn in history.turns],
        "files": history.files,
    }


# hits


def hits_page(found: Sequence[Found], *, as_json: bool) -> None:
    """What a search found; what matched is bold on a terminal."""
    from rich.text import Text

    if as_json:
        print(json.dumps([asdict(hit) | {"snippet": _unmarked(hit.snippet)} for hit in found], indent=2))
        return
    console = shown_console()
    for hit in found:
        where = f", cell {hit.cell}" if hit.cell else ""
        head = Text.assemble((short(hit.session), "bold"), (f" [{hit.entry}] ", "yellow"), hit.kind)
        _line(console, head.append(f"{where}, {ago(hit.at)}", style="dim"))
        _line(console, Text("  ").append_text(_marked(hit.snippet)))


def _marked(snippet: str) -> Text:
    from rich.text import Text

    text = Text()
    for number, part in enumerate(" ".join(snippet.split()).split("\x02")):
        match, _, rest = part.partition("\x03") if number else ("", "", part)
        text.append(harmless(match), style="bold red").append(harmless(rest))
    return text


def _unmarked(snippet: str) -> str:
    return snippet.replace("\x02", "").replace("\x03", "")


def removed_words(done: Removed) -> str:
    """`removed s1: 12 entries and 3 blobs (4,096 bytes), 9 texts of the index, 8,192 bytes of files`."""
    names = ", ".join(map(short, done.sessions))
    kept = f"{done.entries:,} entries and {done.blobs:,} blobs ({done.bytes:,} bytes)"
    index = f"{done.indexed:,} texts of the index"
    return f"removed {names}: {kept}, {index}, {done.files:,} bytes of files"
