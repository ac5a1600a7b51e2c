"""Missing `await`s that are no clash of types: a coroutine that is printed, compared, or put into a text.

Finds the places by the syntax tree; what stands there is asked of whoever knows types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SHOW = frozenset("print str repr format dumps".split())
_READ = frozenset("len int float bool abs round isinstance".split())
_FOLD = frozenset("sum any all max min".split())  # read every item
_WALK = frozenset("list tuple set sorted enumerate zip reversed".split())  # hand every item on
PLACES = 40  # asked about in one cell


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An expression whose value is read on the spot. `shown`: with all that it holds. `walked`: item by item."""

    node: ast.expr
    shown: bool = False
    walked: bool = False


def places(tree: ast.Module) -> Iterator[Place]:
    """Where a value is read, in no order."""
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue():
                yield from _shown(node.value)
            case ast.Compare():
                yield from (Place(node=part) for part in (node.left, *node.comparators))
            case ast.BoolOp():
                yield from (Place(node=part) for part in node.values[:-1])
            case ast.UnaryOp(op=ast.Not()):
                yield Place(node=node.operand)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=("dumps" | "format") as name)):
                yield from _arguments(node, name)
            case ast.For() | ast.comprehension():
                yield Place(node=node.iter, walked=True)
            case ast.Expr(value=ast.Call()):
                yield Place(node=node.value)
            case _:
                pass


def _arguments(call: ast.Call, name: str) -> Iterator[Place]:
    for part in call.args:
        if name in _SHOW:
            yield from _shown(part)
        elif name in _READ:
            yield Place(node=part)
        elif name in _FOLD:
            yield from _shown(part) if isinstance(part, ast.GeneratorExp | ast.ListComp) else ()
            yield Place(node=part, walked=True)
        elif name in _WALK:
            yield Place(node=part, walked=True)


def _shown(node: ast.expr) -> Iterator[Place]:
    """The expression, or those that a list written there is made of."""
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            for part in node.elts:
                yield from _shown(part)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            yield Place(node=node.elt, shown=True)
        case _:
            yield Place(node=node, shown=True)


def spot(node: ast.expr) -> tuple[int, int] | None:
    """Where to ask for the type of an expression: the name in it that stands last. Line from 1, column in bytes."""
    inner = node.func if isinstance(node, ast.Call) else node
    match inner:
        case ast.Name():
            return inner.lineno, inner.col_offset
        case ast.Attribute(attr=attr) if inner.end_lineno is not None and inner.end_col_offset is not None:
            return inner.end_lineno, inner.end_col_offset - len(attr.encode())
        case _:
            return None


def is_pending(place: Place, told: str) -> bool:
    """Whether what is known of the expression says that it still has to be awaited."""
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
