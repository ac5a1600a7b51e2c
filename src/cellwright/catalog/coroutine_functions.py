"""Plain functions of a cell that return a coroutine, as `def one(n): return crm.find(n)`.

The type checker does not infer what a function without annotations returns. So these get one: the cell is read again.
"""

from __future__ import annotations

import ast
import asyncio
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cellwright.catalog.diagnostics import Diagnostic
from cellwright.catalog.hovers import Hovers, is_pending

RETURNS = " -> _cw_types.CoroutineType[_cw_any, _cw_any, _cw_any]"
MOST = 20  # returns of one cell that are asked about
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


async def coroutine_functions(tree: ast.Module, hovers: Hovers) -> list[ast.FunctionDef]:
    """The functions of which every `return` gives a coroutine."""
    found: list[ast.FunctionDef] = []
    asked = 0
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.returns is not None or function.decorator_list:
            continue
        values = list(_returned(function))
        asked += len(values)
        if not values or asked > MOST or not all(isinstance(value, ast.Call | ast.Name) for value in values):
            continue
        texts = await asyncio.gather(*(hovers.about(value) for value in values))
        if all(is_pending(value, text) for value, text in zip(values, texts, strict=True)):
            found.append(function)
    return found


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function returns; nothing where it is a generator, or returns without a value."""
    inside = list(_own(function.body))
    values = [node.value for node in inside if isinstance(node, ast.Return)]
    if not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inside) and None not in values:
        yield from (value for value in values if value is not None)


def _own(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if not isinstance(node, _INNER):
            yield from _own(list(ast.iter_child_nodes(node)))


def annotated(code: str, functions: Sequence[ast.FunctionDef]) -> tuple[str, dict[int, int]]:
    """The code with the annotation, and where it was put in: the byte column by the line, from 1."""
    lines = code.split("\n")
    places: dict[int, int] = {}
    for function in functions if "\r" not in code and "\f" not in code else ():
        row, column = _header_end(lines, function.lineno)
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}{RETURNS}{line[column:]}"
        places[row] = len(line[:column].encode())
    return "\n".join(lines), places


def _header_end(lines: Sequence[str], first: int) -> tuple[int, int]:
    """The position of the colon that ends the header of a function."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines[first - 1 :])).readline):
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if token.string == ":" and depth == 0:
            return first - 1 + token.start[0], token.start[1]
    raise ValueError("a function without a colon")


def in_code(found: Diagnostic, places: Mapping[int, int]) -> Diagnostic:
    """A diagnostic of the annotated code in the columns of the code as it was."""
    return replace(
        found,
        column=_moved(found.line, found.column, places),
        end_column=_moved(found.end_line, found.end_column, places),
    )


def _moved(line: int, column: int, places: Mapping[int, int]) -> int:
    place = places.get(line)
    return column if place is None or column < place else max(place, column - len(RETURNS))
