"""What an operation takes, as code gives it: names, types, defaults, and the signature of its method.

It knows neither descriptions nor how arguments are sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from cellwright.scope import KEYWORD_ONLY, POSITIONAL, Parameter, Signature

_LONGEST = 60  # characters of a default that is shown
_ORDER = ("path", "query", "header", "cookie", "body")


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    """One argument. `default` is its text, "" where it must be given."""

    name: str
    key: str
    place: str  # "path" "query" "header" "cookie" "body"
    type: str
    default: str = ""
    doc: str = ""

    @property
    def parameter(self) -> Parameter:
        kind = POSITIONAL if self.place == "path" else KEYWORD_ONLY
        spelled = optional(self.type) if self.default == "None" else self.type
        return Parameter(name=self.name, type=spelled, default=self.default, kind=kind)


def optional(spelled: str) -> str:
    return spelled if spelled == "Any" or spelled.endswith("None") else f"{spelled} | None"


def default_text(schema: dict[str, Any], spelled: str) -> str:
    """The default that a schema names, where a reader of the type understands it; else None."""
    value = schema.get("default")
    if isinstance(value, bool):
        fits = "bool" in spelled
    elif isinstance(value, int):
        fits = "int" in spelled or "float" in spelled
    elif isinstance(value, float):
        fits = "float" in spelled and value == value and abs(value) != float("inf")
    elif isinstance(value, str):
        fits = 0 < len(value) <= _LONGEST and (spelled.startswith("str") or repr(value) in spelled)
    else:
        fits = False
    fits = fits and (not spelled.startswith("Literal") or repr(value) in spelled)
    return repr(value) if fits else "None"


def distinct(found: Iterable[Argument]) -> list[Argument]:
    """The arguments under different names: of two with the same name the later one gets its place as a suffix."""
    used: set[str] = set()
    kept: list[Argument] = []
    for one in sorted(found, key=lambda argument: _ORDER.index(argument.place)):
        name = one.name
        if name in used:
            name = f"{one.name.rstrip('_')}_{one.place}"
        number = 1
        while name in used:
            number += 1
            name = f"{one.name.rstrip('_')}_{one.place}_{number}"
        used.add(name)
        kept.append(one if name == one.name else replace(one, name=name))
    return kept


def signature(arguments: Iterable[Argument], gives: str) -> Signature:
    """`(owner: str, repo: str, *, title: str, body: str | None = None) -> Issue`: the path's by position."""
    ordered = sorted(arguments, key=lambda one: (one.place != "path", one.place != "path" and bool(one.default)))
    return Signature(parameters=tuple(one.parameter for one in ordered), returns=gives)
