"""Lists, histories, trees and hits of sessions as a person reads them: tables on a terminal, plain lines elsewhere.

Imports rich, so commands import this module only when they run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from cellwright.cli.answers import json_text
from cellwright.cli.cell_view import short, time_words
from cellwright.cli.terminal_page import harmless
from cellwright.short_texts import counted, cut

if TYPE_CHECKING:
    from cellwright.sessions import Branch, LeftBranch, RemovedSessions, SessionHistory, ShownCell, ShownTurn, TreePoint
    from cellwright.store import EntryHit, Question, Summary

KINDS = ("prompt", "reply", "code", "output", "error", "file")
LINES, LINE = 12, 300  # of code and output, where not all of it is asked for
_STYLES = {"done": "green", "failed": "red", "running": "yellow", "waiting": "yellow", "died": "bold red"}
_POINT_MARKS = {"running": "…", "waiting": "?", "failed": "✗", "ended": "✗", "cancelled": "✗"}
WIDE = 10_000  # columns, where the output is no terminal


def shown_console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE, soft_wrap=False)


def ago(moment: float) -> str:
    """`just now`, `3 h ago`."""
    seconds = time.time() - moment
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return "just now"


def is_dead(session: Summary) -> bool:
    """Whether its turn was running when its process died."""
    return session.state == "running" and session.holder is None


def state_words(session: Summary) -> tuple[str, str]:
    """The state in words, and its style."""
    word = "died" if is_dead(session) else session.state
    sign = {"died": "✗ ", "waiting": "? "}.get(word, "")
    return f"{sign}{word}", _STYLES.get(word, "")


def listed(sessions: Sequence[Summary]) -> None:
    console = shown_console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("session", no_wrap=True, overflow="ellipsis", max_width=26)
    table.add_column("title", ratio=1 if console.is_terminal else None)  # this column gives way; its texts do not wrap
    table.add_column("state", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("cells", justify="right", no_wrap=True)
    table.add_column("updated", no_wrap=True)
    for one in sessions:
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
    if sessions:
        console.print(table)


def summary_json(session: Summary) -> dict[str, Any]:
    return asdict(session) | {"died": is_dead(session)}


# a history


def history_page(history: SessionHistory, *, limit: int, full: bool) -> None:
    """One session, turn by turn."""
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


def _turn(console: Console, turn: ShownTurn, *, full: bool) -> None:
    from cellwright.sessions import ShownCell

    if turn.number:
        sign = ("" if turn.status == "done" else f" {turn.status}") + ", undone" * turn.undone
        style = "dim" if turn.undone else "bold yellow"
        _line(console, Text.assemble("\n", (f"turn {turn.number} [{turn.entry}]{sign}", style)))
        _block(console, turn.task, "", full=full)
    for step in turn.steps:
        if isinstance(step, ShownCell):
            _cell(console, step, full=full)
        else:
            who = f" by {step.who}" if step.who else ""
            kind = "has labelled content" if step.kind == "labelled" else step.kind
            _line(console, Text(f"  {short(f'{kind}{who} {step.text}')}", style="cyan"))
    if turn.answer:
        _line(console, Text("  answer", style="dim"))
        _block(console, turn.answer, "", full=full)


def _cell(console: Console, cell: ShownCell, *, full: bool) -> None:
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
    lines = harmless(text).strip("\n").splitlines()
    shown = lines if full else lines[:LINES]
    for line in shown:
        _line(console, Text.assemble((before, "dim"), (line if full else cut(line, LINE), style)))
    if len(lines) > len(shown):
        _line(console, Text(f"{before}… {len(lines) - len(shown):,} more lines; --full shows them", style="dim"))


def _joined(files: Sequence[str], most: int) -> str:
    more = f" and {len(files) - most:,} more" if len(files) > most else ""
    return ", ".join(short(file) for file in files[:most]) + more


def _line(console: Console, text: Any) -> None:
    console.print(text, soft_wrap=True)


def history_json(history: SessionHistory) -> dict[str, Any]:
    return {
        "session": summary_json(history.summary),
        "pins": history.facts.pins,
        "turns": [asdict(turn) for turn in history.turns],
        "files": history.files,
    }


# hits


def hits_page(hits: Sequence[EntryHit], *, as_json: bool) -> None:
    """The hits of a search; matches are bold on a terminal."""
    if as_json:
        print(json_text([asdict(hit) | {"snippet": _unmarked(hit.snippet)} for hit in hits], indent=2))
        return
    console = shown_console()
    for hit in hits:
        where = f", cell {hit.cell}" if hit.cell else ""
        head = Text.assemble((short(hit.session), "bold"), (f" [{hit.entry}] ", "yellow"), hit.kind)
        _line(console, head.append(f"{where}, {ago(hit.at)}", style="dim"))
        _line(console, Text("  ").append_text(_marked(hit.snippet)))


def _marked(snippet: str) -> Text:
    text = Text()
    for number, part in enumerate(" ".join(snippet.split()).split("\x02")):
        match, _, rest = part.partition("\x03") if number else ("", "", part)
        text.append(harmless(match), style="bold red").append(harmless(rest))
    return text


def _unmarked(snippet: str) -> str:
    return snippet.replace("\x02", "").replace("\x03", "")


def removed_words(done: RemovedSessions) -> str:
    """`removed s1: 12 entries and 3 blobs (4,096 bytes), 9 texts of the index, 8,192 bytes of files`."""
    names = ", ".join(map(short, done.sessions))
    kept = f"{done.entries:,} entries and {done.blobs:,} blobs ({done.bytes:,} bytes)"
    index = f"{done.indexed:,} texts of the index"
    return f"removed {names}: {kept}, {index}, {done.files:,} bytes of files"


# the tree: turns, cells, forks and children where they branch off; what a rewind left is dim


def drawn(root: Branch, *, marked: str, limit: int) -> None:
    """Print the tree. `marked` is the session that the command named."""
    console = shown_console()
    if above := root.summary.parent or root.summary.child_of:
        print(f"… cellwright sessions tree {harmless(above)} shows what is above")
    console.print(_branch(root, marked, limit))
    if console.is_terminal:
        print(f"[n] is an entry: cellwright sessions fork {harmless(marked)} --entry n", file=sys.stderr)


def _branch(branch: Branch, marked: str, limit: int) -> Tree:
    tree = Tree(_session(branch, marked), guide_style="dim")
    _grow(tree, branch.points, marked, limit, dim=False)
    if branch.hidden:
        words = f"… {branch.hidden:,} more below: cellwright sessions tree {short(branch.summary.id)}"
        tree.add(Text(words, style="dim"))
    return tree


def _grow(
    tree: Tree, points: tuple[TreePoint | LeftBranch | Branch, ...], marked: str, limit: int, *, dim: bool
) -> None:
    from cellwright.sessions import Branch, LeftBranch, TreePoint

    if len(points) > limit:
        tree.add(Text(f"… {len(points) - limit:,} earlier; --limit shows more", style="dim"))
    for one in points[-limit:]:
        match one:
            case Branch():
                tree.add(_branch(one, marked, limit))
            case LeftBranch():
                below = tree.add(Text(f"left here by a rewind to [{one.entry}]", style="dim italic"))
                _grow(below, one.points, marked, limit, dim=True)
            case TreePoint():
                below = tree.add(_point(one, left=dim))
                _grow(below, one.points, marked, limit, dim=dim)


def _session(branch: Branch, marked: str) -> Text:
    one = branch.summary
    sign = {"fork": f"fork at [{branch.at}] ", "child": "child ", "root": ""}[branch.how]
    state, style = state_words(one)
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(sign, style="cyan")
    text.append(short(one.id), style="bold reverse" if one.id == marked else "bold")
    if one.name:
        text.append(f" {short(one.name)}", style="bold cyan")
    text.append(f" {state}", style=style)
    text.append(f", {ago(one.updated)}", style="dim")
    return text


def _point(point: TreePoint, *, left: bool) -> Text:
    """`left`: it stands below what says that it was left."""
    dim = left or point.undone
    text = Text(no_wrap=True, overflow="ellipsis", style="dim" if dim else "")
    text.append(f"[{point.entry}] ", style="dim" if dim else "yellow")
    text.append(
        f"turn {point.number} " if point.kind == "turn" else f"cell {point.number} ", style="" if dim else "bold"
    )
    if mark := _POINT_MARKS.get(point.status):
        text.append(f"{mark} ", style="" if dim else "red")
    if point.undone and not left:
        text.append("(undone) ")
    text.append(short(point.text))
    return text


def tree_json(branch: Branch) -> dict[str, Any]:
    more = {"how": branch.how, "at": branch.at, "points": _json(branch.points), "hidden": branch.hidden}
    return summary_json(branch.summary) | more


def _json(points: tuple[TreePoint | LeftBranch | Branch, ...]) -> list[dict[str, Any]]:
    from cellwright.sessions import Branch, LeftBranch

    rows: list[dict[str, Any]] = []
    for point in points:
        if isinstance(point, Branch):
            rows.append(tree_json(point))
        elif isinstance(point, LeftBranch):
            rows.append({"left": point.entry, "points": _json(point.points)})
        else:
            rows.append(asdict(replace(point, points=())) | {"points": _json(point.points)})
    return rows
