"""`enum` and `const` as `Literal[…]`, and unions of type texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

ANY = "Any"
VALUES = 40  # an enum with more values is the type of its values
CHARACTERS = 500
_LITERAL = re.compile(r"Literal\[(.*)\]", re.DOTALL)
_KIND = {str: "str", int: "int", float: "float", bool: "bool", list: "list[Any]", dict: "dict[str, Any]"}

Parts = tuple[str, ...]  # a union's members, None last; ("Any",) alone


def literal(values: list[Any], kinds: list[str]) -> Parts:
    """The type of an enum. Where its `type` is only string, numbers are texts, as they are sent."""
    nullable = ("None",) if None in values else ()
    listed = [value for value in values if value is not None]
    if kinds == ["string"]:
        if any(isinstance(value, bool) for value in listed):  # YAML's `yes` and `no`
            return ("str", *nullable)
        listed = [str(value) if isinstance(value, int | float) else value for value in listed]
    if not listed:
        return nullable or (ANY,)
    shown = list(dict.fromkeys(repr(value) for value in listed if type(value) in (str, int, bool)))
    whole = f"Literal[{', '.join(shown)}]"
    if all(type(value) in (str, int, bool) for value in listed) and len(shown) <= VALUES and len(whole) <= CHARACTERS:
        return (whole, *nullable)
    return union([(_KIND.get(cast("type", type(value)), ANY),) for value in listed] + [nullable])


def union(members: Iterable[Parts]) -> Parts:
    """Each member once, literals together, None last. `Any` swallows the rest."""
    parts = list(dict.fromkeys(part for member in members for part in member))
    if ANY in parts:
        return (ANY,)
    if "float" in parts and "int" in parts:
        parts.remove("int")
    literals = [part for part in parts if _LITERAL.fullmatch(part)]
    if len(literals) > 1:
        inside = ", ".join(part[len("Literal[") : -1] for part in literals)
        at = parts.index(literals[0])
        parts = [part for part in parts if part not in literals]
        parts.insert(at, f"Literal[{inside}]")
    if "None" in parts:
        parts.remove("None")
        parts.append("None")
    return tuple(parts)


def text(parts: Parts) -> str:
    return " | ".join(parts) or ANY
