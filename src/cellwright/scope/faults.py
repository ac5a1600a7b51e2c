"""Exceptions over the boundary, on the host's side: text and plain attributes; no objects, tracebacks or host paths."""

from __future__ import annotations

import builtins
import datetime as dt
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, partial
from typing import Any
from uuid import UUID

from cellwright.errors import CodeError
from cellwright.redaction import MASK, clean, is_secret_name, is_secret_setting, masked
from cellwright.scope.classes import Classes, is_builtin
from cellwright.scope.hidden_values import IsTold, text_of_error
from cellwright.scope.parcels import Parcel
from cellwright.scope.rules import Place
from cellwright.scope.value_text import shown
from cellwright.short_texts import LONGEST_WORD, whole_words
from cellwright_guest.packer import is_bulky
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import WireError, type_of

TEXT_LIMIT = 10_000
_MOST_READ = TEXT_LIMIT + LONGEST_WORD
_ATTRIBUTE_TYPES = (type(None), bool, int, float, str)
_DATA = (*_ATTRIBUTE_TYPES, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, Decimal, UUID)
_COLLECTIONS: tuple[type[Any], ...] = (list, tuple, set)
_PAIRS: tuple[type[Any], ...] = (list, tuple)
_OWN_TEXTS = (BaseException.__str__, KeyError.__str__)
_SETTINGS = re.compile("headers|environ|^env$|query|params", re.IGNORECASE)  # attributes that hold settings by name


def pack(error: BaseException, classes: Classes, packer: Parcel, is_told: IsTold, named: Sequence[Any] = ()) -> Any:
    """An exception for the guest: its class, its arguments, its plain attributes, its text.

    `named` are the objects of the call that raised it, which its text may show.
    """

    kind, said = type(error), cache(partial(_said, error, is_told=is_told, named=named))  # the text is an argument, too
    text = said(_text(error))
    args: list[Any] = [said(a) if isinstance(a, str) else a for a in error.args]
    if not all(type(a) in _ATTRIBUTE_TYPES for a in args):
        args = [text]
    if is_builtin(kind) and kind is not ExceptionGroup and kind is not BaseExceptionGroup:
        about: Any = kind.__name__
    elif issubclass(kind, BaseExceptionGroup):
        about, args = "RuntimeError", [f"{kind.__name__}: {text}"]
    else:
        about = classes.reference(classes.enter(kind, Place(kind.__name__, kind)), packer)
    return {"E": [about, [packer.pack(a) for a in args], packer.pack(_attributes(error, said)), text]}


def error_text(error: BaseException) -> str:
    """An exception as one text: its type, and its message."""
    return f"{type(error).__name__}: {_said(error, _text(error))}"


def _said(error: BaseException, text: str, is_told: IsTold | None = None, named: Sequence[Any] = ()) -> str:
    told = text_of_error(error, whole_words(text, _MOST_READ), is_told, named)
    # half of a hidden value, which is not recognised, may stand at the end of what was read
    most = TEXT_LIMIT if len(text) <= _MOST_READ else min(TEXT_LIMIT, len(told) - LONGEST_WORD)
    return clean(whole_words(told, max(most, 0)))


def _text(error: BaseException) -> str:
    args: Any = error.args
    if is_bulky(args) and type_of(error).__str__ in _OWN_TEXTS:  # what guest code gave, as the key of a KeyError
        whole = args if len(args) > 1 else args[0]
        return whole[: _MOST_READ + 1] if type_of(whole) is str else shown(whole, _MOST_READ)
    try:
        return str(error)
    except Exception as broken:  # an exception of a library that cannot be printed
        return f"(its text failed: {type(broken).__name__})"


def _attributes(error: BaseException, said: Callable[[str], str]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in getattr(error, "__dict__", {}).items():
        if name.startswith("_") or is_secret_name(name):
            continue
        if not is_bulky(value) and _is_plain(value):
            plain[name] = _cleaned(value, is_secret_setting if _SETTINGS.search(name) else is_secret_name, said)
    return plain


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether an attribute is data that may cross. A path is not: it tells where things lie on the host."""
    kind = type_of(value)
    if kind in (list, tuple, set, dict) and depth < 5 and len(value) <= 1000:
        return all(_is_plain(v, depth + 1) for v in (value.values() if kind is dict else value))
    return kind in _DATA


def _cleaned(value: Any, secret: Callable[[str], bool], said: Callable[[str], str]) -> Any:
    """Data without what stands under a secret's name, in a dict or as a pair (name, value), and with texts cleaned."""
    kind: Any = type_of(value)
    if kind is str:
        return said(value)
    if kind is bytes:
        return said(value.decode("latin-1")).encode("latin-1", "replace")
    if kind is dict:
        return {k: _cleaned(v, secret, said) for k, v in value.items() if type(k) in _DATA and not secret(_name(k))}
    if kind in _PAIRS and len(value) == 2 and type(value[0]) in (str, bytes) and secret(_name(value[0])):
        return kind((value[0], MASK))
    if kind in _PAIRS and all(type(v) is str for v in value) and any(v.startswith("-") for v in value):
        value = masked(value)  # a command
    return kind(_cleaned(v, secret, said) for v in value) if kind in _COLLECTIONS else value


def _name(key: Any) -> str:
    return key.decode("latin-1") if type(key) is bytes else str(key)


def build(body: Any, classes: Classes, unpacker: Unpacker) -> BaseException:
    """An exception of the guest, for host code: a builtin, a class in scope, or `CodeError` with its name."""
    if type_of(body) is not list or len(body) != 4:
        raise WireError("an exception without its parts")
    kind, packed_args, name, packed_text = body
    args = unpacker.unpack(packed_args)
    text = unpacker.unpack(packed_text)
    if type_of(args) is not list or type(name) is not str or type(text) is not str:
        raise WireError("an exception without its parts")
    if type(kind) is int:
        cls: Any = classes.get(kind).value
        if classes.find(cls) is None:  # not for the guest to build: its nearest builtin base
            cls = next((base for base in cls.__mro__ if is_builtin(base)), None)
    else:
        cls = getattr(builtins, kind, None) if type(kind) is str else None
    error = CodeError(f"{name}: {text}", type=name, message=text)
    if not (isinstance(cls, type) and issubclass(cls, Exception)) or issubclass(cls, BaseExceptionGroup):
        return error
    if name != cls.__name__ and cls in (Exception, RuntimeError):
        return error
    try:
        return cls(*(args if name == cls.__name__ else [f"{name}: {text}"]))
    except (TypeError, ValueError):
        return error
