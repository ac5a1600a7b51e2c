"""Walks the classes of the libraries that a grant table names: their public members, and what granted members lead to.

Classes are found among the loaded modules of the library, and among the examples, for those made at run time.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import Any, is_typeddict

from cellwright.scope.attributes import assigned
from cellwright.scope.grant_tables import GrantRow, GrantTable, library

_WORD = re.compile(r"[A-Za-z_]\w*")


def classes_of(table: GrantTable, modules: Iterable[str], examples: Iterable[Any]) -> dict[str, list[type]]:
    """The library's classes by name: those that its loaded modules define, and those of the examples."""
    for module in modules:
        import_module(module)
    loaded = [m for name, m in sys.modules.items() if library(name) in table.packages]
    found: dict[type, None] = {}
    for value in (value for module in loaded for value in list(vars(module).values())):
        if isinstance(value, type):
            found[value] = None
    for example in examples:
        found |= dict.fromkeys(type(example).__mro__)
    by_name: dict[str, list[type]] = {}
    for cls in found:
        if library(cls.__module__) in set(table.packages) - {"builtins"} and not is_typeddict(cls):
            by_name.setdefault(cls.__name__, []).append(cls)
    return by_name


def with_a_row(
    table: GrantTable, classes: dict[str, list[type]], examples: Iterable[Any]
) -> Iterator[tuple[str, type, GrantRow]]:
    """Each class that rows are about, with all rows of its bases together; those of the examples, too."""
    for name, kinds in classes.items():
        for kind in kinds:
            if table.of_class(name) is not None or any(type(example) is kind for example in examples):
                yield name, kind, row_of(table, kind)


def row_of(table: GrantTable, kind: type) -> GrantRow:
    row = GrantRow()
    for base in kind.__mro__:
        if library(base.__module__) in table.packages:
            row = row | (table.of_class(base.__name__) or GrantRow())
    return row


@cache
def public_names(kind: type) -> frozenset[str]:
    """The public names that objects of a class have: of its classes, and what their methods assign."""
    own = {name for name in (*vars(kind), *assigned(kind), *vars(kind).get("__annotations__", ())) if name[0] != "_"}
    return frozenset(own).union(*(public_names(base) for base in kind.__bases__ if base is not object))


def led_to(kind: type, granted: Iterable[str], classes: dict[str, list[type]]) -> set[type]:
    """The classes of the library that annotations of the granted members name."""
    found: set[type] = set()
    for name in granted:
        base = next((base for base in kind.__mro__ if name in vars(base)), None)
        for word in () if base is None else _words(base, name):
            found |= set(classes.get(word, ()))
    return found


@cache
def _words(base: type, name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_annotation(vars(base)[name])))


def _annotation(member: Any) -> str:
    function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    given = getattr(function, "__annotations__", {}).get("return", "")
    return given if isinstance(given, str) else repr(given)


def given_by(example: Any, granted: Iterable[str]) -> Iterator[Any]:
    """What the granted members of an example give, methods called without arguments."""
    for name in granted:
        try:
            value = getattr(example, name)
            yield value() if inspect.isroutine(value) else value
        except Exception:  # it needs arguments, or data of another kind
            continue


def matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)
