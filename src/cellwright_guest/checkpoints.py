"""Checkpoints: a session's state as bytes, made and read by the guest alone, so that its cells need not run again.

What cannot be kept is named in words. Making one changes nothing: neither the clock nor the randomness, and what the
values' own code prints or asks of the host meanwhile is refused. It knows no file and no key: the host keeps the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import linecache
import pickle
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from cellwright_guest import cells, chance, clock, known, pickling, proxies, records, surroundings
from cellwright_guest.pickling import Buffer, Home, Spent, StatePickler
from cellwright_guest.wire import type_of

T = TypeVar("T")
LONGEST_S = 5.0
MOST_NAMES, REASON = 200, 120
TRAP = "__cellwright_trap__"
_MACHINERY = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", TRAP)
_ATOMS = (str, int, float, bytes, bool, type(None), tuple)


class Checkpoints:
    """Of one guest. `opening` is what the host bound when the session began, `later` names what it bound after that."""

    def __init__(self, names: dict[str, Any], opening: dict[str, Any], later: set[str], world: Any, loop: Any) -> None:
        self._names = names
        self._opening = opening
        self._later = later
        self._world = world
        self._loop = loop
        self._streams = sys.__stdin__, sys.__stdout__, sys.__stderr__

    # making one

    def save(self) -> tuple[bytes | None, list[str]]:
        """The state, if there is any way to tell it, and what is not in it."""
        missing = [*self._still_running(), *surroundings.missing(self._names)]
        rest = self._rest()
        buffer = Buffer(pickling.LARGEST, clock.machine_seconds() + LONGEST_S)
        with self._aside():
            found, error = _tried(lambda: self._pickled(buffer, rest))
        if error is not None:
            return None, [*missing, f"all names ({_reason(error)})"]
        return buffer.content(), missing + found

    def _pickled(self, buffer: Buffer, rest: dict[str, Any]) -> list[str]:
        kept, lent = self._own(), self._world.lent.state()
        pickler, missing = self._names_pickled(buffer, kept, lent)
        rest["files"] = {name: linecache.cache[name] for name in pickler.files if name in linecache.cache}
        pickler.dump(rest)
        return [*missing, *_not_alike([one for _, one in pickler.memo.copy().values()])]

    def _own(self) -> dict[str, Any]:
        """The names that came with no message of the host, or are no longer what came."""
        kept: dict[str, Any] = {}
        for name, value in self._names.items():
            if name in _MACHINERY or (self._opening.get(name, self) is value and _is_host_object(value)):
                continue
            kept[name] = pickling.Globals("") if value is self._names else value
        return kept

    def _rest(self) -> dict[str, Any]:
        return {
            "chance": chance.state(),
            "owed": self._world.lent.owed,
            "clock": clock.state(),
            "cell": self._world.door.cell,
            "order": [name for name in self._names if name not in _MACHINERY],
            "surroundings": surroundings.kept(),
        }

    def _names_pickled(self, buffer: Buffer, kept: dict[str, Any], lent: Any) -> tuple[StatePickler, list[str]]:
        """All at once, so that what is shared stays so; without what fails alone, where all at once fails."""
        pickler, error = _tried(lambda: self._written(buffer, kept, lent, kept))
        missing: list[str] = []
        if error is not None:
            lent, missing = self._without_unfit(buffer, kept, lent)
            pickler, error = _tried(lambda: self._written(buffer, kept, lent, kept))
        if error is not None:  # functions that lead from one to the next, too far
            pickler = self._written(buffer, kept, lent, {})
        return pickler, missing

    def _without_unfit(self, buffer: Buffer, kept: dict[str, Any], lent: Any) -> tuple[Any, list[str]]:
        """Takes the names out that cannot be pickled; gives the others of what is lent, and all of that in words."""
        missing: list[str] = []
        for name in list(kept):
            reason = self._fails(buffer, kept[name])
            if reason:
                missing.append(f"{name}: {reason}")
                del kept[name]
                if len(missing) > MOST_NAMES:
                    raise Spent("too many that cannot be pickled")
        number, held = lent
        fine = {one: entry for one, entry in held.items() if not self._fails(buffer, entry[0])}
        if len(fine) < len(held):
            missing.append("a function that the host holds")
        return (number, fine), missing

    def _written(self, buffer: Buffer, kept: dict[str, Any], lent: Any, along: dict[str, Any]) -> StatePickler:
        buffer.clear()
        pickler = StatePickler(buffer, self._home(), along)
        pickler.dump(known.told(self._world))
        pickler.dump((kept, lent))
        return pickler

    def _fails(self, buffer: Buffer, value: Any) -> str:
        """Why a value cannot be pickled; "" where it can."""
        buffer.clear()
        _, error = _tried(lambda: StatePickler(buffer, self._home()).dump(value))
        return "" if error is None else _reason(error)

    def _still_running(self) -> Iterator[str]:
        loop = self._loop
        if asyncio.all_tasks(loop):
            yield "a task that is still running"
        if loop.has_timers():
            yield "a timer that is still to come"
        if len(loop.__dict__["_asyncgens"]):
            yield "an async generator that is not at its end"
        if self._world.door.asking:
            yield "a host call that is under way"
        if (sys.stdin, sys.stdout, sys.stderr) != self._streams:
            yield "what stands in the place of sys.stdout"

    # reading one

    def load(self, content: bytes) -> str:
        """Take up the state, in a guest that has run nothing. Gives in words why it could not; it is broken then."""
        _, error = _tried(lambda: self._load(content))
        return "" if error is None else f"{type(error).__name__}: {_reason(error)}"

    def _load(self, content: bytes) -> None:
        names = self._names
        reader = pickle.Unpickler(io.BytesIO(content))
        with self._aside():
            pickling.at_home(self._home())
            try:
                known.tell_again(self._world, reader.load())
                kept, lent = reader.load()
                rest = reader.load()
            finally:
                pickling.at_home(None)
        names.update(kept)
        held = {name: names.pop(name) for name in list(names) if name not in _MACHINERY}
        order = dict.fromkeys([*rest["order"], *(name for name in held if name in self._later)])
        names.update((name, held[name]) for name in order if name in held)
        self._world.lent.restore(lent)
        self._world.lent.owed = rest["owed"]
        self._world.door.cell = rest["cell"]
        linecache.cache.update(rest["files"])
        surroundings.restore(rest["surroundings"])
        clock.restore(rest["clock"])
        chance.restore(rest["chance"])

    def _home(self) -> Home:
        return Home(self._names, self._world, self._loop, self._streams)

    @contextlib.contextmanager
    def _aside(self) -> Generator[None]:
        """What runs inside leaves no trace: it prints to nowhere, asks nobody, and time and chance stand still."""
        main, time, luck = sys.modules["__main__"], clock.state(), chance.state()
        streams = sys.stdout, sys.stderr
        door = self._world.door.__dict__
        door["start"] = _refuse
        sys.stdout = sys.stderr = io.StringIO()
        sys.modules["__main__"] = type(sys)("__main__")  # nothing is found there: what is of a cell goes by value
        self._names[TRAP] = pickling.Trap()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            del self._names[TRAP]
            sys.modules["__main__"] = main
            sys.stdout, sys.stderr = streams
            del door["start"]
            clock.restore(time)
            chance.restore(luck)


def _refuse(*_: Any) -> Any:
    raise pickle.PicklingError("it asks the host")


def _is_host_object(value: Any) -> bool:
    return proxies.grip_of(value) is not None or records.class_id(value) is not None


def _tried(work: Callable[[], T]) -> tuple[Any, Exception | None]:
    """What came of it, or why nothing did."""
    try:
        return work(), None
    except Exception as error:  # the code of values runs here, and raises what it likes
        return None, error


def _reason(error: Exception) -> str:
    text = cells.told(error)["message"].removeprefix("Can't pickle ")
    return " ".join((text or type(error).__name__).split())[:REASON]


def _not_alike(pickled: list[Any]) -> Iterator[str]:
    """What comes back, and would behave otherwise."""
    if not all(_comes_back(one) for one in pickled if type(one) in (set, frozenset)):
        yield "the order of a set"
    if "numpy" in sys.modules and _share_memory(pickled):
        yield "the memory that two arrays share"


def _comes_back(found: Any) -> bool:
    """Whether a set that is made of its members again has their order, and room for as many."""
    if len(found) < 2 or not all(type_of(one) in _ATOMS for one in found):
        return True  # ordered by address, or by code of its own
    again = type(found)(tuple(found))
    return sys.getsizeof(again) == sys.getsizeof(found) and all(a is b for a, b in zip(found, again, strict=True))


def _share_memory(pickled: list[Any]) -> bool:
    """Whether a change of one array would have been seen in another. What pandas holds it copies before it writes."""
    ndarray = sys.modules["numpy"].ndarray
    arrays = {id(one): one for one in pickled if isinstance(one, ndarray)}
    for one in pickled:
        held: Any = getattr(one, "blocks", ()) if type(one).__module__.startswith("pandas.") else ()
        for block in held:
            arrays.pop(id(block.values), None)
    owners: set[int] = set()
    for one in arrays.values():
        while getattr(one, "base", None) is not None:
            one = one.base
        if id(one) in owners:
            return True
        owners.add(id(one))
    return False
