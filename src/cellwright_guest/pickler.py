"""How a session's names are pickled: a value comes back with the same behaviour, or it is not pickled at all.

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

from cellwright_guest import clock, cloudpickle_copy, methods, proxies, records
from cellwright_guest.door import FROM_HOST
from cellwright_guest.unpacker import Unpacker
from cellwright_guest.wire import type_of

LARGEST = 64 << 20

cloudpickle = cloudpickle_copy.module()
_LATER = ("_cellwright_bound", "_cellwright_bases", "_cellwright_asked")  # of a class: what changes after it is made
_NO_OWN = ("__main__", "builtins", "types")
_cache_type = type_of(functools.lru_cache(int))


class NotPicklable(pickle.PicklingError):
    """A value that would come back as something else."""


class PickleLimit(Exception):
    """A pickle that is larger, or takes longer, than it may."""


class PickleContext:
    """What values refer to and a pickle does not hold: the names, the host, the loop, the standard streams."""

    def __init__(self, names: dict[str, Any], world: Any, loop: Any, streams: tuple[Any, ...] = ()) -> None:
        self.names = names
        self.world = world
        self.loop = loop
        self.streams = streams


_context: PickleContext | None = None


def use_context(context: PickleContext | None) -> None:
    """The context for pickles that are read from here on."""
    global _context
    _context = context


def _current() -> PickleContext:
    if _context is None:
        raise pickle.UnpicklingError("a checkpoint is read by its guest alone")
    return _context


# what a pickle calls when it is read


def globals_of(module: str) -> dict[str, Any]:
    """The names of a module; of the session for ""."""
    return importlib.import_module(module).__dict__ if module else _current().names


def host_class(number: int) -> Any:
    return class_of(_current().world, number)


def host_object(handle: int, number: int) -> Any:
    return object_of(_current().world, handle, number)


def host_function(handle: int, about: Any) -> Any:
    return function_of(_current().world, handle, about)


def the_loop() -> Any:
    return _current().loop


def stream(number: int) -> Any:
    return _current().streams[number]


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
        raise NotPicklable("it holds all names of the session")


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
            raise PickleLimit(f"more than {self._largest >> 20} MB")
        self.check_time()
        self.pieces.append(piece)
        return len(piece)

    def check_time(self) -> None:
        if clock.machine_seconds() > self._until:
            raise PickleLimit("it took too long")

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

    def __init__(self, file: Buffer, context: PickleContext, along: dict[str, Any] | None = None) -> None:
        parent: Any = super()
        parent.__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.files: set[str] = set()
        self._file = file
        self._context = context
        self._along = along or {}
        self._places: dict[int, Any] = {id(context.names): Globals("")}
        self._own: dict[type, dict[int, str]] = {}  # by class: what its module has of it, by id
        self._count = 0

    def reducer_override(self, obj: Any) -> Any:
        self._count += 1
        if not self._count & 255:
            self._file.check_time()
        special = _special(obj, type(obj), self._context)
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
        """A value that is an attribute of its class's module, such as `dataclasses.MISSING`: it stays that object."""
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
        """As cloudpickle does it, except for globals and cells, which other functions share."""
        state, slots = cloudpickle._function_getstate(func)
        used: dict[str, Any] = slots["__globals__"] if func.__globals__ is self._context.names else {}
        slots["__globals__"] = {name: self._along[name] for name in used if name in self._along}
        slots["__closure__"] = None
        if getattr(func, "__type_params__", ()):
            slots["__type_params__"] = func.__type_params__
        self.files.add(func.__code__.co_filename)
        made = func.__code__, self._place(func.__globals__), None, None, func.__closure__
        return cloudpickle._make_function, made, (state, slots), None, None, cloudpickle._function_setstate

    def _place(self, names: dict[str, Any]) -> Any:
        """What stands for a function's globals: its module; the dict itself where no module has it."""
        place = self._places.get(id(names))
        if place is None:
            name = names.get("__name__")
            module = sys.modules.get(name) if isinstance(name, str) else None
            found = module is not None and module.__dict__ is names
            place = self._places[id(names)] = Globals(str(name)) if found else names
        return place


