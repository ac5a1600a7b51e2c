"""`--returns` as text, read as a type: names listed here, and classes of the developer's. Nothing is evaluated.

int · list[str] · dict[str, float] · tuple[int, ...] · str | None · Literal["yes", "no"] · shop:Order · list[shop:Order]
"""

from __future__ import annotations

import ast
import re
from typing import Any

from cellwright.cli.arguments import object_named
from cellwright.errors import UsageError

KNOWN = "int, str, list[str], dict[str, float], str | None, Literal['a', 'b'], date, or MODULE:CLASS"
_PLAIN = "int float str bool bytes complex list dict tuple set frozenset object"
_LATER = {
    "Any": "typing",
    "Literal": "typing",
    "date": "datetime",
    "datetime": "datetime",
    "time": "datetime",
    "timedelta": "datetime",
    "Decimal": "decimal",
    "UUID": "uuid",
    "Path": "pathlib",
}
# A text in quotes, or MODULE:CLASS; the first so that a colon in it is not taken for the second.
_CLASS = re.compile(r"""("[^"]*"|'[^']*')|([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)""")
_DEEPEST, _LONGEST = 20, 2000


class _NoType(Exception):
    """Text that names no known type."""


def read_type(text: str) -> Any:
    """The type that the text names. Raises `UsageError` where it names none."""
    option = f"--returns {text}"
    classes: dict[str, Any] = {}

    def placed(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        name = f"_class_{len(classes)}"
        classes[name] = object_named(option, match[0], "MODULE:CLASS")
        if not isinstance(classes[name], type):
            raise UsageError(f"{option}: {match[0]} is no class")
        return name

    if len(text) > _LONGEST:
        raise UsageError(f"{option[:60]}…: that is too long for a type")
    try:
        return _TypeReader(classes).type(ast.parse(_CLASS.sub(placed, text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, _NoType, RecursionError, MemoryError) as error:
        why = f"{error} is no type that is known here" if isinstance(error, _NoType) else "that is no type"
        raise UsageError(f"{option}: {why}; give {KNOWN}") from None


class _TypeReader:
    """Makes a type of a syntax tree of names, subscripts and unions."""

    def __init__(self, classes: dict[str, Any]) -> None:
        self._classes = classes

    def type(self, node: ast.expr, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise _NoType("one so deep")
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.type(left, depth + 1) | self.type(right, depth + 1)
            case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
                return self._named("Literal")[tuple(map(_constant, _items(inner)))]
            case ast.Subscript(value=ast.Name() as outer, slice=inner):
                given = tuple(... if _is_dots(part) else self.type(part, depth + 1) for part in _items(inner))
                return self.type(outer)[given if len(given) != 1 else given[0]]
            case _:
                raise _NoType(f"`{ast.unparse(node)}`")

    def _named(self, name: str) -> Any:
        import builtins
        from importlib import import_module

        if name in self._classes:
            return self._classes[name]
        if name in _PLAIN.split():
            return getattr(builtins, name)
        if name in _LATER:
            return getattr(import_module(_LATER[name]), name)
        raise _NoType(f"`{name}`")


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _constant(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | None):
        return node.value
    raise _NoType(f"`{ast.unparse(node)}`")
