"""What a language server knows of the expressions of one cell, and what follows from it."""

from __future__ import annotations

import ast
import asyncio
import itertools

from cellwright.catalog import awaits
from cellwright.catalog.diagnostics import Cell, Diagnostic, nodes_at, split
from cellwright.catalog.server import Server


class Asking:
    """Asks what is known of the expression at a place of one file."""

    def __init__(self, server: Server, file: str) -> None:
        self._server = server
        self._file = file

    async def about(self, node: ast.expr) -> str:
        at = awaits.spot(node)
        if at is None:
            return ""
        position = {"line": at[0], "character": at[1]}  # our header is line 0
        asked = {"textDocument": {"uri": self._file}, "position": position}
        answer = await asyncio.wrap_future(self._server.ask("textDocument/hover", asked))
        return str(answer["contents"]["value"]) if answer else ""


async def pending(cell: Cell, asking: Asking) -> list[Diagnostic]:
    """Coroutines that are read as if they were their results."""
    places = list(itertools.islice(awaits.places(cell.tree), awaits.PLACES))
    answers = await asyncio.gather(*(asking.about(place.node) for place in places))
    found = zip(places, answers, strict=True)
    return [_unawaited(place.node, told) for place, told in found if told and awaits.is_pending(place, told)]


def _unawaited(node: ast.expr, told: str) -> Diagnostic:
    about = f" of `{_title(told)}`" if isinstance(node, ast.Call) else ""
    return Diagnostic(
        rule="missing-await",
        message=f"`{ast.unparse(node)[:60]}` is read before it is awaited: write `await`{about}",
        line=node.lineno,
        column=node.col_offset,
        end_line=node.end_lineno or node.lineno,
        end_column=node.end_col_offset or node.col_offset,
    )


async def called(found: Diagnostic, cell: Cell, asking: Asking) -> str:
    """The function whose call a diagnostic is about."""
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    call = next((node for node in inside if isinstance(node, ast.Call)), None)
    return _title(await asking.about(call)) if call is not None else ""


def _title(told: str) -> str:
    """The function's name in what is known of it: `bound method Contacts.get(…) -> …`."""
    return " ".join(told.partition("(")[0].split()[-1:])


async def is_none(found: Diagnostic, cell: Cell, asking: Asking) -> bool:
    """Whether the value is None and nothing else."""
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    for node in inside:
        value = node.value if isinstance(node, ast.Subscript) else node.func if isinstance(node, ast.Call) else node
        if isinstance(value, ast.expr):
            told = await asking.about(value)
            gives = told.rpartition(") -> ")[2] if isinstance(value, ast.Call) else told
            return split(" ".join(gives.split())) == ["None"]
    return False
