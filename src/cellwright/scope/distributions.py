"""Objects of other installed distributions: nobody has said what binding one grants, so all its public members are.

A class counts by where its module's file is: below site-packages. The standard library, libraries that have a table,
and the developer's own project (an editable install, or a file elsewhere) do not count.
"""

from __future__ import annotations

import sys
import sysconfig
import types
import warnings
from functools import lru_cache
from importlib import metadata
from typing import Any

from cellwright.errors import UsageError
from cellwright.scope.grant_tables import library, table_of
from cellwright.scope.members import members, module_members
from cellwright.scope.rules import Place, Rules
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

_OWN = ("builtins", "cellwright", "cellwright_guest")
_warned = weak_cache(lambda cls: list[bool]())


class BroadBinding(UserWarning):
    """An object of another distribution was bound: all its public members are granted, and no table narrows it."""


def check_binding(rules: Rules, name: str, value: Any) -> None:
    """Warn once for each class of another distribution; `UsageError` where the scope's binding is strict."""
    what: Any = value if isinstance(value, type | types.ModuleType) else type_of(value)
    package = package_of(what)
    if not package or rules.is_narrowed(Place(name, what if isinstance(what, type) else types.ModuleType)):
        return
    names = list(members(what) if isinstance(what, type) else module_members(what))
    only = f'scope.declare("{name}.*", only={names[:2]!r})'
    told = f"{name} is a {_title(what)} of {_distribution(package)}: binding it grants its {len(names)} public members"
    if rules.strict_binding:
        raise UsageError(f"{told}, and strict_binding refuses that; declare before it is bound what it shows: {only}")
    once = _warned(what) if isinstance(what, type) else []
    if not once:
        once.append(True)
        warnings.warn(f"{told}; {only} narrows it", BroadBinding, stacklevel=4)


def package_of(what: Any) -> str:
    """The package of a class or module of another distribution; "" for all others."""
    return _package_of_class(what) if isinstance(what, type) else _package(getattr(what, "__name__", None))


@weak_cache
def _package_of_class(cls: type) -> str:
    return _package(vars(cls).get("__module__"))


@lru_cache(maxsize=1000)
def _package(module: object) -> str:
    package = library(module)
    if not isinstance(module, str) or package in _OWN or package in sys.stdlib_module_names:
        return ""
    file: Any = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str) or not file.startswith(_installed()) or table_of(package) is not None:
        return ""
    return package


@lru_cache(maxsize=1)
def _installed() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    more = {path for path in sys.path if path.rstrip("/").endswith(("site-packages", "dist-packages"))}
    return tuple(path.rstrip("/") + "/" for path in sorted(paths | more) if path)


def _title(what: Any) -> str:
    return what.__name__ if isinstance(what, type) else "module"


def _distribution(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:  # it is installed under another name
        return package
