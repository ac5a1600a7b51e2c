"""Fields that carry a credential, hidden by name in every way of reading them.

A record (dataclass, named tuple, model of pydantic, class of attrs or msgspec) with such a field, or with such a record
in one of its fields, goes by handle. What would read all fields at once is refused: dumps, iteration, items, order.
Decides by types; `hidden_values` by what an object holds.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from typing import Any

from cellwright.redaction import is_secret_name
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

_DUMPS = frozenset(
    "as_dict as_json as_tuple asdict astuple dict dump dumps json serialize to_dict to_json to_tuple to_yaml todict "
    "tojson".split()
)
_OF_MODELS = frozenset(  # of pydantic: what tells no value
    "construct copy model_construct model_copy model_fields_set model_post_init model_rebuild model_validate "
    "model_validate_json model_validate_strings parse_obj parse_raw validate".split()
)
_OF_TUPLES = frozenset(("count", "index"))
_TELLING = (
    *("__iter__", "__getitem__", "__reversed__", "__contains__", "__add__", "__radd__", "__mul__", "__rmul__"),
    *("__lt__", "__le__", "__gt__", "__ge__"),
)
_LIBRARIES = ("builtins", "collections", "pydantic", "typing")  # whose operators a record may have inherited


def is_hidden(kind: type, name: str, data: bool) -> bool:
    """Whether a member carries a credential, or tells a field that does. `data`: it is an attribute, not a method."""
    if data and is_secret_name(name):
        return not _is_word(name, record_fields(kind))
    return name in telling_members(kind)


def _is_word(name: str, names: tuple[str, ...]) -> bool:
    """Whether a field `token` is a word of a language model: beside its probability."""
    return name == "token" and "logprob" in names


def secret_names(names: tuple[str, ...]) -> list[str]:
    """Those of a record's fields that carry a credential."""
    return [name for name in names if is_secret_name(name) and not _is_word(name, names)]


def telling_members(kind: type) -> frozenset[str]:
    """The public members of a record that tell its hidden fields."""
    return reading_members(kind) if has_secret_field(kind) else frozenset()


@weak_cache
def reading_members(kind: type) -> frozenset[str]:
    """The public members of a record that read all of its fields; none of any other class."""
    if not record_fields(kind):
        return frozenset()
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        own = {name for name in vars(base) if not name.startswith("_")}
        if _package(base) == "pydantic":
            names |= own - _OF_MODELS
        elif base is tuple:
            names |= own & _OF_TUPLES
        else:
            names |= own & _DUMPS
    return frozenset(names.difference(record_fields(kind)))


def telling_operators(kind: type) -> frozenset[str]:
    """The operators of a record that tell its hidden fields."""
    return reading_operators(kind) if has_secret_field(kind) else frozenset()


@weak_cache
def reading_operators(kind: type) -> frozenset[str]:
    """The operators of a record that read its fields; not those that the developer wrote."""
    if not record_fields(kind):
        return frozenset()
    homes = ((name, next((b for b in kind.__mro__ if name in vars(b)), object)) for name in _TELLING)
    return frozenset(name for name, home in homes if home is not object and not _is_written(home, name))


def _is_written(home: type, name: str) -> bool:
    code = getattr(vars(home)[name], "__code__", None)
    return _package(home) not in _LIBRARIES and code is not None and not code.co_filename.startswith("<")


def _package(cls: type) -> str:
    return str(cls.__module__).partition(".")[0]


@weak_cache
def has_secret_field(kind: type) -> bool:
    """Whether a record has a field that carries a credential, itself or in the records of its fields."""
    return _has_secret(kind, set())


def _has_secret(kind: type, seen: set[int]) -> bool:
    names = record_fields(kind)
    if not names or id(kind) in seen:
        return False
    seen.add(id(kind))
    if secret_names(names) or any(map(is_secret_name, _computed(kind))):
        return True
    return any(_has_secret(part, seen) for part in _classes(_hints(kind, names)))


@weak_cache
def record_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a record; none for any other class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if tuple in kind.__mro__ or hasattr(kind, "__struct_fields__"):
        return tuple(getattr(kind, "_fields", None) or getattr(kind, "__struct_fields__", ()))
    if hasattr(kind, "__attrs_attrs__"):
        return tuple(field.name for field in kind.__attrs_attrs__)
    if hasattr(kind, "__pydantic_validator__") and type_of(getattr(kind, "model_fields", None)) is dict:
        return tuple(kind.model_fields)
    return ()


@weak_cache
def data_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a record that has nothing but fields; none of a record that does something, or of another class."""
    fields = record_fields(kind)
    own: list[type] = [base for base in kind.__mro__ if _package(base) not in _LIBRARIES] if fields else []
    known = {*fields, *validators(kind)}
    public = (raw for base in own for name, raw in vars(base).items() if not name.startswith("_") and name not in known)
    return () if any(callable(raw) or hasattr(raw, "__get__") for raw in public) else fields


def validators(kind: Any) -> set[str]:
    """The names of a pydantic model that check or configure it."""
    decorators = getattr(kind, "__pydantic_decorators__", None)
    groups = ("validators", "field_validators", "root_validators", "model_validators")
    return {name for group in groups for name in getattr(decorators, group, {})} | {"model_config"}


def _computed(kind: Any) -> tuple[str, ...]:
    """The computed fields of a model."""
    found: Any = getattr(kind, "model_computed_fields", None) if hasattr(kind, "__pydantic_validator__") else None
    return tuple(found) if type_of(found) is dict else ()


def extra_of(value: Any) -> dict[str, Any]:
    """The fields of a model that its class does not know."""
    found: Any = None
    if hasattr(type_of(value), "__pydantic_validator__"):
        found = getattr(value, "__pydantic_extra__", None)
    return found if type_of(found) is dict else {}


def _hints(kind: Any, names: tuple[str, ...]) -> list[Any]:
    models: Any = getattr(kind, "model_fields", None) if hasattr(kind, "__pydantic_validator__") else None
    if type_of(models) is dict:
        return [getattr(models.get(name), "annotation", None) for name in names]
    try:
        hints = typing.get_type_hints(kind)
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError):
        return []
    return [hints.get(name) for name in names]


def _classes(hints: Iterable[Any]) -> list[type]:
    """The classes that annotations name, in `list[X]` and `X | None` too."""
    pending, found = list(hints), list[type]()
    while pending:
        hint = pending.pop()
        inner = typing.get_args(hint)
        if inner:
            pending += [part for part in inner if not isinstance(part, str)]
        elif isinstance(hint, type):
            found.append(hint)
    return found


def has_own_text(kind: type) -> bool:
    """Whether `str` of an object is data that its class makes, and not a text about it."""
    library = str(getattr(kind.__str__, "__module__", "")).partition(".")[0] == "pydantic"
    return kind.__str__ is not object.__str__ and not library and not has_secret_field(kind)
