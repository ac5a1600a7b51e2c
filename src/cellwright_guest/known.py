"""What a guest knows of the host, as plain data, and back: classes by what they were told to be, objects by handle.

For checkpoints. Nothing here asks the host: what it was not told is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cellwright_guest import methods, proxies, records
from cellwright_guest.door import FROM_HOST
from cellwright_guest.unpacking import Unpacker

_LATER = ("_cellwright_bound", "_cellwright_bases", "_cellwright_asked")  # of a class: what changes after it is made


def told(world: Any) -> dict[int, tuple[Any, dict[str, Any]]]:
    """The classes that this guest was told of: the description of each, and what it learned since."""
    return {number: (about, _later(world.classes.get(number))) for number, about in world.abouts.items()}


def _later(cls: Any) -> dict[str, Any]:
    if cls is None or records.class_id(cls) is None:
        return {}
    return {name: cls.__dict__[name] for name in _LATER if name in cls.__dict__}


def tell_again(world: Any, classes: dict[int, tuple[Any, dict[str, Any]]]) -> None:
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
