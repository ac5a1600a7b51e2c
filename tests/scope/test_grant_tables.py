"""The tables of grants, compared with the libraries that are installed.

`grants/<table>.txt` names what was seen and not granted, in any of the Python versions. A release with a new member
fails here, by its name. `CELLWRIGHT_WRITE_GRANTS=1` adds to these files what this Python sees; remove a file first to
write it anew, once with each version.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.scope.library_examples import CALLED, EXAMPLES, MODULES, UNSEEN
from tests.scope.library_walk import classes_of, given_by, led_to, matches, public_names, row_of, with_a_row

from cellwright.scope.grant_tables import GrantRow, GrantTable, library, table, table_names
from cellwright_guest.wire import type_of

SEEN = Path(__file__).parent / "grants"
SLOW = ("openai", "anthropic")  # a thousand classes each
INSTALLED = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in table_names()
    if table(name).versions
]


@cache
def examples(name: str) -> tuple[Any, ...]:
    return tuple(EXAMPLES.get(name, lambda: iter(()))())


@cache
def classes(name: str) -> dict[str, list[type]]:
    of = table(name)
    modules = MODULES.get(name) or tuple(package for package in of.packages if find_spec(package))
    return classes_of(of, modules, examples(name))


def granted(row: GrantRow, kind: type) -> list[str]:
    defined = {name for base in kind.__mro__ for name in vars(base)}
    return sorted(n for n in public_names(kind) if row.member(n) is not None or (row.open and n not in defined))


def reached_without_a_row(name: str) -> set[str]:
    """The names of classes of the library that two steps over granted members lead to, and that have no row."""
    of, known = table(name), classes(name)
    found: set[type] = set()
    for _, kind, row in with_a_row(of, known, examples(name)):
        for first in led_to(kind, granted(row, kind), known):
            found |= {first} | led_to(first, granted(row_of(of, first), first), known)
    for example in examples(name) if name in CALLED else ():
        kind = type_of(example)
        kinds = set(map(type_of, given_by(example, granted(row_of(of, kind), kind))))
        found |= {kind for kind in kinds if library(kind.__module__) in of.packages}
    return {kind.__name__ for kind in found if row_of(of, kind) == GrantRow() and not _named(of, kind)}


def _named(of: GrantTable, kind: type) -> bool:
    return any(of.of_class(base.__name__) is not None for base in kind.__mro__)


def seen(name: str) -> dict[str, set[str]]:
    """What the table does not grant, by class; "-" has the classes without a row that granted members lead to."""
    found: dict[str, set[str]] = {"-": reached_without_a_row(name)}
    for title, kind, row in with_a_row(table(name), classes(name), examples(name)):
        missing = public_names(kind) - set(granted(row, kind))
        inherited = {n for base in kind.__mro__[1:] if _named(table(name), base) for n in public_names(base)}
        found.setdefault(title, set()).update(missing - inherited)
    return {title: names for title, names in found.items() if names}


def kept(name: str) -> dict[str, set[str]]:
    lines = (SEEN / f"{name}.txt").read_text().splitlines() if (SEEN / f"{name}.txt").exists() else []
    return {title: set(names.split()) for title, _, names in (line.partition(": ") for line in lines)}


@pytest.mark.parametrize("name", INSTALLED)
def test_each_public_member_is_granted_or_was_seen_and_not_granted(name: str) -> None:
    found, known = seen(name), kept(name)
    if os.environ.get("CELLWRIGHT_WRITE_GRANTS"):
        both = {title: found.get(title, set()) | known.get(title, set()) for title in found.keys() | known.keys()}
        text = "".join(f"{title}: {' '.join(sorted(names))}\n" for title, names in sorted(both.items()))
        (SEEN / f"{name}.txt").write_text(text)
        return
    new = sorted(f"{title}.{one}" for title, names in found.items() for one in names - known.get(title, set()))
    assert not new, (
        f"new in {name}: {', '.join(new)}; grant in scope/grants/{name}.toml or add to tests/scope/grants/{name}.txt"
    )


@pytest.mark.parametrize("name", INSTALLED)
def test_each_row_names_members_that_exist(name: str) -> None:
    unknown: list[str] = []
    for pattern, row in table(name).classes.items():
        kinds = [kind for title, of in classes(name).items() if matches(title, pattern) for kind in of]
        if f"{name}: {pattern}" in UNSEEN or any(matches(f"{name}: {pattern}", one) for one in UNSEEN):
            continue
        below = [kind for of in classes(name).values() for kind in of if not set(kinds).isdisjoint(kind.__mro__)]
        names = set[str]().union(*map(public_names, below))
        names |= {one for example in examples(name) if type(example) in below for one in vars_of(example)}
        wanted = {one for one in (*row.members, *row.callbacks, *row.by_name, *row.writable) if one.isidentifier()}
        unknown += [f"{pattern}.{one}" for one in sorted(wanted - names) if not one.startswith("__")]
        unknown += [] if kinds else [f"{pattern} (no such class)"]
        unknown += [
            f"{pattern}: {one} is no member"
            for one in sorted((row.callbacks | row.by_name | row.lookups) - row.members.keys() - row.operators)
        ]
    for module, row in table(name).modules.items():
        unknown += [f"{module}.{one}" for one in row.members if not hasattr(sys.modules.get(module), one)]
    assert not unknown, f"scope/grants/{name}.toml grants what is not there: {', '.join(unknown)}"


def vars_of(example: Any) -> set[str]:
    return set(getattr(example, "__dict__", ()))
