"""The content of host objects as text, for a person who is asked about a call: all of it, and strictly.

The `repr` of an object is never asked: it may say anything. Content are plain data, the fields of data classes, models
and named tuples, the rows of frames, and what `to_journal()` gives. Whatever else there is raises `NoContent`. The same
content gives the same text, in every process.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime as dt
import enum
import functools
import hashlib
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cellwright.errors import CannotCross
from cellwright.redaction import MASK, is_secret_name
from cellwright.scope import frames
from cellwright.scope.classes import ATOMS, is_model
from cellwright.scope.distributions import package_of
from cellwright.scope.grant_tables import library, table_of
from cellwright.scope.guest_functions import GuestFunction, GuestIterator
from cellwright.scope.value_text import ValueWriter
from cellwright_guest.json_records import Record
from cellwright_guest.packer import Packer, plain
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import type_of

MOST = 20_000_000  # characters of one object's content
HEAD = 5  # rows of a frame, where not all are wanted
WHOLE = 500_000  # cells of a frame, where all are
_ATOMS = frozenset(ATOMS)
_SHARED: tuple[type[Any], ...] = (str, bytes, int, float, complex)
_TIMES: tuple[type[Any], ...] = (dt.datetime, dt.date, dt.time, dt.timedelta)
_SEQUENCES: tuple[type[Any], ...] = (list, tuple, collections.deque)
_SETS: tuple[type[Any], ...] = (set, frozenset)
_HOLDERS: tuple[type[Any], ...] = (types.SimpleNamespace, collections.UserDict, collections.UserList)
_CONTAINERS: tuple[type[Any], ...] = (Record, dict, bytearray, BaseException, *_SEQUENCES, *_SETS, *_HOLDERS)
_EMPTY = dict[Any, Any]()
_VIEWS: tuple[type[Any], ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
_PLAIN_MODULES = ("datetime", "decimal", "uuid", "pathlib", "zoneinfo", "fractions", "ipaddress")
_CONSTANTS = (type(...), type(NotImplemented), bytearray)
FUNCTION_TYPES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
_FRAMES = {"pandas": ("DataFrame", "Series"), "polars": ("DataFrame", "Series"), "numpy": ("ndarray",)} | {
    "pyarrow": ("Table", "RecordBatch")
}
_NO_VARS = (*FUNCTION_TYPES, type, types.ModuleType, GuestFunction, GuestIterator)
_ALL_LIBRARIES = frozenset(_FRAMES)

_DICT: Any = dict
_TUPLE: Any = tuple


class NoContent(Exception):
    """Of such an object a person can be shown nothing. `what` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class ContentWriter(ValueWriter):
    """Writes one object.

    names    gives the path of an object that the developer bound by name, "" for any other
    whole    all rows of frames, and not the first with a digest of all
    lenient  the class of what has no content, and no exception
    nested   the attributes of what has no content and is of no library: for data that `shown=` gives
    reveal   secret fields as they are: to compare them, and never to be shown
    called   functions too, with what they close over: for the function that is called itself
    most     characters that whoever takes the parts will take, and cells of a frame
    """

    def __init__(
        self,
        names: Callable[[Any], str] = lambda value: "",
        *,
        whole: bool = False,
        lenient: bool = False,
        nested: bool = False,
        reveal: bool = False,
        called: bool = False,
        most: int = MOST,
    ) -> None:
        super().__init__(most)
        self.most = most
        self._names = names
        self._whole = whole
        self._lenient = lenient
        self._nested = nested
        self._reveal = reveal
        self._called = called
        self.masked = False  # whether there are secret fields
        self.abridged = False  # whether rows of a frame were left out
        self.cells = 0  # of frames

    def parts(self, value: Any) -> Iterator[str]:
        """Written by Python where all is plain: that takes a tenth of the time."""
        kind = type_of(value)
        flat = kind in _ATOMS
        if not flat and (kind is list or kind is tuple):
            flat = _ATOMS.issuperset(map(type_of, value))
        elif kind is dict:
            flat = _ATOMS.issuperset(map(type_of, value)) and _ATOMS.issuperset(map(type_of, value.values()))
        if flat:
            try:
                return iter((repr(value),))
            except ValueError:  # a number that Python does not write
                pass
        return super().parts(value)

    def inner(self, value: Any, kind: Any) -> Iterator[str]:
        if kind in ATOMS or kind in _CONSTANTS or kind.__module__.partition(".")[0] in _PLAIN_MODULES:
            return iter((repr(value),))
        if kind is object:  # a sentinel
            return iter(("<object>",))
        if _derives(kind, FUNCTION_TYPES) and self._called:
            return self._function(value, kind)
        if not _derives(kind, FUNCTION_TYPES) and (path := self._names(value)):
            return self._bound(value, kind, path) if has_content(kind) else iter((f"<{path}>",))
        return self._content(value, kind)

    def _bound(self, value: Any, kind: Any, path: str) -> Iterator[str]:
        """A record that the developer bound is told by its content too: guest code may have changed it."""
        yield f"<{path}: "
        lenient, self._lenient = self._lenient, True
        try:
            yield from self._content(value, kind)
        finally:
            self._lenient = lenient
        yield ">"

    def _content(self, value: Any, kind: Any) -> Iterator[str]:
        found = self._standard(value, kind) or self._fields(value, kind) or self._other(value, kind)
        if found is not None:
            return found
        if self._nested and not _derives(kind, _NO_VARS) and _is_own(kind):
            return self._record(kind, list(_state(value, kind)), frozenset(), value)
        if self._lenient:
            return iter((f"<{kind.__name__}>",))
        raise NoContent(_without_content(kind))

    def _standard(self, value: Any, kind: Any) -> Iterator[str] | None:
        """Python's own containers and types, and what derives from them."""
        if kind in (list, tuple, dict, slice, range):
            return super().inner(value, kind)
        if _derives(kind, BaseException):
            return self._derived(kind, "", map(self._text, value.args), value)
        if kind in _VIEWS:
            return self.items(f"{kind.__name__}([", value, "])")
        if is_frame(kind):
            return self._frame(value, kind)
        if _derives(kind, enum.Enum):
            return iter((f"{kind.__name__}.{value.name}" if value.name else f"{kind.__name__}({value.value!r})",))
        if _derives(kind, type):
            return iter((f"<{value.__name__}>",))
        if _derives(kind, _SETS):
            return self._derived(kind, "{", sorted(map(self._text, _base(kind, _SETS).__iter__(value))), value)
        if _derives(kind, _SHARED):
            return self._derived(kind, "", [_base(kind, _SHARED).__repr__(value)], value)
        if _derives(kind, _TIMES):
            if kind.__module__.startswith("pandas."):  # it has nanoseconds, and a time that is none
                return iter((repr(value),))
            return self._derived(kind, "", [_base(kind, _TIMES).__repr__(value)], value)
        return None

    def _fields(self, value: Any, kind: Any) -> Iterator[str] | None:
        """Records, of whatever library; a class may have methods too."""
        pairs: Iterable[tuple[str, Any]] = ()
        silent: Iterable[str] = ()
        if is_model(kind):
            pairs = [*((name, getattr(value, name, None)) for name in kind.model_fields), *_extra(value)]
            silent = (name for name, one in kind.model_fields.items() if not one.repr)
        elif hasattr(kind, "__dataclass_fields__") and not _derives(kind, (dict, *_SEQUENCES)):
            known = dataclasses.fields(kind)
            pairs = [(one.name, getattr(value, one.name, None)) for one in known]
            silent = (one.name for one in known if not one.repr)
        elif _derives(kind, tuple) and hasattr(kind, "_fields"):
            pairs = list(zip(kind._fields, _TUPLE.__iter__(value), strict=True))
        elif _derives(kind, (Record, *_HOLDERS)) or hasattr(kind, "__attrs_attrs__"):
            pairs = list(_state(value, kind))
        else:
            return None
        return self._record(kind, pairs, frozenset(silent), value)

    def _other(self, value: Any, kind: Any) -> Iterator[str] | None:
        if _derives(kind, dict):
            return self._derived(kind, "", [self._text(dict(_DICT.items(value)))], value)
        if _derives(kind, _SEQUENCES):
            return self._derived(kind, "[", map(self._text, _base(kind, _SEQUENCES).__iter__(value)), value)
        if kind.__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
            if kind.__name__ in ("datetime64", "timedelta64"):
                return iter((repr(value),))
            scalar = value.item()
            return self.parts(scalar) if type_of(scalar) in ATOMS else None
        if callable(getattr(kind, "to_journal", None)):
            return self.items(f"{kind.__name__}(", [value.to_journal()], ")")
        return None

    def _derived(self, kind: type, opened: str, texts: Iterable[str], value: Any) -> Iterator[str]:
        """What derives from one of Python's types: its items, by that type's own methods, and its attributes."""
        yield f"{kind.__name__}({opened}"
        for place, text in enumerate(texts):
            yield f", {text}" if place else text
        yield {"[": "]", "{": "}"}.get(opened, "")
        yield from self._pairs_of(_state(value, kind), frozenset(), ", ")
        yield ")"

    def _record(
        self, kind: type, pairs: Iterable[tuple[str, Any]], silent: frozenset[str], value: Any
    ) -> Iterator[str]:
        """The fields, and what else the object has: its methods may go by that."""
        fields = dict(pairs)
        others = {name: one for name, one in _state(value, kind) if name not in fields}
        yield f"{kind.__name__}("
        yield from self._pairs_of({**fields, **others}.items(), silent | others.keys(), "")
        yield ")"

    def _pairs_of(self, pairs: Iterable[tuple[str, Any]], silent: frozenset[str], between: str) -> Iterator[str]:
        """Fields that are private, or left out of the `repr`, may hold what has no content: a client, a lock."""
        for name, value in pairs:
            if is_secret_name(name):
                self.masked = True
                text = (self._text_if_any(value) or MASK) if self._reveal else MASK
            elif name in silent or name.startswith("_"):
                text = self._text_if_any(value)
            else:
                text = None
            if text != "":
                yield f"{between}{name if name.isidentifier() else repr(name)}="
                yield from self.parts(value) if text is None else (text,)
                between = ", "

    def _text_if_any(self, value: Any) -> str:
        depth = len(self.within)
        try:
            return self._text(value)
        except NoContent:
            del self.within[depth:]
        if self._lenient or not has_content(type_of(value)):
            return ""
        self._lenient = True
        try:
            return self._text(value)
        finally:
            self._lenient = False

    def _text(self, value: Any) -> str:
        return "".join(self.parts(value))

    def _function(self, value: Any, kind: Any) -> Iterator[str]:
        """By its name, what it is bound to, its defaults and what it closes over: the name does not say which it is."""
        if kind is functools.partial:
            yield "partial("
            yield from self.parts(value.func)
            yield from self.items(", ", [*value.args, dict(value.keywords)], ")")
            return
        owner = getattr(value, "__self__", None)
        yield f"<function {value.__qualname__}"
        if owner is not None and not _derives(type_of(owner), types.ModuleType):
            yield " of "
            yield from self.parts(owner)
        for name, given in _captured(value.__func__ if kind is types.MethodType else value):
            yield f", {name}="
            yield from self.parts(given)
        yield ">"

    # frames

    def _frame(self, value: Any, kind: Any) -> Iterator[str]:
        rows = len(value) if getattr(value, "shape", None) != () else 1
        self.cells += (cells := math.prod(getattr(value, "shape", ())))
        if cells > self.most:
            raise NoContent(f"a {kind.__name__} of {cells:,} cells")
        size = f"{rows:,} rows" if len(getattr(value, "shape", ())) < 2 else f"{rows:,} rows of {value.shape[1]:,}"
        yield f"{kind.__module__.partition('.')[0]}.{kind.__name__} of {size}, sha256 {self._frame_digest(value)}"
        shown = min(rows, WHOLE * rows // max(cells, 1)) if self._whole else HEAD
        self.abridged = self.abridged or shown < rows
        columns, listed = _rows(value, kind, shown)
        yield f", {'all' if shown >= rows else f'the first {shown} and not the other {rows - shown:,}'}: "
        lenient, self._lenient = self._lenient, True
        yield f"{self._text(columns)} " if columns else ""
        yield from self.parts(listed)
        self._lenient = lenient

    def _frame_digest(self, value: Any) -> str:
        digest = hashlib.sha256()
        packer = Packer(plain)
        packed = frames.pack(value, packer, _ALL_LIBRARIES)
        if packed is not None:
            digest.update(repr(packed).encode())
            for blob in packer.blobs:
                digest.update(blob)
            return digest.hexdigest()
        for part in self.parts(_rows(value, type_of(value), len(value))):
            digest.update(part.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def has_content(kind: Any) -> bool:
    """Whether objects of the class are told by what they hold, wherever they are bound."""
    if _derives(kind, (type, enum.Enum)):
        return False
    marks = ("__dataclass_fields__", "__attrs_attrs__", "to_journal")
    return any(hasattr(kind, mark) for mark in marks) or is_model(kind) or is_frame(kind) or _derives(kind, _CONTAINERS)


def _is_own(kind: type) -> bool:
    """Whether it is a class of the developer's: attributes of a library's (a logger, a client) lead anywhere."""
    package = kind.__module__.partition(".")[0]
    return package not in sys.stdlib_module_names and not package_of(kind) and table_of(library(package)) is None


def _derives(kind: Any, bases: Any) -> bool:
    return issubclass(kind, bases)


def _base(kind: type, bases: tuple[Any, ...]) -> Any:
    """The one of Python's types that it derives from. Its methods tell what a method of the class might hide."""
    return next(base for base in bases if issubclass(kind, base))


def _without_content(kind: type) -> str:
    if issubclass(kind, GuestFunction):
        return "a function of the guest"
    if issubclass(kind, GuestIterator):
        return "an iterator of the guest"
    return "a function" if issubclass(kind, FUNCTION_TYPES) else f"a {kind.__name__}"


def is_frame(kind: type) -> bool:
    return kind.__name__ in _FRAMES.get(kind.__module__.partition(".")[0], ())


def given_frame_text(body: Any, unpacker: Unpacker, *, whole: bool) -> str:
    """A frame that a guest sent, as text."""
    try:
        frame = frames.build(body, unpacker, _ALL_LIBRARIES)
    except CannotCross:
        return ""  # the call will say so
    return "".join(ContentWriter(whole=whole, lenient=True, most=frames.CELLS).parts(frame))


def _rows(value: Any, kind: type, most: int) -> tuple[list[Any], list[Any]]:
    """The columns' names, none for an array; and the first rows, with their labels if they have any."""
    library, is_series = kind.__module__.partition(".")[0], kind.__name__ == "Series"
    if library == "numpy":
        return [], value.tolist() if value.shape == () else value[:most].tolist()
    if library == "pandas":
        first = value.iloc[:most]
        columns = [first] if is_series else [first.iloc[:, at] for at in range(first.shape[1])]
        rows = zip(first.index.tolist(), *(column.tolist() for column in columns), strict=True)
        return [value.name] if is_series else first.columns.tolist(), list(rows)
    if library == "polars":
        first = value[:most]
        return ([value.name], first.to_list()) if is_series else (list(value.columns), first.rows())
    columns = [column.to_pylist() for column in value.slice(0, most).columns]
    return list(value.schema.names), list(zip(*columns, strict=True))


def _extra(value: Any) -> list[tuple[str, Any]]:
    extra: Any = getattr(value, "__pydantic_extra__", None)
    return list(extra.items()) if type_of(extra) is dict else []


def _state(value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """All attributes of the object itself: in its `__dict__`, in slots, and those that pydantic keeps apart."""
    for own in (getattr(value, "__dict__", None), getattr(value, "__pydantic_private__", None)):
        if type_of(own) is dict:  # it may be the object itself
            yield from ((name, one) for name, one in _DICT.items(own) if type_of(name) is str)
    for base in kind.__mro__:
        for name, slot in vars(base).items():
            if type_of(slot) is types.MemberDescriptorType and "__slots__" in vars(base) and name[:2] != "__":
                with contextlib.suppress(AttributeError):  # an empty slot
                    yield name, slot.__get__(value)


def _captured(function: Any) -> Iterator[tuple[str, Any]]:
    """The defaults of a function's parameters, and what it closes over."""
    if type_of(function) is not types.FunctionType:
        return
    code, defaults = function.__code__, function.__defaults__ or ()
    parameters = code.co_varnames[: code.co_argcount]
    yield from zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            yield name, cell.cell_contents
