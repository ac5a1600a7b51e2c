"""Exceptions over the boundary, on the guest's side: real classes, rebuilt with their bases down to a builtin."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

from cellwright_guest.packer import Packer
from cellwright_guest.unpacker import Unpacker


def make_class(about: dict[str, Any], bases: tuple[Any, ...]) -> Any:
    """The guest's class for one of the host's. `bases` are those already rebuilt."""
    standard = _standard(about["module"], about["name"])
    if standard is not None:
        return standard
    builtin = tuple(getattr(builtins, name) for name in about["builtins"])
    namespace = {"__doc__": about["doc"], "__module__": about["module"], "__init__": rebuilt, "__str__": _text}
    try:
        return type(about["name"], (*bases, *builtin), namespace)
    except TypeError:  # bases whose order or layout does not fit: the first builtin still tells what it is
        return type(about["name"], builtin[:1] or (Exception,), namespace)


def _standard(module: str, name: str) -> Any:
    """The standard library's own class, so that `except json.JSONDecodeError` means what it says."""
    if module.partition(".")[0] not in sys.stdlib_module_names or module.partition(".")[0] == "__main__":
        return None
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return cls if isinstance(cls, type) and issubclass(cls, BaseException) else None


def build(world: Any, body: Any, unpacker: Unpacker) -> BaseException:
    """The exception of a failed answer."""
    about_class, args, attributes, text = body
    values = unpacker.values(args)
    if isinstance(about_class, str):
        kind = getattr(builtins, about_class)
        try:
            error = kind(*values)
        except TypeError:
            error = _new(kind)
            error.args = tuple(values)
    else:
        kind = world._class(*about_class, unpacker)
        error = _new(kind)
        error.args = tuple(values)
        error.__dict__["_text"] = text
    for name, value in unpacker.unpack(attributes).items():
        try:
            setattr(error, name, value)
        except (AttributeError, TypeError):
            error.__dict__[name] = value
    return error


def _new(kind: Any) -> Any:
    """An exception made without arguments. Of several builtin bases one can make it: OSError, if it is among them."""
    if issubclass(kind, OSError):
        return OSError.__new__(kind)
    return kind.__new__(kind)


def pack(error: BaseException, packer: Packer) -> Any:
    """An exception of the guest, for the host: its kind, and its text."""
    from cellwright_guest import records

    number = records.class_id(type(error))
    try:
        text = str(error)
    except BaseException as broken:  # a hostile __str__ has nothing to say
        text = f"(its text failed: {type(broken).__name__})"
    args: list[Any] = []
    for arg in error.args:
        args.append(arg if isinstance(arg, (str, int, float, bool, type(None))) else str(type(arg).__name__))
    names = [k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"]
    kind = number if number is not None else names[0]
    return {"E": [kind, packer.pack(args), type(error).__name__, packer.pack(text)]}


def rebuilt(self: BaseException, *args: Any) -> None:
    """The `__init__` of every class that is made here."""
    self.args = args


def _text(self: BaseException) -> str:
    text = self.__dict__.get("_text")
    return text if text is not None else " ".join(map(str, self.args))
