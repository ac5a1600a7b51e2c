"""The tree of a session, drawn: turns, cells, forks and children where they leave, and dim what a rewind left."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from cellwright.cli.cells import short
from cellwright.cli.page import harmless
from cellwright.cli.session_pages import ago, shown_console, state_words, summary_json

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from cellwright.sessions import Branch, Left, Point

_STATUS = {"running": "…", "waiting": "?", "failed": "✗", "ended": "✗", "cancelled": "✗"}


def drawn(root: Branch, *, marked: str, limit: int) -> None:
    """Print it. `marked` is the session that was asked for."""
    console = shown_console()
    if above := root.summary.parent or root.summary.child_of:
        print(f"… cellwright sessions tree {harmless(above)} shows what is above")
    console.print(_branch(root, marked, limit))
    if console.is_terminal:
        print(f"[n] is an entry: cellwright sessions fork {harmless(marked)} --entry n", file=sys.stderr)


def _branch(branch: Branch, marked: str, limit: int) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(_session(branch, marked), guide_style="dim")
    _grow(tree, branch.points, marked, limit, dim=False)
    if branch.hidden:
        words = f"… {branch.hidden:,} more below: cellwright sessions tree {short(branch.summary.id)}"
        tree.add(Text(words, style="dim"))
    return tree


def _grow(tree: Tree, points: tuple[Point | Left | Branch, ...], marked: str, limit: int, *, dim: bool) -> None:
    from rich.text import Text

    from cellwright.sessions import Branch, Left, Point

    if len(points) > limit:
        tree.add(Text(f"… {len(points) - limit:,} earlier; --limit shows more", style="dim"))
    for one in points[-limit:]:
        match one:
            case Branch():
                tree.add(_branch(one, marked, limit))
            case Left():
                below = tree.add(Text(f"left here by a rewind to [{one.entry}]", style="dim italic"))
                _grow(below, one.points, marked, limit, dim=True)
            case Point():
                below = tree.add(_point(one, left=dim))
                _grow(below, one.points, marked, limit, dim=dim)


def _session(branch: Branch, marked: str) -> Text:
    from rich.text import Text

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


def _point(point: Point, *, left: bool) -> Text:
    """`left`: it stands below what says that it was left."""
    from rich.text import Text

    dim = left or point.undone
    text = Text(no_wrap=True, overflow="ellipsis", style="dim" if dim else "")
    text.append(f"[{point.entry}] ", style="dim" if dim else "yellow")
    text.append(
        f"turn {point.number} " if point.kind == "turn" else f"cell {point.number} ", style="" if dim else "bold"
    )
    if mark := _STATUS.get(point.status):
        text.append(f"{mark} ", style="" if dim else "red")
    if point.undone and not left:
        text.append("(undone) ")
    text.append(short(point.text))
    return text


def tree_json(branch: Branch) -> dict[str, Any]:
    told = {"how": branch.how, "at": branch.at, "points": _json(branch.points), "hidden": branch.hidden}
    return summary_json(branch.summary) | told


def _json(points: tuple[Point | Left | Branch, ...]) -> list[dict[str, Any]]:
    from cellwright.sessions import Branch, Left

    found: list[dict[str, Any]] = []
    for one in points:
        if isinstance(one, Branch):
            found.append(tree_json(one))
        elif isinstance(one, Left):
            found.append({"left": one.entry, "points": _json(one.points)})
        else:
            found.append(asdict(replace(one, points=())) | {"points": _json(one.points)})
    return found
