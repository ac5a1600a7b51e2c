"""How a session's names are pickled: so that what comes back behaves as what went, or nothing of it comes back.

Built on cloudpickle, which the zygote brings along under a name of its own. Functions keep the very names they were
defined in, and closures share their cells. What lives on the host goes by its number, what a module has by that module.
What would come back as something else (an open file as text, a cache as an empty one) is refused.
"""

from __future__ import annotations

import functools
import importlib
import io
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from cellwright_guest import borrowed, clock, known, proxies, records
from cellwright_guest.wire import type_of

LARGEST = 64 << 20

cloudpickle = borrowed.module()
_NO_OWN = ("__main__", "builtins", "types")
_cache_type = type_of(functools.lru_cache(int))


class Refused(pickle.PicklingError):
    """A value that would not come back as it is."""


class Spent(Exception):
    """A pickle that is larger, or takes longer, than it may."""


class Home:
    """What names refer to without owning it: the names themselves, the host, the loop, the standard streams."""

    def __init__(self, names: dict[str, Any], world: Any, loop: Any, streams: tuple[Any, ...] = ()) -> None:
        self.names = names
        self.world = world
        self.loop = loop
        self.streams = streams


_home: Home | None = None


def at_home(home: Home | None) -> None:
    """From here on what is read belongs there."""
    global _home
    _home = home


def _here() -> Home:
    if _home is None:
        raise pickle.UnpicklingError("a checkpoint is read by its guest alone")
    return _home


# what a pickle calls when it is read


def globals_of(module: str) -> dict[str, Any]:
    """The names of a module; of the session for ""."""
    return importlib.import_module(module).__dict__ if module else _here().names


def host_class(number: int) -> Any:
    return known.class_of(_here().world, number)


def host_object(handle: int, number: int) -> Any:
    return known.object_of(_here().world, handle, number)


def host_function(handle: int, about: Any) -> Any:
    return known.function_of(_here().world, handle, about)


def the_loop() -> Any:
    return _here().loop


def stream(number: int) -> Any:
    return _here().streams[number]


def part(owner: Any, name: str) -> Any:
    """What a module or a class of the host has under a name."""
    return getattr(owner, name)


def cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def cached_property(function: Any, state: dict[str, Any]) -> Any:
    made = functools.cached_property(function)
    made.__dict__.update(state)
    return made


def fill(cell: types.CellType, contents: tuple[Any]) -> None:
    cell.cell_contents = contents[0]


