"""Hidden fields by what an object holds: what of it tells them, and texts without their values.

Where an annotation says less than the object (`Any`, a base class), `hidden_fields`, which decides by types, sees none.
No code of an object runs here, except for the `repr` of plain values. Looks at a bounded number of objects.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import itertools
import re
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from cellwright.redaction import MASK, is_secret_name
from cellwright.scope.attributes import own_dict
from cellwright.scope.hidden_fields import (
    extra_of,
    has_secret_field,
    reading_members,
    reading_operators,
    record_fields,
)
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

SHORTEST = 4  # characters of a hidden value that is looked for in a text
MOST_SHOWN = 200  # objects whose values are looked for in one text, beside those that it is about
WIDTH = 10_000  # items of one container that are looked at for a text
MOST_READ = 10_000  # parts of a record that is read as a whole, without plain values; a larger one counts as a secret
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, dict, deque)
_ATOMS: frozenset[type] = frozenset(
    (type(None), bool, int, float, complex, str, bytes, bytearray, Decimal, UUID)
    + (dt.datetime, dt.date, dt.time, dt.timedelta)
)
_TEXTS: tuple[type[Any], ...] = (str, bytes, bytearray)
_PLAIN: tuple[type[Any], ...] = (*_TEXTS, *_ATOMS)
_PARTIALS: tuple[type[Any], ...] = (functools.partial, functools.partialmethod)
_CODE: tuple[type[Any], ...] = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
_TUPLE: Any = tuple
_NAMED = re.compile(r"(?<!\w)(\w++)=")
_DICT: Any = dict
_INPUT = re.compile(r"input_value=.*?(?=, input_type=)", re.DOTALL)

IsTold = Callable[[Any, str], bool]  # whether a text may have the value of an object's attribute


def tells_held(value: Any, name: str, hides_field: Callable[[type], bool]) -> bool:
    """Whether a member or an operator of a record tells a hidden field by what the record holds now.

    `hides_field`: whether a rule hides a field of a class. Of the record itself the rules decide elsewhere.
    """
    reads = reading_operators if name.startswith("__") else reading_members
    if name not in reads(type_of(value)):
        return False
    kinds = set[type]()
    for count, part in enumerate(_parts([value], _fields, None)):
        if count > MOST_READ or any(map(is_secret_name, extra_of(part))):
            return True
        if part is not value and type_of(part) not in kinds:
            kinds.add(type_of(part))
            if has_secret_field(type_of(part)) or hides_field(type_of(part)):
                return True
    return False


def text_of(value: Any, text: str, is_told: IsTold | None = None) -> str:
    """A text about an object, without the values of hidden attributes of all that the object holds."""
    return _masked([value], text, is_told)


def _masked(values: Sequence[Any], text: str, is_told: IsTold | None) -> str:
    named = frozenset(_NAMED.findall(text))
    for part in itertools.islice(_parts(values, _held, WIDTH), len(values) + MOST_SHOWN):
        if isinstance(part, _PARTIALS) and "functools.partial" in text:
            for given in (*part.args, *part.keywords.values()):  # values of the host, which no signature tells
                text = _without(text, given)
        for name, held in _attributes(part).items():
            if issubclass(type_of(held), _PLAIN):
                masked = _without(_without_pair(text, name, held) if name in named else text, held)
                if masked != text and _is_hidden(part, name, is_told):  # few texts have the value: rules take longer
                    text = masked
            elif issubclass(type_of(held), _CONTAINERS) and _is_hidden(part, name, is_told):
                text = _without(_without_pair(text, name, held) if name in named else text, held)
    return text


def _without_pair(text: str, name: str, held: Any) -> str:
    standard = type_of(held) in _ATOMS or type_of(held) in _CONTAINERS  # the `repr` of another class is its own code
    return text.replace(f"{name}={held!r}", f"{name}={MASK}") if standard else text


def _is_hidden(value: Any, name: str, is_told: IsTold | None) -> bool:
    if is_told is None or name.startswith("_") or issubclass(type_of(value), (types.FunctionType, *_PARTIALS)):
        return is_secret_name(name)
    return not is_told(value, name)


def text_of_error(error: BaseException, text: str, is_told: IsTold | None = None, named: Sequence[Any] = ()) -> str:
    """A text of an exception, without hidden values of the objects that it was raised with, or for."""
    if type(error).__module__.startswith("pydantic"):
        text = _without_inputs(error, text)
    return _masked([*error.args, *named], text, is_told)


def _without_inputs(error: Any, text: str) -> str:
    """The text of a failed validation without inputs that have a secret's name, or are no plain data."""
    try:
        found: list[Any] = error.errors(include_url=False, include_context=False)
    except (AttributeError, TypeError, ValueError):  # not that kind of error
        return text
    kept = [_is_data(one["input"]) and not any(is_secret_name(str(part)) for part in one["loc"]) for one in found]
    head, mark, tail = text.rpartition(", input_type=")  # a search in the tail would find no end, each time anew
    if len(_INPUT.findall(head + mark)) != len(kept):  # an input has such a text in it
        kept = [False] * text.count("input_value=")
    left = iter(kept)
    return _INPUT.sub(lambda one: one[0] if next(left, False) else f"input_value={MASK}", head + mark) + tail


def _is_data(value: Any) -> bool:
    return all(type_of(part) in _CONTAINERS for part in _parts([value], _held, None))