def _special(obj: Any, kind: Any, context: PickleContext) -> Any:
    """The reduction of a value that cloudpickle would refuse or get wrong; None for all others."""
    if issubclass(kind, type):
        number = records.class_id(obj)
        return None if number is None else (host_class, (number,))
    if issubclass(kind, proxies.Proxy):
        return host_object, (proxies.grip_of(obj).handle, records.class_id(kind))
    reduce = _BY_TYPE.get(kind)
    if reduce is not None:
        return reduce(obj, context)
    if issubclass(kind, tuple) and records.class_id(kind) is not None:
        return records.build, (kind, list(obj))
    if obj is context.loop:
        return the_loop, ()
    if issubclass(kind, io.IOBase) and not issubclass(kind, (io.StringIO, io.BytesIO)):
        raise NotPicklable("an open file")
    return None


def _function(func: Any, context: PickleContext) -> Any:
    grip = proxies.grip_of(func)
    if grip is not None:
        return host_function, (grip.handle, func.__dict__.get("_cellwright_about"))
    if func.__module__ != "scope":
        return None
    for owner in context.world.classes.values():  # a method of a host class, read from the class
        found: Any = owner.__dict__.get(func.__name__) if records.class_id(owner) is not None else None
        if getattr(found, "__func__", found) is func:
            return part, (owner, func.__name__)
    return None


def _method(method: Any, context: PickleContext) -> Any:
    if issubclass(type(method.__self__), proxies.Proxy):
        return part, (method.__self__, method.__func__.__name__)
    return None


def _cell(cell: types.CellType, context: PickleContext) -> Any:
    try:
        contents = cell.cell_contents
    except ValueError:
        return cloudpickle._make_empty_cell, ()
    return cloudpickle._make_empty_cell, (), (contents,), None, None, fill


def _text_file(file: Any, context: PickleContext) -> Any:
    for number, standard in enumerate(context.streams):
        if file is standard:
            return stream, (number,)
    raise NotPicklable("an open file")


def _cache(function: Any, context: PickleContext) -> Any:
    if function.__module__ in sys.modules and function.__module__ != "__main__":
        return None
    info = function.cache_info()
    if info.hits or info.misses:
        raise NotPicklable("a cache that is in use")
    return cached, (function.__wrapped__, function.cache_parameters())


def _cached_property(made: Any, context: PickleContext) -> Any:
    state: dict[str, Any] = made.__dict__
    return cached_property, (made.func, {name: value for name, value in state.items() if name != "lock"})


def _refuse_view(view: Any, context: PickleContext) -> Any:
    raise NotPicklable("a view of something else")


_nothing: dict[Any, Any] = {}
_BY_TYPE: dict[Any, Callable[[Any, PickleContext], Any]] = {
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


# what a guest knows of the host: classes by their descriptions, objects by handle. Nothing here asks the host.


def described_classes(world: Any) -> dict[int, tuple[Any, dict[str, Any]]]:
    """The classes that this guest was told of: the description of each, and what it learned since."""
    return {number: (about, _later(world.classes.get(number))) for number, about in world.abouts.items()}


def _later(cls: Any) -> dict[str, Any]:
    if cls is None or records.class_id(cls) is None:
        return {}
    return {name: cls.__dict__[name] for name in _LATER if name in cls.__dict__}


def learn_classes(world: Any, classes: dict[int, tuple[Any, dict[str, Any]]]) -> None:
    """Make a guest know what another knew."""
    world.abouts.update((number, about) for number, (about, _) in classes.items())
    for number, (_, later) in classes.items():
        cls = class_of(world, number)
        for name, value in later.items():
            type.__setattr__(cls, name, value)


def class_of(world: Any, number: int) -> Any:
    known, about = world.classes.get(number), world.abouts.get(number)
    if known is None and about is None:
        raise LookupError(f"class {number} of the host is not known")
    return known or world._class(number, about, Unpacker([], world._unpack_other, FROM_HOST))


def object_of(world: Any, handle: int, number: int) -> Any:
    def make(grip: Any) -> Any:
        return proxies.instance(class_of(world, number), grip)

    return _held(world, handle, make)


def function_of(world: Any, handle: int, about: Any) -> Any:
    def make(grip: Any) -> Any:
        if about is None:
            raise LookupError(f"function {handle} of the host is not known")
        return methods.function(world, grip, about)

    return _held(world, handle, make)


def _held(world: Any, handle: int, make: Callable[[Any], Any]) -> Any:
    found = world._proxies.get(handle)
    return world._proxy(handle, make) if found is None else found
