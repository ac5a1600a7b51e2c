"""How guest code may call a member of a known library: which parameters it may give, and what they may be."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

from cellwright.redaction import is_secret_name
from cellwright.request_headers import is_control_header
from cellwright.scope.grant_tables import GrantRow, GrantTable, library, listed, table_of
from cellwright.scope.guest_functions import GuestFunction, GuestIterator
from cellwright.scope.hidden_fields import record_fields
from cellwright.scope.members import FUNCTIONS
from cellwright.scope.presets import row_of
from cellwright.scope.signatures import signature
from cellwright_guest.wire import type_of

_NUMBERS = "biufcmM"  # numpy's kinds of data that hold no names: numbers and times
_LISTS: tuple[type[Any], ...] = (list, tuple, set, frozenset)
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))
_BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)  # they have `__self__`
_HOST_FUNCTIONS = (*FUNCTIONS, partial)
_LENT = (GuestFunction, GuestIterator)
# no scheme and no host, however it is read: libraries differ about what is no clean URL
_RELATIVE = re.compile(r"(?![/\\]{2})[^\x00-\x20:/?#\\]*(?:[/?#][^\x00-\x1f]*)?")


@dataclass(frozen=True, slots=True)
class CallRule:
    """How guest code may call a member of a library: the parameters it may give (None: all), and what they may be."""

    parameters: tuple[str, ...] | None
    callbacks: bool
    by_name: bool
    library: str
    refused: bool = False
    origin: str = ""
    lookups: bool = False
    keeps: bool = False


def call_rule(function: Any) -> CallRule | None:
    """The rule for a call of `function`; None where no library has a say."""
    how = type_of(function)
    owner = function.__self__ if how in _BOUND else None
    if _is_function(how) or (how in _BOUND and type_of(owner) in (types.ModuleType, types.NoneType)):
        return _function_rule(function)
    if how not in _BOUND:  # an object that can be called
        row = row_of(how, "__call__")
        return None if row is None else _rule(row, "__call__")
    kind: Any = owner if issubclass(type_of(owner), type) else type_of(owner)
    name = str(function.__name__)
    row = row_of(kind, name)
    if row is None:
        return None
    if row.member(name) is None:  # guest code may have got it by another name: `agg` is `aggregate`
        raw = getattr(function, "__func__", None)
        name = next((other for other in row.members if raw is not None and _raw(kind, other) is raw), name)
    return _rule(row, name)


def owner_of(function: Any) -> Any:
    """The object that a call works on: guest code may hold a method without its object. None for a function."""
    how = type_of(function)
    return function.__self__ if how in _BOUND else None if _is_function(how) else function


def _is_function(how: type) -> bool:
    # each library that Cython compiled has such a type of its own
    return how is types.FunctionType or how.__name__ == "cython_function_or_method"


def build_rule(cls: type) -> CallRule | None:
    """The rule for building a class; None where it is no library's."""
    row = row_of(cls, "__init__") if table_of(library(cls.__module__)) is not None else None
    if row is None or row.member("__init__") is not None:
        return None if row is None else _rule(row, "__init__")
    return CallRule(None, False, False, row.library, refused=True)


def _raw(kind: type, name: str) -> Any:
    raw = inspect.getattr_static(kind, name, None)
    return getattr(raw, "__func__", raw)


def _rule(row: GrantRow, name: str) -> CallRule:
    entry = row.member(name)
    return CallRule(
        None if entry is None else row.members[entry],
        listed(row.callbacks, name) is not None,
        listed(row.by_name, name) is not None,
        row.library,
        origin=row.origin,
        lookups=listed(row.lookups, name) is not None,
        keeps=listed(row.keeps, name) is not None,
    )


def _function_rule(function: Any) -> CallRule | None:
    """The rule for a function of a library's module that a row lists."""
    table = _table_of_module(getattr(function, "__module__", None))
    name = getattr(function, "__name__", "")
    for module, row in () if table is None else table.modules.items():
        if row.member(name) is not None and getattr(sys.modules.get(module), name, None) is function:
            return _rule(row, name)
    return None


@lru_cache(maxsize=1000)
def _table_of_module(module: object) -> GrantTable | None:
    package = library(module)
    return table_of(package) if package else None


def telling_record(values: Iterable[Any], tells: Callable[[Any], bool]) -> str:
    """What speaks against giving these values to a library: it would read a record as a whole. "" for nothing.

    `tells` says whether an object has a field that is hidden from guest code.
    """
    record = next((part for part in _parts(values) if tells(part)), None)
    return "" if record is None else f"a {type_of(record).__name__}, which has a hidden field"


