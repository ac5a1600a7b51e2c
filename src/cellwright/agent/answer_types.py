"""The type of an answer: the classes in it, its text for the model, and the type that pydantic checks."""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import types
import typing
from collections import abc
from collections.abc import Iterator
from typing import Any, cast

from cellwright.scope import is_typed_dict, type_hints

_UNIONS = (typing.Union, types.UnionType)
_CALLABLE: Any = abc.Callable
_READ_AS_LISTS = (abc.Iterable, abc.Collection, abc.Container, abc.Reversible)


def class_name(cls: type) -> str:
    """The name of a class in code: `Page_Item` for pydantic's class `Page[Item]`."""
    return re.sub(r"\W+", "_", cls.__name__).strip("_")


def classes_in(hint: Any, seen: set[Any] | None = None) -> Iterator[type]:
    """The developer's classes of data in a type: code builds them, or gives dicts for them."""
    seen = set() if seen is None else seen
    hint = meant(hint)
    if not isinstance(hint, abc.Hashable) or hint in seen:
        return
    seen.add(hint)
    origin = typing.get_origin(hint)
    cls: Any = hint if isinstance(hint, type) and origin is None else origin
    if _is_data(cls):
        yield cls
        fields: dict[str, Any] = getattr(cls, "model_fields", {})
        inner = [f.annotation for f in fields.values()] or list(type_hints(cls).values())
        for each in inner if not issubclass(cls, enum.Enum) else ():
            yield from classes_in(each, seen)
    for each in typing.get_args(hint):
        yield from classes_in(each, seen)


def buildable(hint: Any) -> Iterator[type]:
    """Those of the classes that code can build: of a `TypedDict` there are only dicts."""
    return (cls for cls in classes_in(hint) if not is_typed_dict(cls))


def _is_data(cls: Any) -> bool:
    if not isinstance(cls, type):
        return False
    made: Any = cls
    if dataclasses.is_dataclass(made) or is_typed_dict(made) or enum.Enum in made.__mro__:
        return True
    return bool(getattr(made, "model_fields", ()) or (tuple in made.__mro__ and getattr(made, "_fields", ())))


def meant(hint: Any) -> Any:
    """What a type stands for: of a `NewType`, of `type X = …`, and of a `RootModel[X]` without a class of its own."""
    for _ in range(20):
        if isinstance(hint, type):
            if not hint.__name__.startswith("RootModel[") or not hasattr(hint, "model_fields"):
                return hint
            hint = cast(Any, hint).model_fields["root"].annotation
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__") and hasattr(hint, "__type_params__"):
            hint = hint.__value__
        else:
            break
    return hint


def type_name(hint: Any, depth: int = 0) -> str:
    """A type as code writes it, without module names."""
    hint = meant(hint) if depth < 8 else hint
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    inner = functools.partial(type_name, depth=depth + 1)
    if hint is None or hint is type(None):
        return "None"
    if hint is Ellipsis:
        return "..."
    if origin is typing.Annotated:
        return inner(args[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin in _UNIONS:
        return " | ".join(map(inner, args))
    if isinstance(hint, list):  # of the parameters of a callable
        return f"[{', '.join(map(inner, cast('list[Any]', hint)))}]"
    if isinstance(hint, type) and origin is None:
        return class_name(hint)
    if isinstance(hint, typing.ForwardRef):
        return hint.__forward_arg__
    name = getattr(origin or hint, "__name__", None) or str(hint).replace("typing.", "")
    return f"{name}[{', '.join(map(inner, args))}]" if args else name


def checked_type(hint: Any) -> Any:
    """The type that pydantic checks at once and whole. Of an `Iterable` it would check each item when it is read."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in _READ_AS_LISTS:
        return list
    if origin in _READ_AS_LISTS and len(args) == 1:
        return types.GenericAlias(list, (checked_type(args[0]),))
    if origin in (abc.Iterator, abc.Generator):
        return _items_of(origin, checked_type(args[0]))
    if not args or origin in (None, typing.Literal, _CALLABLE):
        return hint
    if origin is typing.Annotated:
        return typing.Annotated[(checked_type(args[0]), *args[1:])]
    made = tuple(map(checked_type, args))
    if made == args:
        return hint
    return typing.Union[made] if origin in _UNIONS else cast(Any, origin)[made]  # noqa: UP007  computed


def _items_of(origin: Any, item: Any) -> Any:
    """A live iterator as it is; of any other container the items, checked."""
    from pydantic import WrapValidator

    def read(given: Any, checked: Any) -> Any:
        return given if isinstance(given, origin) else (one for one in checked(given))

    return typing.Annotated[types.GenericAlias(list, (item,)), WrapValidator(read)]


def classes_named(hint: Any) -> Iterator[type]:
    """The classes that a type names anywhere, except `object` and `Any`."""
    hint = meant(hint)
    origin = typing.get_origin(hint)
    for cls in (hint, origin):
        if isinstance(cls, type) and cls is not object and cls is not typing.Any:
            yield cls
    for each in typing.get_args(hint):
        yield from classes_named(each)
