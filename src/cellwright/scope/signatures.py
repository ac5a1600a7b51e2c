"""Signatures and docs as text: what the guest's `help` shows, what stubs are made of, what a wrong call is told."""

from __future__ import annotations

import inspect
import math
import re
import types
from functools import lru_cache
from typing import Any

from cellwright.scope.heads import Source

DOC_LIMIT = 600
# kept because they live as long as their module; a bound method would keep its object alive
_KEPT = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, type)
_CONTAINERS: tuple[type[Any], ...] = (list, dict, tuple, set)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def without_addresses(text: str) -> str:
    """Text of host objects without their addresses, which tell a guest where the host's memory lies."""
    return _ADDRESS.sub("", text)


@lru_cache(maxsize=4096)
def _kept_signature(function: Any) -> inspect.Signature | None:
    return _signature(function)


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError, AttributeError, NameError):
        return None


def signature(function: Any) -> inspect.Signature | None:
    """The signature, where Python can tell it."""
    if isinstance(function, _KEPT):
        return _kept_signature(function)
    return _signature(function)


def unbound(found: inspect.Signature) -> inspect.Signature:
    """A method's signature without its first parameter."""
    return found.replace(parameters=list(found.parameters.values())[1:])


def annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    text = inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text.replace("typing.", "").replace("collections.abc.", ""))


def default_text(value: Any) -> str:
    if type(value) is Source:
        return str(value)
    if type(value) is float and not math.isfinite(value):
        return "..."
    if value is None or type(value) in (int, float, str, bool, bytes):
        text = repr(value)
        return text if len(text) <= 60 else "..."
    if isinstance(value, _CONTAINERS) and not value:
        return repr(value)
    return "..."


def packed_signature(function: Any, *, bound: bool = False) -> list[Any] | None:
    """The signature as plain data for the guest: parameters, and what it returns."""
    found = signature(function)
    if found is None:
        return None
    if bound:
        found = unbound(found)
    empty = inspect.Parameter.empty
    parameters: list[Any] = [
        [
            p.name,
            int(p.kind),
            None if p.default is empty else default_text(p.default),
            None if p.annotation is empty else annotation_text(p.annotation),
        ]
        for p in found.parameters.values()
    ]
    returns = None if found.return_annotation is empty else annotation_text(found.return_annotation)
    return [parameters, returns]


def signature_text(function: Any, *, bound: bool = False) -> str:
    """`(name: str, *, limit: int = 10) -> list[Contact]`, or `(...)` where it cannot be known."""
    packed = packed_signature(function, bound=bound)
    if packed is None:
        return "(*args: Any, **kwargs: Any) -> Any"
    parameters, returns = packed
    parts: list[str] = []
    star = slash = False
    for name, kind, default, annotation in parameters:
        if kind > 0 and slash:
            parts.append("/")
            slash = False
        slash = slash or kind == 0
        if kind == 2:
            star = True
        if kind == 3 and not star:
            parts.append("*")
            star = True
        text = ("*" if kind == 2 else "**" if kind == 4 else "") + name
        text += f": {annotation}" if annotation else ""
        text += f" = {default}" if default and annotation else f"={default}" if default else ""
        parts.append(text)
    if slash:
        parts.append("/")
    return f"({', '.join(parts)}) -> {returns or 'Any'}"


def doc(value: Any, limit: int = DOC_LIMIT) -> str:
    """The docstring, cut where it is long."""
    raw = getattr(value, "__doc__", None)
    if not isinstance(raw, str):
        return ""
    text = inspect.cleandoc(raw)
    return text if len(text) <= limit else text[:limit].rsplit("\n", 1)[0] + "\n…"
