"""`repaired`: a cell whose only mistakes are an `await` too many or too few, which have one remedy."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from cellwright.catalog.mistakes import Mistake
from cellwright.scope import parse

TOO_MANY = "invalid-await"
TOO_FEW = ("missing-await", "unused-awaitable")
_BARE = re.compile(r"\bawait\b|[\s()]")  # what may differ


def repaired(code: str, mistakes: Sequence[Mistake]) -> tuple[str, str]:
    """The cell as it was meant, and what was changed in it; two empty texts if there is no single remedy."""
    if not mistakes or any(m.rule != TOO_MANY and m.rule not in TOO_FEW for m in mistakes):
        return "", ""
    try:
        tree = parse(code)
    except SyntaxError:
        return "", ""
    lines = code.splitlines(keepends=True)
    changes: list[str] = []
    for mistake in sorted(mistakes, key=lambda m: (m.line, m.column), reverse=True):
        change = _without(tree, lines, mistake) if mistake.rule == TOO_MANY else _with(tree, lines, mistake)
        if not change:
            return "", ""
        changes.append(change)
    return "".join(lines), "; ".join(reversed(changes))


def is_repaired(code: str, ran: str) -> bool:
    """Whether `ran` is this cell, or may be a repair of it. No checker is asked: this process may have none."""
    return code == ran or _BARE.sub("", code) == _BARE.sub("", ran)


def _without(tree: ast.Module, lines: list[str], mistake: Mistake) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Await) and _at(node.value, lines, mistake):
            line, start, end = node.lineno - 1, _column(lines, node), _column(lines, node.value)
            if node.lineno != node.value.lineno:
                return ""
            lines[line] = lines[line][:start] + lines[line][end:]
            return f"line {node.lineno}: `await` was left out, because what it gives is there at once"
    return ""


def _with(tree: ast.Module, lines: list[str], mistake: Mistake) -> str:
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in awaited and _at(node, lines, mistake):
            if node.lineno != node.end_lineno or _in_plain_function(tree, node):
                return ""
            line, start = node.lineno - 1, _column(lines, node)
            end = len(lines[line].encode()[: node.end_col_offset].decode(errors="replace"))
            lines[line] = f"{lines[line][:start]}(await {lines[line][start:end]}){lines[line][end:]}"
            return f"line {node.lineno}: `await` was put in"
    return ""


def _in_plain_function(tree: ast.Module, wanted: ast.AST) -> bool:
    """Whether a node is in a function that is not `async`, where `await` is a syntax error."""
    plain = (ast.FunctionDef, ast.Lambda)
    return any(isinstance(f, plain) and any(node is wanted for node in ast.walk(f)) for f in ast.walk(tree))


def _at(node: ast.expr, lines: list[str], mistake: Mistake) -> bool:
    return node.lineno == mistake.line and _column(lines, node) == mistake.column


def _column(lines: list[str], node: ast.expr) -> int:
    """In characters; the tree counts bytes."""
    return len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