def wrong_argument(rule: CallRule, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What the rule refuses of a call's arguments; "" for nothing."""
    if rule.refused:
        return "binding it does not grant this"
    if rule.parameters is not None:
        refused = next((name for name in _parameters(rule.parameters, function, args, kwargs)), None)
        if refused is not None:
            return f"binding it does not grant its parameter {refused!r}"
    if rule.parameters is not None and "headers" in rule.parameters:
        headers = _given(function, args, kwargs).get("headers")
        if issubclass(type_of(headers), _LENT):  # it may give other headers when it is read again
            return "binding it does not grant headers from a function or an iterator"
        header = _connection_header(headers)
        if header:
            return f"binding it does not grant the header {header!r}"
    if rule.lookups:
        secret = _secret_field(function, args, kwargs)
        if secret:
            return f"binding it does not grant the field {secret!r}, which can carry credentials"
    if rule.origin and _leaves(function, rule.origin, args, kwargs):
        return "it has a base URL, and binding it does not grant requests to another origin"
    if not rule.callbacks:
        for part in _parts((*args, *kwargs.values())):
            kind = type_of(part)
            path = hasattr(kind, "__fspath__")
            if path or issubclass(kind, (*_LENT, *_HOST_FUNCTIONS)):
                what = "a path" if path else "a function or an iterator"
                return f"binding it does not grant that it is given {what}"
    return ""


def _parameters(
    granted: tuple[str, ...], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[str]:
    """The parameters that are given and not granted."""
    but = {name[1:] for name in granted if name[0] == "!"}

    def refused(name: str) -> bool:
        return name in but if but else name not in granted

    yield from filter(refused, kwargs)
    known = signature(function)
    names = list(granted)
    if known is not None:
        positional = [p for p in known.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
        names = [p.name for p in positional]
        if positional and positional[-1].kind is positional[-1].VAR_POSITIONAL:
            names += [names[-1]] * max(0, len(args) - len(names))
    yield from (name for name, _ in zip(names, args, strict=False) if refused(name))
    if known is None and len(args) > len(names):
        yield f"number {len(args)}"


def _given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the names of their parameters."""
    known = signature(function)
    return dict(zip(known.parameters if known is not None else (), args, strict=False)) | kwargs


def _connection_header(headers: Any) -> str:
    """A header among those given that belongs to the connection or carries the client's own credentials."""
    pairs: Any = headers.keys() if hasattr(type_of(headers), "keys") else [pair[:1] for pair in headers or ()]
    for name in pairs:
        name = name[0] if type_of(name) in (list, tuple) and name else name
        text = name.decode("latin-1") if type_of(name) is bytes else str(name)
        if is_control_header(text) or text.strip().lower() == "authorization":
            return text.strip().lower()
    return ""


def _secret_field(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A field that carries a credential among those that the arguments name; without any, among all of the model."""
    known = signature(function)
    declared = kwargs if known is None else known.parameters  # a keyword beyond these is a lookup, and has data
    names = [*kwargs, *_strings((*args, *(value for name, value in kwargs.items() if name in declared)))]
    if not names and getattr(function, "__name__", "") in ("values", "values_list"):
        model = getattr(getattr(function, "__self__", None), "model", None)
        names = [field.name for field in getattr(getattr(model, "_meta", None), "concrete_fields", ())]
    return next((name for name in names if any(map(is_secret_name, name.lstrip("-").split("__")))), "")


def _strings(values: Iterable[Any]) -> Iterator[str]:
    """The strings that may be names: keys of a dict (`complex_filter`), not what they stand for."""
    for value in values:
        if type_of(value) is str:
            yield value
        elif issubclass(type_of(value), (*_LISTS, dict)):
            yield from _strings(value)


def _leaves(function: Any, origin: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a parameter `url` is neither relative nor below the address that the object's attribute `origin` has."""
    base = str(getattr(function.__self__, origin, "") or "")
    given = _given(function, args, kwargs)
    if not base or "url" not in given:
        return False
    text, parts = str(given["url"]), urlsplit(base)
    same = f"{parts.scheme}://{parts.netloc}"
    if text.startswith(same) and text[len(same) : len(same) + 1] in ("", "/", "?", "#"):
        return False
    return not _RELATIVE.fullmatch(text)


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """What is inside of plain containers and records, and no atom."""
    pending = list(values)
    seen: dict[int, Any] = {}  # a guest's list may hold itself; an id is only good while its object lives
    while pending:
        value: Any = pending.pop()
        kind = type_of(value)
        if kind in _ATOMS or id(value) in seen:
            continue
        seen[id(value)] = value
        if issubclass(kind, dict):
            pending.extend((*value.keys(), *value.values()))
        elif issubclass(kind, _LISTS):
            if not _ATOMS.issuperset(map(type, value)):
                pending.extend(value)
            if kind not in _LISTS:  # a named tuple is a record
                yield value
        else:
            names = record_fields(kind)
            own: Any = getattr(value, "__dict__", None) if names else {}
            pending.extend(own.values() if own is not None else (getattr(value, name, None) for name in names))
            yield value


def refused_argument(hidden: Callable[[str], bool], arguments: Iterable[Any]) -> str | None:
    """A string among the arguments of a by-name method that names a hidden or private member."""
    pending = list(arguments)
    seen: set[int] = set()  # a guest's list may hold itself
    kept: list[Any] = []  # an id is only good while its object lives
    while pending:
        value: Any = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind_of_value = type_of(value)
        if issubclass(kind_of_value, str):
            if value.startswith("_") or hidden(value):
                return value[:100]
        elif issubclass(kind_of_value, dict):
            pending.extend(value.values())
        elif issubclass(kind_of_value, _LISTS):
            pending.extend(value)
        elif hasattr(kind_of_value, "tolist") and getattr(value, "shape", None):
            if getattr(getattr(value, "dtype", None), "kind", "O") not in _NUMBERS:
                kept.append(value.tolist())
                pending.append(kept[-1])
        elif hasattr(kind_of_value, "__iter__") and not issubclass(kind_of_value, bytes):
            return f"<what a {kind_of_value.__name__} names>"  # the guest may decide what it gives
    return None