class Globals:
    """Stands for the dict of a module's names, or of the session's."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __reduce__(self) -> Any:
        return globals_of, (self._module,)


class Trap:
    """Sits in the names while they are pickled: a value that holds all of them is refused."""

    def __reduce__(self) -> Any:
        raise Refused("it holds all names of the session")


class Buffer:
    """Takes what a pickler writes, as far as it may go."""

    def __init__(self, largest: int, until: float) -> None:
        self.pieces: list[Any] = []
        self.size = 0
        self._largest = largest
        self._until = until

    def write(self, piece: Any) -> int:
        self.size += len(piece)
        if self.size > self._largest:
            raise Spent(f"more than {self._largest >> 20} MB")
        self.check_time()
        self.pieces.append(piece)
        return len(piece)

    def check_time(self) -> None:
        if clock.machine_seconds() > self._until:
            raise Spent("it took too long")

    def clear(self) -> None:
        self.pieces.clear()
        self.size = 0

    def content(self) -> bytes:
        return b"".join(self.pieces)


class StatePickler(cloudpickle.Pickler):
    """`files` are those that the code of its functions is from.

    Of the session's names a function brings those in `along` with it that it uses: code of a value that runs while it
    is read finds them, though the names are complete only at the end.
    """

    def __init__(self, file: Buffer, home: Home, along: dict[str, Any] | None = None) -> None:
        parent: Any = super()
        parent.__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.files: set[str] = set()
        self._file = file
        self._home = home
        self._along = along or {}
        self._places: dict[int, Any] = {id(home.names): Globals("")}
        self._own: dict[type, dict[int, str]] = {}  # by class: what its module has of it, by id
        self._count = 0

    def reducer_override(self, obj: Any) -> Any:
        self._count += 1
        if not self._count & 255:
            self._file.check_time()
        special = _special(obj, type(obj), self._home)
        if special is not None:
            return special
        own = self._module_own(obj, type(obj))
        if own is not None:
            return own
        parent: Any = super()
        reduced: Any = parent.reducer_override(obj)
        if isinstance(obj, type) and type_of(reduced) is tuple:
            slots = obj.__dict__.get("__slots__")
            if slots is not None and not issubclass(obj, tuple):
                reduced[1][3]["__slots__"] = slots  # a class made without them would have a dict
        return reduced

    def _module_own(self, obj: Any, kind: Any) -> Any:
        """A value that the module of its class has itself, as `dataclasses.MISSING`: it is one, and stays that one."""
        own = self._own.get(kind)
        if own is None:
            name = kind.__module__
            module = sys.modules.get(name) if isinstance(name, str) and name not in _NO_OWN else None
            values = list(module.__dict__.items()) if type(module) is types.ModuleType else []
            own = self._own[kind] = {id(value): name for name, value in values if type(value) is kind}
        name = own.get(id(obj)) if own else None
        return None if name is None else (part, (sys.modules[kind.__module__], name))

    def _function_reduce(self, obj: Any) -> Any:
        if obj.__module__ is not None and cloudpickle._should_pickle_by_reference(obj):
            return NotImplemented
        return self._dynamic_function_reduce(obj)

    def _dynamic_function_reduce(self, func: Any) -> Any:
        """As cloudpickle does it, but for its names and its cells, which are those of others too."""
        state, slots = cloudpickle._function_getstate(func)
        used: dict[str, Any] = slots["__globals__"] if func.__globals__ is self._home.names else {}
        slots["__globals__"] = {name: self._along[name] for name in used if name in self._along}
        slots["__closure__"] = None
        if getattr(func, "__type_params__", ()):
            slots["__type_params__"] = func.__type_params__
        self.files.add(func.__code__.co_filename)
        made = func.__code__, self._place(func.__globals__), None, None, func.__closure__
        return cloudpickle._make_function, made, (state, slots), None, None, cloudpickle._function_setstate

    def _place(self, names: dict[str, Any]) -> Any:
        """What stands for the names that a function sees; they themselves where they are of no module."""
        place = self._places.get(id(names))
        if place is None:
            name = names.get("__name__")
            module = sys.modules.get(name) if isinstance(name, str) else None
            found = module is not None and module.__dict__ is names
            place = self._places[id(names)] = Globals(str(name)) if found else names
        return place


def _special(obj: Any, kind: Any, home: Home) -> Any:
    """How a value goes that cloudpickle would not, or not rightly, take; None for all others."""
    if issubclass(kind, type):
        number = records.class_id(obj)
        return None if number is None else (host_class, (number,))
    if issubclass(kind, proxies.Proxy):
        return host_object, (proxies.grip_of(obj).handle, records.class_id(kind))
    reduce = _BY_TYPE.get(kind)
    if reduce is not None:
        return reduce(obj, home)
    if issubclass(kind, tuple) and records.class_id(kind) is not None:
        return records.build, (kind, list(obj))
    if obj is home.loop:
        return the_loop, ()
    if issubclass(kind, io.IOBase) and not issubclass(kind, (io.StringIO, io.BytesIO)):
        raise Refused("an open file")
    return None


def _function(func: Any, home: Home) -> Any:
    grip = proxies.grip_of(func)
    if grip is not None:
        return host_function, (grip.handle, func.__dict__.get("_cellwright_about"))
    if func.__module__ != "scope":
        return None
    for owner in home.world.classes.values():  # a method of a host class, read from the class
        found: Any = owner.__dict__.get(func.__name__) if records.class_id(owner) is not None else None
        if getattr(found, "__func__", found) is func:
            return part, (owner, func.__name__)
    return None


def _method(method: Any, home: Home) -> Any:
    if issubclass(type(method.__self__), proxies.Proxy):
        return part, (method.__self__, method.__func__.__name__)
    return None


def _cell(cell: types.CellType, home: Home) -> Any:
    try:
        contents = cell.cell_contents
    except ValueError:
        return cloudpickle._make_empty_cell, ()
    return cloudpickle._make_empty_cell, (), (contents,), None, None, fill


def _text_file(file: Any, home: Home) -> Any:
    for number, standard in enumerate(home.streams):
        if file is standard:
            return stream, (number,)
    raise Refused("an open file")


def _cache(function: Any, home: Home) -> Any:
    if function.__module__ in sys.modules and function.__module__ != "__main__":
        return None
    info = function.cache_info()
    if info.hits or info.misses:
        raise Refused("a cache that is in use")
    return cached, (function.__wrapped__, function.cache_parameters())


def _cached_property(made: Any, home: Home) -> Any:
    state: dict[str, Any] = made.__dict__
    return cached_property, (made.func, {name: value for name, value in state.items() if name != "lock"})


def _refuse_view(view: Any, home: Home) -> Any:
    raise Refused("a view of something else")


_nothing: dict[Any, Any] = {}
_BY_TYPE: dict[Any, Callable[[Any, Home], Any]] = {
    types.FunctionType: _function,
    types.MethodType: _method,
    types.CellType: _cell,
    io.TextIOWrapper: _text_file,
    _cache_type: _cache,
    functools.cached_property: _cached_property,
    memoryview: _refuse_view,
    type(_nothing.keys()): _refuse_view,
    type(_nothing.values()): _refuse_view,
    type(_nothing.items()): _refuse_view,
}
