"""The head of a function as text, read back: its parameters and what it returns. Nothing of it is evaluated."""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from typing import Any

from cellwright.scope.parsing import parse

_KINDS = inspect.Parameter


class Source(str):
    """A default or an annotation as its source text: it prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@lru_cache(maxsize=4096)
def signature_of(head: str) -> inspect.Signature:
    """The signature in `def create(self, owner: str, *, title: str = "x") -> Issue`, without `self`.

    Annotations and defaults are text. A default of None is None: it says that nothing was given.
    """
    node = parse(f"{head}: ...").body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    found: list[inspect.Parameter] = []
    for arg, default in zip(plain, defaults, strict=True):
        kind = _KINDS.POSITIONAL_ONLY if arg in args.posonlyargs else _KINDS.POSITIONAL_OR_KEYWORD
        found.append(_parameter(arg, kind, default))
    if args.vararg is not None:
        found.append(_parameter(args.vararg, _KINDS.VAR_POSITIONAL, None))
    found += [
        _parameter(arg, _KINDS.KEYWORD_ONLY, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg is not None:
        found.append(_parameter(args.kwarg, _KINDS.VAR_KEYWORD, None))
    if found and found[0].name == "self":
        del found[0]
    gives = inspect.Signature.empty if node.returns is None else Source(ast.unparse(node.returns))
    return inspect.Signature(found, return_annotation=gives, __validate_parameters__=False)


def _parameter(arg: ast.arg, kind: Any, default: ast.expr | None) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    known: Any = empty if default is None else Source(ast.unparse(default))
    if isinstance(default, ast.Constant) and default.value is None:
        known = None
    hint = empty if arg.annotation is None else Source(ast.unparse(arg.annotation))
    return inspect.Parameter(arg.arg, kind, default=known, annotation=hint)


def packed(head: str) -> list[Any]:
    """The signature as plain data for the guest."""
    found = signature_of(head)
    empty = inspect.Parameter.empty
    return [
        [
            [
                p.name,
                int(p.kind),
                None if p.default is empty else str(p.default),
                None if p.annotation is empty else str(p.annotation),
            ]
            for p in found.parameters.values()
        ],
        None if found.return_annotation is inspect.Signature.empty else str(found.return_annotation),
    ]