def _without(text: str, held: Any) -> str:
    """The text without a text, or those in a container."""
    for part in _parts([held], lambda _: (), WIDTH) if issubclass(type_of(held), _CONTAINERS) else ():
        for item in _items(part, WIDTH):
            text = text if issubclass(type_of(item), _CONTAINERS) else _without(text, item)
    base = _base(type_of(held), _TEXTS)
    if base is None or not SHORTEST <= base.__len__(held) <= len(text):
        return text  # a longer one is not in it, and takes long to write
    plain = str.__str__(held) if base is str else base.decode(held, "latin-1")
    return text.replace(plain, MASK).replace(repr(plain)[1:-1], MASK)


def _parts(values: Iterable[Any], inside: Callable[[Any], Iterable[Any]], width: int | None) -> Iterator[Any]:
    """Objects and what they hold, each once, the nearest first, and no plain values.

    `inside` are the parts that are no items; of a container's items the first `width`, where that is given.
    """
    pending, seen = list(values), dict[int, Any]()
    while pending:
        below: list[Any] = []
        for part in pending:
            if type_of(part) in _ATOMS or id(part) in seen:
                continue
            seen[id(part)] = part  # keeps it: an id is only good while its object lives
            yield part
            items = _items(part, width)
            if not _ATOMS.issuperset(map(type_of, items)):
                below += items
            if type_of(part) not in _CONTAINERS:
                below += inside(part)
        pending = below


def _items(container: Any, width: int | None) -> list[Any]:
    """A copy of the items of what is a container, or derives from one, by the methods of Python's own type."""
    base = _base(type_of(container), _CONTAINERS)
    if base is None:
        return []
    while True:
        with contextlib.suppress(RuntimeError):  # another thread changed it just now
            items = [*itertools.islice(base.__iter__(container), width)]
            return [*items, *itertools.islice(base.values(container), width)] if base is _DICT else items


def _base(kind: type, bases: tuple[Any, ...]) -> Any:
    """The one of Python's types that a class is or derives from; None where it does not."""
    return next((base for base in bases if issubclass(kind, base)), None)


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, types.MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, _PARTIALS):
        return (value.func, *value.args, *value.keywords.values())
    return _attributes(value).values()


def _fields(value: Any) -> Iterable[Any]:
    """The values of a record; of other objects nothing, because a dump leaves them as they are."""
    if not record_fields(type_of(value)):
        return ()
    return [part for part in _attributes(value).values() if type_of(part) not in _ATOMS]


def _attributes(value: Any) -> dict[str, Any]:
    """What an object has of its own, in its dictionary, its slots, its items or its extra fields; and keys of its
    class."""
    kind = type_of(value)
    if kind in _ATOMS or (issubclass(kind, _CODE) and kind is not types.FunctionType):
        return {}
    held = own_dict(value).copy()  # other threads may set attributes meanwhile
    if not all(map(_is_text, held)):
        held = {name: part for name, part in held.items() if _is_text(name)}
    if kind is types.FunctionType:
        return {**held, **_brought_along(value)}
    if extra := extra_of(value):
        held = held | extra
    if tuple in kind.__mro__:
        held = held | dict(zip(record_fields(kind), _TUPLE.__iter__(value), strict=False))
    for depth, name in _slots(kind):
        try:
            held = {name: vars(kind.__mro__[depth])[name].__get__(value), **held}
        except AttributeError:  # not set
            continue
    if isinstance(value, _PARTIALS):
        held = {**held, **_by_parameter(value)}
    if names := _class_keys(kind):
        held = {**{name: vars(kind.__mro__[depth]).get(name) for depth, name in names}, **held}
    return held


def _brought_along(function: types.FunctionType) -> dict[str, Any]:
    """What a function has of its own: defaults, values of the functions round it, and keys that are globals."""
    code = function.__code__
    names = reversed(code.co_varnames[: code.co_argcount])  # some decorators give more defaults than there are names
    held: dict[str, Any] = dict(zip(names, reversed(function.__defaults__ or ()), strict=False))
    held |= function.__kwdefaults__ or {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not set yet
            held[name] = cell.cell_contents
    named = ((name, function.__globals__.get(name)) for name in code.co_names if is_secret_name(name))
    return held | {name: part for name, part in named if issubclass(type_of(part), _TEXTS)}


def _by_parameter(partial: functools.partial[Any]) -> dict[str, Any]:
    """What a partial was given, by the names of its function's parameters."""
    function: Any = partial.func
    names = function.__code__.co_varnames if type_of(function) is types.FunctionType else ()
    return {**dict(zip(names, partial.args, strict=False)), **partial.keywords}


def _is_text(name: Any) -> bool:
    return type_of(name) is str


@weak_cache
def _slots(kind: type) -> tuple[tuple[int, str], ...]:
    """The slots of a class, each with the place of its home among the bases; of those that are written in Python."""
    homes = [(depth, vars(base)) for depth, base in enumerate(kind.__mro__) if "__slots__" in vars(base)]
    return tuple((at, n) for at, own in homes for n, m in own.items() if type_of(m) is types.MemberDescriptorType)


@weak_cache
def _class_keys(kind: type) -> tuple[tuple[int, str], ...]:
    """The attributes of a class that are texts with a secret's name, with the places of their homes, the first last."""
    homes = [(depth, vars(base)) for depth, base in enumerate(kind.__mro__)][::-1]
    return tuple((at, n) for at, own in homes for n, m in own.items() if is_secret_name(n) and type_of(m) in _TEXTS)
