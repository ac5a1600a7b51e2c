"""The tables of what binding an object of a known library grants: `grants/<library>.toml`, each read when it is needed.

A table is data. This module reads it; `presets` decides by it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from cellwright_guest.wire import type_of

_NAMES = frozenset[str]()
# `operators = ["arithmetic"]`: those that make a new object of one or two others
ARITHMETIC = frozenset(
    f"__{reflected}{name}__"
    for name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
    for reflected in ("", "r")
) | {"__neg__", "__pos__", "__abs__", "__invert__", "__round__"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantRow:
    """What is granted of one class or module. A name may be a pattern.

    `members` maps a name to the parameters that guest code may give, None for all; a parameter, or a member, after "!"
    is not granted, while the others are. `origin`: the attribute with the address that URLs stay under. `open`:
    attributes that no class defines are granted, as the columns of a frame. `lookups`: methods whose strings and
    keywords name fields, perhaps of other models (`user__password`). `keeps`: methods that leave a record as it is.
    """

    members: dict[str, tuple[str, ...] | None] = field(default_factory=dict[str, tuple[str, ...] | None])
    operators: frozenset[str] = _NAMES
    writable: frozenset[str] = _NAMES
    callbacks: frozenset[str] = _NAMES
    by_name: frozenset[str] = _NAMES
    lookups: frozenset[str] = _NAMES
    keeps: frozenset[str] = _NAMES
    open: bool = False
    library: str = ""
    origin: str = ""

    def __or__(self, other: GrantRow) -> GrantRow:
        """Both rows together. The parameters of this row count where both name a member."""
        return GrantRow(
            members=other.members | self.members,
            operators=self.operators | other.operators,
            writable=self.writable | other.writable,
            callbacks=self.callbacks | other.callbacks,
            by_name=self.by_name | other.by_name,
            lookups=self.lookups | other.lookups,
            keeps=self.keeps | other.keeps,
            open=self.open or other.open,
            library=self.library or other.library,
            origin=self.origin or other.origin,
        )

    def member(self, name: str) -> str | None:
        """The name or pattern in `members` that grants `name`; None if there is none."""
        if any(entry[0] == "!" and fnmatchcase(name, entry[1:]) for entry in self.members):
            return None
        return listed(self.members, name)


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantTable:
    """The rows of one library: of its classes by name or pattern, and of its modules by name."""

    packages: tuple[str, ...]
    versions: tuple[str, ...]
    summary: str
    refused: str
    classes: dict[str, GrantRow]
    modules: dict[str, GrantRow]

    def of_class(self, name: str) -> GrantRow | None:
        """The rows that a class of this name has, together."""
        found = [row for pattern, row in self.classes.items() if pattern == name or fnmatchcase(name, pattern)]
        return together(found) if found else None


def together(rows: Iterable[GrantRow]) -> GrantRow:
    whole = GrantRow()
    for row in rows:
        whole = whole | row
    return whole


def listed(names: Iterable[str], name: str) -> str | None:
    """The entry of `names` that is or matches `name`."""
    if name in names:
        return name
    return next((pattern for pattern in names if "*" in pattern and fnmatchcase(name, pattern)), None)


def library(module: object) -> str:
    """The library of a class's or function's `__module__`: its first part, without the underscore of a C half."""
    return module.partition(".")[0].lstrip("_") if isinstance(module, str) else ""


def table_of(package: str) -> GrantTable | None:
    """The table that governs a package; None where no library is known by that name."""
    named = _index().get(package)
    return None if named is None else table(named)


@cache
def table(name: str) -> GrantTable:
    """The table in `grants/<name>.toml`."""
    raw = tomllib.loads(_file(name).read_text(encoding="utf-8"))
    return GrantTable(
        packages=tuple(raw["packages"]),
        versions=tuple(raw.get("versions", ())),
        summary=raw.get("summary", ""),
        refused=raw.get("refused", ""),
        classes={key: _row(raw["packages"][0], key, row) for key, row in raw.get("classes", {}).items()},
        modules={key: _row(raw["packages"][0], key, row) for key, row in _modules(raw.get("modules", {})).items()},
    )


def table_names() -> tuple[str, ...]:
    """The names of all tables."""
    names = (entry.name for entry in files("cellwright.scope").joinpath("grants").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@lru_cache(maxsize=1)
def _index() -> dict[str, str]:
    """The table of each package. Only the first line of each table is read."""
    found: dict[str, str] = {}
    for name in table_names():
        with _file(name).open(encoding="utf-8") as lines:
            for package in tomllib.loads(lines.readline())["packages"]:
                found[package.lstrip("_")] = name
    return found


def _file(name: str) -> Traversable:
    return files("cellwright.scope").joinpath("grants", f"{name}.toml")


def _modules(raw: dict[str, Any], above: str = "") -> dict[str, Any]:
    """The rows of modules by their dotted names: TOML reads `[modules.os.path]` as a table within `os`."""
    found: dict[str, Any] = {}
    for name, row in raw.items():
        dotted = f"{above}{name}"
        inner: dict[str, Any] = {key: value for key, value in row.items() if type_of(value) is dict}
        own = {key: value for key, value in row.items() if key not in inner}
        if own or not inner:
            found[dotted] = own
        found |= _modules(inner, f"{dotted}.")
    return found


def _row(package: str, title: str, raw: dict[str, Any]) -> GrantRow:
    unknown = raw.keys() - {*GrantRow.__slots__} | raw.keys() & {"library"}
    if unknown:
        raise ValueError(f"{package}: {title}: a row has no {sorted(unknown)[0]!r}")
    members: dict[str, tuple[str, ...] | None] = {}
    for entry in raw.get("members", ()):
        name, opened, rest = entry.partition("(")
        members[name.strip()] = tuple(rest.rstrip(" )").replace(",", " ").split()) if opened else None
    if "arithmetic" in raw.get("operators", ()):
        raw = raw | {"operators": ARITHMETIC | set(raw["operators"])}
    names = ("operators", "writable", "callbacks", "by_name", "lookups", "keeps")
    return GrantRow(
        members=members,
        open=raw.get("open", False),
        origin=raw.get("origin", ""),
        library=package,
        **{key: frozenset(raw.get(key, ())) for key in names},
    )
