"""A function of the stub module: its `def` line, or several where it has overloads."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import keyword
import typing
from typing import Any

from cellwright.scope.annotations import ANY, Speller, Where, names_of, read
from cellwright.scope.members import is_async
from cellwright.scope.signatures import default_text, signature, unbound

UNKNOWN = f"*args: {ANY}, **kwargs: {ANY}"


def function_lines(
    speller: Speller, function: Any, name: str, where: Where, *, bound: bool = False, first: str = "", mark: str = ""
) -> list[str]:
    """`def name(…) -> …: ...`, with a line before it for each decorator; several where the function has overloads."""
    plain = getattr(function, "__func__", function)
    try:
        variants = typing.get_overloads(inspect.unwrap(plain))
    except (ValueError, AttributeError):  # a wrapper of itself; a callable without a name
        variants = []
    lines: list[str] = []
    for one in variants or [function]:
        lines += ["@_typing.overload"] if variants else []
        lines += [mark] if mark else []
        head = "async def" if is_async(function) else "def"
        parameters, gives = signature_parts(speller, one, where, bound=bound)
        inner = ", ".join(filter(None, (first, parameters)))
        lines.append(f"{head} {name}({inner}) -> {gives}: ...")
    return lines


def signature_parts(speller: Speller, function: Any, where: Where, *, bound: bool = False) -> tuple[str, str]:
    """The parameters and the result of a function, as text."""
    found = signature(function)
    if found is None:
        return UNKNOWN, ANY
    if bound and found.parameters:
        first = next(iter(found.parameters.values()))
        found = found if first.kind is first.VAR_POSITIONAL else unbound(found)
    names = {**where.names, **names_of(function)}
    given = dataclasses.replace(where, names=names, given=True)
    parts: list[str] = []
    last: Any = None
    for p in found.parameters.values():
        if keyword.iskeyword(p.name) or not p.name.isidentifier():
            return UNKNOWN, ANY
        if last == p.POSITIONAL_ONLY != p.kind:
            parts.append("/")
        if p.kind is p.KEYWORD_ONLY and last not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(speller, p, given))
        last = p.kind
    if last == inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    returned = dataclasses.replace(where, names=names)
    gives = _managed(speller, function, found.return_annotation, returned)
    return ", ".join(parts), gives or speller.spell(found.return_annotation, returned)


def _managed(speller: Speller, function: Any, hint: Any, where: Where) -> str:
    """What a generator gives that `contextmanager` made a context manager of; "" for every other function."""
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__wrapped__") or getattr(function, "__globals__", None) is not vars(contextlib):
        return ""
    if isinstance(hint, str):
        hint = read(hint, where.names)
    item = speller.spell((*typing.get_args(hint), Any)[0], where)
    speller.imports.add("contextlib")
    kind = (
        "AbstractAsyncContextManager" if inspect.isasyncgenfunction(function.__wrapped__) else "AbstractContextManager"
    )
    return f"_contextlib.{kind}[{item}]"


def _parameter(speller: Speller, p: inspect.Parameter, where: Where) -> str:
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    if star and typing.get_origin(p.annotation) is typing.Unpack:
        return f"{star}{p.name}: {ANY}"
    text = speller.spell(p.annotation, where)
    if p.default is None and text != ANY and "None" not in text.split(" | "):
        text += " | None"
    return f"{star}{p.name}: {text}" + ("" if p.default is p.empty else f" = {default_text(p.default)}")
