"""The attributes that instances of a class have beyond its members, read from annotations and from byte code.

No source is needed, and no code of the class runs.
"""

from __future__ import annotations

import dis
import types
from typing import Any

from cellwright.scope.members import members
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

BELOW = 100  # derived classes that are looked at for one class
_DYNAMIC = frozenset(("setattr", "__dict__", "__setattr__", "vars"))


def assigned(cls: type) -> dict[str, Any]:
    """Public names that the class's own methods assign on `self`; each with the annotation of the parameter it is set
    to, or None."""
    found: dict[str, Any] = {}
    for name, method, parameter in _assignments(cls):
        if found.get(name) is None:
            hints: dict[str, Any] = getattr(_setter(vars(cls).get(method)), "__annotations__", {})
            found[name] = hints.get(parameter)
    return found


@weak_cache
def _assignments(cls: type) -> tuple[tuple[str, str, str], ...]:
    """The names, each with the method and the parameter. Annotations may lead to the class, and are not kept."""
    found: list[tuple[str, str, str]] = []
    for method, raw in list(vars(cls).items()):  # looking at some descriptors stores what they give
        function = _setter(raw)
        if isinstance(function, types.FunctionType) and function.__code__.co_argcount:
            stores = _stores(function.__code__)
            found += [(name, method, parameter) for name, parameter in stores if not name.startswith("_")]
    return tuple(found)


def _setter(raw: Any) -> Any:
    return getattr(raw, "fget", None) or getattr(raw, "func", None) or raw


def _stores(code: types.CodeType) -> list[tuple[str, str]]:
    """`self.name = …` in a function: the name, and the parameter it is set to, if it is one."""
    own = code.co_varnames[0]
    loads: list[str] = []
    stores: list[tuple[str, str]] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR":
            if loads and loads[-1] == own:
                stores.append((str(instruction.argval), loads[-2] if len(loads) == 2 else ""))
            loads = []
        elif instruction.opname == "STORE_FAST_LOAD_FAST":
            loads = [str(instruction.argval[1])]
        elif instruction.opname.startswith("LOAD_FAST"):
            named: Any = instruction.argval
            both: list[str] = list(named) if type_of(named) is tuple else [named]
            loads = [*loads, *both][-2:]
        elif instruction.opname not in ("RESUME", "NOP", "CACHE", "EXTENDED_ARG"):
            loads = []
    return stores


def own_dict(instance: Any) -> dict[Any, Any]:
    """The dictionary of an instance; an empty one if it has none."""
    try:
        own: Any = object.__getattribute__(instance, "__dict__")  # no code of the object runs
    except (AttributeError, TypeError):
        return {}
    return own if type_of(own) is dict else {}


def held_by(instance: Any) -> dict[str, Any]:
    """The public attributes that an object has of its own."""
    pairs: list[tuple[Any, Any]] = list(own_dict(instance).items())
    return {n: v for n, v in pairs if isinstance(n, str) and n.isidentifier() and not n.startswith("_")}


def members_below(cls: type) -> set[str]:
    """Public names that only derived classes have: a value that is declared as this class may be of one of them."""
    found: set[str] = set()
    pending = type.__subclasses__(cls)
    for _ in range(BELOW):
        if not pending:
            break
        sub = pending.pop()
        found |= members(sub).keys() | assigned(sub).keys()
        pending += type.__subclasses__(sub)
    return found - assigned(cls).keys()


def is_open(cls: type) -> bool:
    """Whether instances may have attributes that cannot be known beforehand."""
    for base in cls.__mro__[:-1]:
        names = vars(base)
        wrapped = isinstance(names.get("__getattribute__"), types.WrapperDescriptorType)  # every type made in C has one
        if "__getattr__" in names or ("__getattribute__" in names and not wrapped):
            return True
        init: Any = names.get("__init__")
        if isinstance(init, types.FunctionType) and _DYNAMIC & set(init.__code__.co_names):
            return True
    return False
