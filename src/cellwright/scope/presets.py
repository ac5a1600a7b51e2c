"""What binding an object of a known library grants, and what is hidden on objects of any type.

A library's table (`grants/*.toml`) governs the members that the library itself defines: those of its rows are granted,
all others refused. Methods of a developer's own classes that derive from them stay granted.
`scope.declare("client.headers", hide=False)` grants one member more.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import sys
import threading
import types
from typing import Any

from cellwright.scope.attributes import assigned
from cellwright.scope.grant_tables import GrantRow, library, listed, table_of, together
from cellwright.scope.hidden_fields import telling_operators
from cellwright.scope.members import operators
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

# methods of a `Revivable` that are for the journal alone
JOURNAL = ("to_journal", "from_journal")


# types that never cross: from each of these, code can reach the whole host
NEVER: tuple[type, ...] = (types.FrameType, types.CodeType, types.TracebackType, types.CellType)
_NEVER_LIVE = (
    contextvars.Context,
    contextvars.ContextVar,
    contextvars.Token,
    asyncio.AbstractEventLoop,
    asyncio.Handle,
)
_BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
_NEVER_PYTHONS = (threading.Thread, concurrent.futures.Executor)  # a developer's own kinds of these may cross
CROSSES = "__cellwright_crosses__"  # marks the classes of Cellwright whose objects are for guest code


# operators that every class with a row has; one without a row has the first three
READING = frozenset(
    "__repr__ __str__ __format__ __len__ __length_hint__ __contains__ __getitem__ __iter__ __next__ __aiter__ "
    "__anext__ __reversed__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__".split()
)
_MODULE: Any = vars(type)["__module__"]
_TEXT = frozenset(("__repr__", "__str__", "__format__"))


class _Governed:
    """What the tables say of one class: the library that governs each class of its MRO ("" for none), and the rows."""

    __slots__ = ("libraries", "refused", "rows")

    def __init__(self, libraries: tuple[str, ...], rows: dict[str, GrantRow]) -> None:
        self.libraries = libraries
        self.rows = rows
        self.refused: dict[str, str] = {}  # of names that a class defines, so there are few


@weak_cache
def _governed(kind: type) -> _Governed | None:
    """None for a class that no table has a say about."""
    mro = kind.__mro__
    own = [_known(base) for base in mro]
    if not any(own):
        return None
    # a base of a library's class comes with it: `Headers.update` is of `MutableMapping`
    governed = [
        name or next((o for b, o in zip(mro, own, strict=True) if o and base is not object and base in b.__mro__), "")
        for base, name in zip(mro, own, strict=True)
    ]
    rows: dict[str, list[GrantRow]] = {}
    for base, name in zip(mro, own, strict=True):
        table = table_of(name) if name else None
        row = table.of_class(base.__name__) if table is not None else None
        if table is not None and row is not None:
            rows.setdefault(table.packages[0], []).append(row)
    return _Governed(tuple(map(_first, governed)), {name: together(found) for name, found in rows.items()})


def _known(base: type) -> str:
    """The package of a class, where a table governs it."""
    # of a class made in C, `type` knows the module; a class may have something else of that name
    name = library(vars(base).get("__module__") or _MODULE.__get__(base))
    return name if name and name != "builtins" and table_of(name) is not None else ""


def _first(package: str) -> str:
    table = table_of(package) if package else None
    return "" if table is None else table.packages[0]


def row_of(kind: type, name: str) -> GrantRow | None:
    """The row that a library has about a member of a type, perhaps an empty one; None where no library has a say."""
    governed = _governed(kind)
    of = _home(kind, governed, name)[0] if governed is not None else ""
    if governed is None or not of:
        return None
    return governed.rows.get(of) or GrantRow(library=of)


def _home(kind: type, governed: _Governed, name: str) -> tuple[str, bool]:
    """The library that governs a member, "" for none, and whether a class defines it."""
    for base, of in zip(kind.__mro__, governed.libraries, strict=True):
        if name in vars(base):
            return of, True
    if governed.libraries[0]:
        return governed.libraries[0], False
    for base, of in zip(kind.__mro__, governed.libraries, strict=True):
        if of and (name in assigned(base) or name in vars(base).get("__annotations__", ())):
            return of, False
    return "", False


@weak_cache
def libraries(kind: type) -> frozenset[str]:
    """The libraries that govern members of a type."""
    governed = _governed(kind)
    return frozenset(() if governed is None else governed.libraries)


def refusal(kind: type, name: str) -> str:
    """Why binding an object of this type does not grant its member `name`; "" where it does."""
    if name in JOURNAL and all(hasattr(kind, method) for method in JOURNAL):
        return "it is hidden, because it is the journal's"
    governed = _governed(kind)
    if governed is None:
        return ""
    why = governed.refused.get(name)
    if why is None:
        of, defined = _home(kind, governed, name)
        row = governed.rows.get(of)
        granted = not of or (row is not None and (row.member(name) is not None or (row.open and not defined)))
        why = "" if granted else f"binding it does not grant this member of {of}"
        if defined:
            governed.refused[name] = why
    return why


def may_set(kind: type, name: str) -> bool | None:
    """Whether a table lets guest code set the attribute `name`, or items (`"[]"`); None: no library has a say."""
    governed = _governed(kind)
    if governed is None:
        return None
    of, _ = _home(kind, governed, "__setitem__" if name == "[]" else name)
    if not of:
        return None
    row = governed.rows.get(of)
    return row is not None and listed(row.writable, name) is not None


@weak_cache
def granted_operators(kind: type) -> tuple[str, ...]:
    """The operators of a type that binding its objects grants."""
    governed = _governed(kind)
    telling = telling_operators(kind)
    if governed is None:
        return tuple(name for name in operators(kind) if name not in telling)
    found: list[str] = []
    for name in operators(kind):
        if name in telling:
            continue
        of, _ = _home(kind, governed, name)
        row = governed.rows.get(of)
        sets = name in ("__setitem__", "__delitem__") and row is not None and "[]" in row.writable
        if not of or name in _TEXT or (row is not None and (name in READING or name in row.operators)) or sets:
            found.append(name)
    return tuple(found)


def refuses_operator(kind: type, name: str) -> bool:
    """Whether a table refuses an operator that the type has."""
    return name not in granted_operators(kind) and name in operators(kind)


@weak_cache
def never_crosses(kind: type) -> bool:
    """Whether objects of a type stay on the host: machinery of Cellwright's, of asyncio's and of threads."""
    modules = [str(vars(base).get("__module__")) for base in kind.__mro__ if not getattr(base, "_is_protocol", False)]
    if not (hasattr(kind, CROSSES) or NAMESPACE in vars(kind)) and any(map(_is_ours, modules)):
        return True
    pythons = issubclass(kind, _NEVER_PYTHONS) and modules[0].partition(".")[0] in sys.stdlib_module_names
    return pythons or issubclass(kind, _NEVER_LIVE)


def _is_ours(module: str) -> bool:
    ours = module.partition(".")[0] in ("cellwright", "cellwright_guest")
    return ours and not module.startswith("cellwright.testing")  # objects to bind in tests


def machinery_of(function: Any) -> type | None:
    """The class of the object that a method is bound to, where that never crosses: the method would stand for it."""
    owner = getattr(function, "__self__", None) if type_of(function) in _BOUND else None
    kind: Any = type_of(owner)
    return kind if never_crosses(kind) else None


def module_refusal(module: types.ModuleType, name: str) -> str:
    """Why binding a module does not grant its member `name`; "" where it does."""
    table = table_of(library(module.__name__))
    if table is None:
        return ""
    row = table.modules.get(module.__name__)
    value = vars(module).get(name)
    error = isinstance(value, type) and issubclass(value, BaseException)  # guest code catches errors by their classes
    granted = error or (row is not None and row.member(name) is not None)
    return "" if granted else f"binding it does not grant this member of {module.__name__}"


def hides_by_name(kind: type, name: str) -> bool:
    """Whether a name in the arguments of a by-name method of this type may find what is not granted, or not in full.

    pandas aggregates the columns of a frame by the methods of `Series`, and looks in numpy for what these lack.
    """
    if not _by_name(kind):
        return hasattr(kind, name) and bool(refusal(kind, name))
    for cls in (kind, *_beside(kind)):
        row = row_of(cls, name) if hasattr(cls, name) else None
        if row is not None and (refusal(cls, name) or row.members.get(name) is not None):
            return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and hasattr(numpy, name) and not hasattr(kind, name) and bool(module_refusal(numpy, name))


@weak_cache
def _by_name(kind: type) -> bool:
    governed = _governed(kind)
    return governed is not None and any(row.by_name for row in governed.rows.values())


@weak_cache
def _beside(kind: type) -> tuple[type, ...]:
    """The other classes of the library that have by-name methods."""
    packages = {library(base.__module__) for base in kind.__mro__} - {"builtins"}
    loaded = [vars(sys.modules[package]) for package in packages if package in sys.modules]
    return tuple(
        v for names in loaded for v in list(names.values()) if isinstance(v, type) and v is not kind and _by_name(v)
    )
