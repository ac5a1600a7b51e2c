"""Checkpoints: a session's state as bytes, made and read by the guest alone, so that its cells need not run again.

What cannot be kept is named in words. Making a checkpoint changes nothing: neither the clock nor the randomness; code
of values that runs meanwhile cannot print or call the host. It knows no file and no key: the host keeps the bytes.
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

from cellwright_guest import cells, clock, process_state, proxies, randomness, records
from cellwright_guest.pickler import (
    LARGEST,
    Buffer,
    Globals,
    PickleContext,
    PickleLimit,
    StatePickler,
    Trap,
    described_classes,
    learn_classes,
    use_context,
)
from cellwright_guest.wire import type_of

T = TypeVar("T")
LONGEST_S = 5.0
MOST_NAMES, REASON = 200, 120
TRAP = "__cellwright_trap__"
_MACHINERY = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", TRAP)
_ATOMS = (str, int, float, bytes, bool, type(None), tuple)


class GuestCheckpoints:
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
        """The state, None where it cannot be pickled; and what is not in it, in words."""
        missing = [*self._still_running(), *process_state.missing(self._names)]
        rest = self._rest()
        buffer = Buffer(LARGEST, clock.machine_seconds() + LONGEST_S)
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
        """The names that guest code bound, or bound to another value than the host did."""
        kept: dict[str, Any] = {}
        for name, value in self._names.items():
            if name in _MACHINERY or (self._opening.get(name, self) is value and _is_host_object(value)):
                continue
            kept[name] = Globals("") if value is self._names else value
        return kept

    def _rest(self) -> dict[str, Any]:
        return {
            "chance": randomness.state(),
            "owed": self._world.lent.owed,
            "clock": clock.state(),
            "cell": self._world.door.cell,
            "order": [name for name in self._names if name not in _MACHINERY],
            "surroundings": process_state.kept(),
        }

    def _names_pickled(self, buffer: Buffer, kept: dict[str, Any], lent: Any) -> tuple[StatePickler, list[str]]:
        """Pickle all names at once, so that they still share objects; if that fails, without those that fail alone."""
        pickler, error = _tried(lambda: self._written(buffer, kept, lent, kept))
        missing: list[str] = []
        if error is not None:
            lent, missing = self._without_unfit(buffer, kept, lent)
            pickler, error = _tried(lambda: self._written(buffer, kept, lent, kept))
        if error is not None:  # functions that refer to one another too deeply
            pickler = self._written(buffer, kept, lent, {})
        return pickler, missing

    def _without_unfit(self, buffer: Buffer, kept: dict[str, Any], lent: Any) -> tuple[Any, list[str]]:
        """Removes names that cannot be pickled. Gives the loans that can be, and what is missing in words."""
        missing: list[str] = []
        for name in list(kept):
            reason = self._fails(buffer, kept[name])
            if reason:
                missing.append(f"{name}: {reason}")
                del kept[name]
                if len(missing) > MOST_NAMES:
                    raise PickleLimit("too many that cannot be pickled")
        next_number, held = lent
        fine = {number: loan for number, loan in held.items() if not self._fails(buffer, loan[0])}
        if len(fine) < len(held):
            missing.append("a function that the host holds")
        return (next_number, fine), missing

    def _written(self, buffer: Buffer, kept: dict[str, Any], lent: Any, along: dict[str, Any]) -> StatePickler:
        buffer.clear()
        pickler = StatePickler(buffer, self._context(), along)
        pickler.dump(described_classes(self._world))
        pickler.dump((kept, lent))
        return pickler

    def _fails(self, buffer: Buffer, value: Any) -> str:
        """Why a value cannot be pickled; "" where it can."""
        buffer.clear()
        _, error = _tried(lambda: StatePickler(buffer, self._context()).dump(value))
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
        """Load a state into a guest that has run nothing. Gives the reason if that failed; the guest is broken then."""
        _, error = _tried(lambda: self._load(content))
        return "" if error is None else f"{type(error).__name__}: {_reason(error)}"

    def _load(self, content: bytes) -> None:
        names = self._names
        reader = pickle.Unpickler(io.BytesIO(content))
        with self._aside():
            use_context(self._context())
            try:
                learn_classes(self._world, reader.load())
                kept, lent = reader.load()
                rest = reader.load()
            finally:
                use_context(None)
        names.update(kept)
        held = {name: names.pop(name) for name in list(names) if name not in _MACHINERY}
        order = dict.fromkeys([*rest["order"], *(name for name in held if name in self._later)])
        names.update((name, held[name]) for name in order if name in held)
        self._world.lent.restore(lent)
        self._world.lent.owed = rest["owed"]
        self._world.door.cell = rest["cell"]
        linecache.cache.update(rest["files"])
        process_state.restore(rest["surroundings"])
        clock.restore(rest["clock"])
        randomness.restore(rest["chance"])

    def _context(self) -> PickleContext:
        return PickleContext(self._names, self._world, self._loop, self._streams)

    @contextlib.contextmanager
    def _aside(self) -> Generator[None]:
        """What runs inside leaves no trace: it cannot print or call the host, and time and randomness stand still."""
        main, time, random_state = sys.modules["__main__"], clock.state(), randomness.state()
        streams = sys.stdout, sys.stderr
        door = self._world.door.__dict__
        door["start"] = _refuse
        sys.stdout = sys.stderr = io.StringIO()
        sys.modules["__main__"] = type(sys)("__main__")  # nothing is found there: what is of a cell goes by value
        self._names[TRAP] = Trap()
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
            randomness.restore(random_state)


def _refuse(*_: Any) -> Any:
    raise pickle.PicklingError("it asks the host")


def _is_host_object(value: Any) -> bool:
    return proxies.grip_of(value) is not None or records.class_id(value) is not None


def _tried(work: Callable[[], T]) -> tuple[Any, Exception | None]:
    """The result of the work, or its error."""
    try:
        return work(), None
    except Exception as error:  # the code of values runs here, and raises what it likes
        return None, error


def _reason(error: Exception) -> str:
    text = cells.error_report(error)["message"].removeprefix("Can't pickle ")
    return " ".join((text or type(error).__name__).split())[:REASON]


def _not_alike(pickled: list[Any]) -> Iterator[str]:
    """What would come back, but behave differently."""
    if not all(_comes_back(one) for one in pickled if type(one) in (set, frozenset)):
        yield "the order of a set"
    if "numpy" in sys.modules and _share_memory(pickled):
        yield "the memory that two arrays share"


def _comes_back(found: Any) -> bool:
    """Whether a set that is made again from its members has the same order and the same size in memory."""
    if len(found) < 2 or not all(type_of(one) in _ATOMS for one in found):
        return True  # ordered by address, or by code of its own
    again = type(found)(tuple(found))
    return sys.getsizeof(again) == sys.getsizeof(found) and all(a is b for a, b in zip(found, again, strict=True))


def _share_memory(pickled: list[Any]) -> bool:
    """Whether two arrays share memory. Those inside pandas objects do not count: pandas copies before it writes."""
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
