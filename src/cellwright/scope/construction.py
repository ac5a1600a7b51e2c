"""Instances that guest code builds. The guest sends field values; the declaration of the class checks them.

Pydantic validates its models; the fields of a dataclass are checked against its annotations before `__init__` runs.
"""

from __future__ import annotations

import dataclasses
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union

from cellwright.errors import WrongArguments
from cellwright.scope.classes import KnownClass, field_names, type_hints
from cellwright.scope.signatures import annotation_text, signature, signature_text
from cellwright.scope.verbs import explain
from cellwright_guest import json_records
from cellwright_guest.wire import type_of

_COUNTABLE: tuple[type[Any], ...] = (Sequence, set, frozenset)


def from_fields(known: KnownClass, values: list[Any]) -> Any:
    """A record that the guest has a copy of, and sends back."""
    cls = known.value
    if known.kind == "namedtuple":
        if len(values) != len(cls._fields):
            raise WrongArguments(f"{cls.__name__} has {len(cls._fields)} fields, not {len(values)}")
        _check(known, dict(zip(cls._fields, values, strict=True)))
        return cls(*values)
    _refuse_cycles(cls, values)
    if known.kind == "object":
        if len(values) != 2 or not all(_is_json_object(part) for part in values):
            raise WrongArguments(f"{cls.__name__} takes two JSON objects: its attributes, and the arguments it came by")
        return json_records.build(cls, *values)
    names = field_names(cls)
    if len(values) != len(names):
        raise WrongArguments(f"{cls.__name__} has {len(names)} fields, not {len(values)}")
    fields = dict(zip(names, values, strict=True))
    if known.kind == "model":
        return cls.model_validate(fields["root"] if getattr(cls, "__pydantic_root_model__", False) else fields)
    _check(known, fields)
    return cls(**{f.name: fields[f.name] for f in dataclasses.fields(cls) if f.init})


def _is_json_object(part: Any) -> bool:
    return type_of(part) is dict and all(type_of(key) is str for key in part)


def build_new(known: KnownClass, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An instance that the guest builds by calling the class."""
    cls = known.value
    if known.kind in ("record", "namedtuple", "model"):
        _refuse_cycles(cls, (args, kwargs))
    if known.kind in ("record", "namedtuple"):
        taken = signature(cls)
        if taken is not None:
            try:
                bound = taken.bind(*args, **kwargs)
            except TypeError as error:
                raise WrongArguments(f"{cls.__name__}: {error}; it takes {signature_text(cls)}") from None
            _check(known, bound.arguments)
    try:
        return cls(*args, **kwargs)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise explain(cls, cls.__name__, args, kwargs, error) from None


def _refuse_cycles(cls: Any, value: Any) -> None:
    """Refuse data that holds itself: a check of it does not end. Ten lists in a ring are ten thousand million paths."""
    begun: set[int] = set()
    done: set[int] = set()
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        part, left = pending.pop()
        number = id(part)
        if left:
            done.add(number)
        elif (kind := type_of(part)) in (list, tuple, dict) and number not in done:
            if number in begun:
                raise WrongArguments(f"{cls.__name__} takes no data that holds itself")
            begun.add(number)
            pending.append((part, True))
            pending.extend((child, False) for child in (part.values() if kind is dict else part))


def _check(known: KnownClass, fields: Mapping[str, Any]) -> None:
    cls = known.value
    if known.hints is None:
        known.hints = type_hints(cls)
    hints = known.hints
    for name, value in fields.items():
        if name in hints and not conforms(value, hints[name]):
            given = f"{type(value).__name__} ({reprlib.repr(value)})"  # cut: shared lists print without end
            raise WrongArguments(f"{cls.__name__}.{name} takes {annotation_text(hints[name])}, not {given}")


def conforms(value: Any, annotation: Any, known: dict[tuple[int, int], bool] | None = None) -> bool:
    """Whether a value fits an annotation. An annotation that cannot be read here accepts all: `__init__` still checks.

    `known` keeps the results for containers: one that stands in a thousand places is checked once.
    """
    if annotation is Any or isinstance(annotation, str | typing.TypeVar):
        return True
    if annotation is None or annotation is type(None):
        return value is None
    if isinstance(annotation, typing.NewType):
        return conforms(value, annotation.__supertype__, known)
    origin = typing.get_origin(annotation)
    if origin is None:
        return _is_instance(value, annotation)
    args = typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        known = {} if known is None else known
        return any(conforms(value, arg, known) for arg in args)
    if origin is Literal:
        return any(value == arg and type(value) is type(arg) for arg in args)
    if origin in (typing.Annotated, typing.Final, typing.ClassVar, typing.Required, typing.NotRequired):
        return conforms(value, args[0], known) if args else True
    known = {} if known is None else known
    key = (id(value), id(annotation))
    if key not in known:
        known[key] = True  # a container inside itself decides nothing
        known[key] = _fits_container(value, origin, args, known)
    return known[key]


def _is_instance(value: Any, annotation: Any) -> bool:
    if annotation is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is complex:
        return isinstance(value, complex | float | int) and not isinstance(value, bool)
    try:
        return isinstance(value, annotation)
    except TypeError:  # a protocol that cannot be checked at run time
        return True


def _fits_container(value: Any, origin: Any, args: tuple[Any, ...], known: dict[tuple[int, int], bool]) -> bool:
    if origin is Callable or origin is type:
        return callable(value)
    try:
        if not isinstance(value, origin):
            return False
    except TypeError:
        return True
    if origin is tuple:
        if len(args) == 2 and args[1] is ...:
            return all(conforms(v, args[0], known) for v in value)
        return len(value) == len(args) and all(conforms(v, arg, known) for v, arg in zip(value, args, strict=True))
    if issubclass(origin, Mapping) and len(args) == 2:
        return all(conforms(k, args[0], known) and conforms(v, args[1], known) for k, v in value.items())
    if isinstance(value, _COUNTABLE) and issubclass(origin, Iterable) and len(args) == 1:
        return all(conforms(v, args[0], known) for v in value) if not isinstance(value, Iterator) else True
    return True
