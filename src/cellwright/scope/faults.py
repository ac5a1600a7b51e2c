"""Exceptions over the boundary, on the host's side: text and plain attributes; no objects, tracebacks or host paths."""

from __future__ import annotations

import builtins
import contextlib
import datetime as dt
import os
import re
import sys
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from cellwright.errors import CodeError
from cellwright.scope.classes import Classes, is_builtin
from cellwright.scope.parcels import Parcel
from cellwright.scope.presets import CREDENTIALS, refusal
from cellwright.scope.rules import Place
from cellwright.scope.signatures import without_addresses
from cellwright.short_texts import whole_words
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import WireError, type_of

TEXT_LIMIT = 10_000
_ATTRIBUTE_TYPES = (type(None), bool, int, float, str)
_DATA = (*_ATTRIBUTE_TYPES, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, Decimal, UUID)
_COLLECTIONS: tuple[type[Any], ...] = (list, tuple, set)
_URL_LOGIN = re.compile(r"(?<=://)[^/\s@:]*:[^/\s@]*@")  # matches in one way only: a guest may send a long text
_BEARER = re.compile(r"(?i)\b(bearer|basic|token|api[_-]?key|password|secret)(\s*[=:]\s*|\s+)(['\"]?)[^\s'\",;]{6,}")


def pack(error: BaseException, classes: Classes, packer: Parcel) -> Any:
    """An exception for the guest: its class, its arguments, its plain attributes, its text."""
    kind = type(error)
    text = clean(_text(error))
    args: list[Any] = [clean(whole_words(a, TEXT_LIMIT)) if isinstance(a, str) else a for a in error.args]
    if not all(type(a) in _ATTRIBUTE_TYPES for a in args):
        args = [text]
    if is_builtin(kind) and kind is not ExceptionGroup and kind is not BaseExceptionGroup:
        about: Any = kind.__name__
    elif issubclass(kind, BaseExceptionGroup):
        about, args = "RuntimeError", [f"{kind.__name__}: {text}"]
    else:
        about = classes.reference(classes.enter(kind, Place(kind.__name__, kind)), packer)
    return {"E": [about, [packer.pack(a) for a in args], packer.pack(_attributes(error)), text]}


def error_text(error: BaseException) -> str:
    """An exception as one text: its type, and its message."""
    return f"{type(error).__name__}: {clean(_text(error))}"


def _text(error: BaseException) -> str:
    try:
        return whole_words(str(error), TEXT_LIMIT)
    except Exception as broken:  # an exception of a library that cannot be printed
        return f"(its text failed: {type(broken).__name__})"


def _attributes(error: BaseException) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in getattr(error, "__dict__", {}).items():
        if name.startswith("_") or name.lower() in CREDENTIALS or refusal(type(error), name):
            continue
        if _is_plain(value):
            plain[name] = _cleaned(value)
    return plain


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether an attribute is data that may cross. A path is not: it tells where things lie on the host."""
    kind = type_of(value)
    if kind in (list, tuple, set, dict) and depth < 5 and len(value) <= 1000:
        return all(_is_plain(v, depth + 1) for v in (value.values() if kind is dict else value))
    return kind in _DATA


def _cleaned(value: Any) -> Any:
    kind = type_of(value)
    if kind is str:
        return clean(whole_words(value, TEXT_LIMIT))
    if kind is dict:
        return {k: _cleaned(v) for k, v in value.items() if type(k) in _DATA and str(k).lower() not in CREDENTIALS}
    return kind(map(_cleaned, value)) if kind in _COLLECTIONS else value


def clean(text: str) -> str:
    """Text without the host's addresses, paths and logins."""
    text = without_addresses(text)
    text = _URL_LOGIN.sub("***@", text)
    text = _BEARER.sub(r"\1\2\3***", text)
    return _host_paths().sub(lambda found: ".../" + found.group(0).rpartition("/")[2], text)


@lru_cache(maxsize=1)
def _host_paths() -> re.Pattern[str]:
    home = os.path.expanduser("~")  # "~" itself where this user has none
    roots = {home, sys.prefix, sys.base_prefix, "/home", "/root", "/usr/lib", "/tmp", "/var"}
    with contextlib.suppress(FileNotFoundError):
        roots.add(os.getcwd())
    listed = "|".join(re.escape(root) for root in sorted(roots, key=len, reverse=True) if len(root) > 3)
    return re.compile(rf"(?:{listed})(?:/[^\s'\":,;()<>]*)+")


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
