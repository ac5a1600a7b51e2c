"""The types of a cell's names at its end, as the type checker displays them and as code declares them.

Lines behind the cell ask for the types. Only types of builtins are written: another class of the same name would be
displayed the same way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from cellwright.catalog.diagnostics import Diagnostic
from cellwright.scope import parse

# what the lines of declarations and questions use; a star import does not bring names with an underscore
TOOLS = (
    "import builtins as _cw_builtins, types as _cw_types; "
    "from typing import Any as _cw_any, Literal as _cw_literal, cast as _cw_cast, reveal_type as _cw_reveal"
)
MOST = 200  # names of one cell
LONGEST = 400  # characters of a type
_LITERAL = 60  # characters; a longer one is a text, or a number
_BREAK = re.compile(r"\r\n|\n|\r")  # as the checker counts lines
_REVEALED = re.compile(r"Revealed type: `(.*)`$")
# not `bool`: numpy has another one
_BUILTINS = frozenset("int str float bytes complex list dict set frozenset tuple range".split())
_UNKNOWN = frozenset(("Any", "Unknown", "object", "bool"))
_EXACT_FLOAT = re.compile(r"\bfloat\*")


def declaration(name: str, spelled: str) -> str:
    """The line that gives a name its type, and lets the cell bind it to something else."""
    return f"{name} = _cw_cast({spelled}, 0)"


ANYTHING = "_cw_any"


def questions(names: Iterable[str]) -> str:
    """The lines that ask for the types of names."""
    return "".join(f"_cw_reveal({name})\n" for name in names)


def lines_of(code: str) -> int:
    return len(_BREAK.findall(code)) + 1


def answers(found: Sequence[Diagnostic], names: Sequence[str], first: int) -> dict[str, str]:
    """The declared types of the names that have one. The question for the first name is on line `first`."""
    types: dict[str, str] = {}
    for one in found:
        told = _REVEALED.match(one.message) if one.rule == "revealed-type" else None
        if told is not None and 0 <= one.line - first < len(names):
            types[names[one.line - first]] = spelled(told[1])
    return {name: text for name, text in types.items() if text}


def spelled(displayed: str) -> str:
    """A displayed type as code; "" where the display does not tell which type it is."""
    if len(displayed) > LONGEST:
        return ""
    try:
        statement = parse(_EXACT_FLOAT.sub("float", displayed)).body[0]
        return _spelled(statement.value) if isinstance(statement, ast.Expr) else ""
    except (SyntaxError, ValueError):
        return ""


def _spelled(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) if name in _UNKNOWN:
            return ANYTHING
        case ast.Name(id=name) if name in _BUILTINS:
            return f"_cw_builtins.{name}"
        case ast.Name(id="LiteralString"):
            return "_cw_builtins.str"
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=value) if value is ...:
            return "..."
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _all(left, right, by=" | ")
        case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.UnaryOp(op=ast.Invert())):
            return _spelled(left)  # what is known not to be in it says little
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            return _literal(values)
        case ast.Subscript(value=ast.Name(id=name) as head, slice=ast.Tuple(elts=parts)) if name in _BUILTINS:
            inner = _all(*parts, by=", ") if parts else "()"
            return f"{_spelled(head)}[{inner}]" if inner else ""
        case ast.Subscript(value=ast.Name(id=name) as head, slice=part) if name in _BUILTINS:
            inner = _spelled(part)
            return f"{_spelled(head)}[{inner}]" if inner else ""
        case _:
            return ""


def _all(*parts: ast.AST, by: str) -> str:
    texts = [_spelled(part) for part in parts]
    return by.join(texts) if all(texts) else ""


def _literal(values: ast.expr) -> str:
    parts = values.elts if isinstance(values, ast.Tuple) else [values]
    texts: list[str] = []
    for part in parts:
        try:
            value: object = ast.literal_eval(part)
        except ValueError:  # a member of an enum
            return ""
        text = repr(value)
        texts.append(f"_cw_literal[{text}]" if len(text) <= _LITERAL else f"_cw_builtins.{type(value).__name__}")
    return " | ".join(dict.fromkeys(texts))
