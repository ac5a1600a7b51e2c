"""Signatures from stub text and back, as tests write them."""

from __future__ import annotations

import ast

from cellwright.scope import Declaration, Parameter, Signature


def read_signature(text: str) -> Signature:
    """`(self, owner: str, *, title: str = "x") -> Issue`, without `self`."""
    node = ast.parse(f"def read{text}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    args = node.args
    placed = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(placed) - len(args.defaults)) + list(args.defaults)
    found = [(arg, default, int(arg not in args.posonlyargs)) for arg, default in zip(placed, defaults, strict=True)]
    found += [(args.vararg, None, 2)] if args.vararg else []
    found += [(arg, default, 3) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    found += [(args.kwarg, None, 4)] if args.kwarg else []
    parameters = tuple(
        Parameter(name=arg.arg, type=_source(arg.annotation), default=_source(default), kind=kind)
        for arg, default, kind in found
        if arg.arg != "self"
    )
    return Signature(parameters=parameters, returns=_source(node.returns))


def head_of(line: Declaration) -> str:
    """`def create(self, owner: str) -> Issue` of a method, `name: str` of a field."""
    return f"def {line.name}{line.signatures[0].text(line.first)}" if line.callable else line.declared


def _source(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)
