"""What the type checker's server says of single expressions of a cell, and what follows: above all, missing `await`s.

A coroutine that is printed, compared, or put into a text is no clash of types. The places where code reads a value come
from the syntax tree; the type of the value there is asked of the server.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cellwright.catalog.diagnostics import CheckedCell, Diagnostic, nodes_at, split
from cellwright.catalog.ty_server import TyServer

PLACES = 40  # that are asked about in one cell
_SHOW = frozenset("print str repr format dumps".split())
_READ = frozenset("len int float bool abs round isinstance".split())
_FOLD = frozenset("sum any all max min".split())  # read every item
_WALK = frozenset("list tuple set sorted enumerate zip reversed".split())  # hand every item on


class Hovers:
    """The server's texts about the expressions of one file."""

    def __init__(self, server: TyServer, file: str) -> None:
        self._server = server
        self._file = file

    async def about(self, node: ast.expr) -> str:
        """What the server says of an expression; "" where it says nothing."""
        at = _position(node)
        if at is None:
            return ""
        position = {"line": at[0], "character": at[1]}  # our header is line 0
        request = {"textDocument": {"uri": self._file}, "position": position}
        reply = await self._server.ask("textDocument/hover", request)
        return str(reply["contents"]["value"]) if reply else ""


def _position(node: ast.expr) -> tuple[int, int] | None:
    """Where to ask for the type of an expression: its last name. Line from 1, column in bytes."""
    inner = node.func if isinstance(node, ast.Call) else node
    match inner:
        case ast.Name():
            return inner.lineno, inner.col_offset
        case ast.Attribute(attr=attr) if inner.end_lineno is not None and inner.end_col_offset is not None:
            return inner.end_lineno, inner.end_col_offset - len(attr.encode())
        case _:
            return None


async def called(found: Diagnostic, cell: CheckedCell, hovers: Hovers) -> str:
    """The name of the function whose call a diagnostic is about."""
    inside = nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column)
    call = next((node for node in inside if isinstance(node, ast.Call)), None)
    return _function_name(await hovers.about(call)) if call is not None else ""


def _function_name(text: str) -> str:
    """The name in the server's text: `bound method Contacts.get(…) -> …`."""
    return " ".join(text.partition("(")[0].split()[-1:])


async def is_none(found: Diagnostic, cell: CheckedCell, hovers: Hovers) -> bool:
    """Whether the value that a diagnostic is about is None and nothing else."""
    for node in nodes_at(cell.tree, found.line, found.column, found.end_line, found.end_column):
        value = node.value if isinstance(node, ast.Subscript) else node.func if isinstance(node, ast.Call) else node
        if isinstance(value, ast.expr):
            text = await hovers.about(value)
            gives = text.rpartition(") -> ")[2] if isinstance(value, ast.Call) else text
            return split(" ".join(gives.split())) == ["None"]
    return False


# missing `await`s


async def unawaited(cell: CheckedCell, hovers: Hovers) -> list[Diagnostic]:
    """Coroutines that are read as if they were their results."""
    places = list(itertools.islice(_places(cell.tree), PLACES))
    texts = await asyncio.gather(*(hovers.about(place.node) for place in places))
    pairs = zip(places, texts, strict=True)
    return [_unawaited(place.node, text) for place, text in pairs if text and _is_pending(place, text)]


def _unawaited(node: ast.expr, text: str) -> Diagnostic:
    about = f" of `{_function_name(text)}`" if isinstance(node, ast.Call) else ""
    return Diagnostic(
        rule="missing-await",
        message=f"`{ast.unparse(node)[:60]}` is read before it is awaited: write `await`{about}",
        line=node.lineno,
        column=node.col_offset,
        end_line=node.end_lineno or node.lineno,
        end_column=node.end_col_offset or node.col_offset,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """An expression whose value is read on the spot. `shown`: with all that it holds. `walked`: item by item."""

    node: ast.expr
    shown: bool = False
    walked: bool = False


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Where the code reads a value, in no order."""
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue():
                yield from _shown(node.value)
            case ast.Compare():
                yield from (_Place(node=part) for part in (node.left, *node.comparators))
            case ast.BoolOp():
                yield from (_Place(node=part) for part in node.values[:-1])
            case ast.UnaryOp(op=ast.Not()):
                yield _Place(node=node.operand)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=("dumps" | "format") as name)):
                yield from _arguments(node, name)
            case ast.For() | ast.comprehension():
                yield _Place(node=node.iter, walked=True)
            case ast.Expr(value=ast.Call()):
                yield _Place(node=node.value)
            case _:
                pass


def _arguments(call: ast.Call, name: str) -> Iterator[_Place]:
    for part in call.args:
        if name in _SHOW:
            yield from _shown(part)
        elif name in _READ:
            yield _Place(node=part)
        elif name in _FOLD:
            yield from _shown(part) if isinstance(part, ast.GeneratorExp | ast.ListComp) else ()
            yield _Place(node=part, walked=True)
        elif name in _WALK:
            yield _Place(node=part, walked=True)


def _shown(node: ast.expr) -> Iterator[_Place]:
    """The expression, or the items of a list that is written there."""
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            for part in node.elts:
                yield from _shown(part)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            yield _Place(node=node.elt, shown=True)
        case _:
            yield _Place(node=node, shown=True)


def is_pending(node: ast.expr, told: str) -> bool:
    """Whether the server's text says that an expression still has to be awaited."""
    return bool(told) and _is_pending(_Place(node=node), told)


def _is_pending(place: _Place, told: str) -> bool:
    """Whether the server's text says that the value still has to be awaited."""
    text = " ".join(told.split())
    coroutines = ("CoroutineType[", "Coroutine[")
    if isinstance(place.node, ast.Call):
        gives = text.rpartition(") -> ")[2]
        is_gathered = gives.startswith("Future[") and "gather" in text.partition("(")[0]
        return ") -> " in text and (gives.startswith(coroutines) or is_gathered)
    if text.startswith(coroutines) or (place.walked and text.startswith("Future[")):
        return True
    is_function = text.startswith(("def ", "bound method", "async def", "(", "<", "type["))
    return place.shown and not is_function and "CoroutineType[" in text and "Task[" not in text
