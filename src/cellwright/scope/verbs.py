"""What guest code may do to a host object, verb by verb. Every verb asks the rules first, then touches the object."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

from cellwright.errors import NotPublic, WrongArguments
from cellwright.scope.faults import clean
from cellwright.scope.handles import Held
from cellwright.scope.members import FUNCTIONS, MACHINERY, members, module_members, operators
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Rules
from cellwright.scope.signatures import signature, signature_text, without_addresses
from cellwright_guest.wire import WireError, type_of

LOOK_AHEAD = 256
READY = "__cellwright_ready__"  # a method of iterators that have items at hand: how many, without waiting
# iterators over plain containers: reading ahead runs nobody's code
_NOTHING: dict[Any, Any] = {}
_SAFE: tuple[Iterable[Any], ...] = ([], (), _NOTHING, set(), "", b"", range(0), bytearray())
_SAFE_ITERATORS = frozenset(type_of(iter(c)) for c in (*_SAFE, _NOTHING.keys(), _NOTHING.values(), _NOTHING.items()))


def _special(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(type_of(value), name)(value)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return lambda value, other: getattr(type_of(value), name)(value, other)


def _repr(value: Any) -> str:
    return clean(repr(value))


def _str(value: Any) -> str:
    return without_addresses(str(value))


def _format(value: Any, spec: Any) -> str:
    return without_addresses(format(value, str(spec)))


def _exit(value: Any, error: Any = None) -> Any:
    return type_of(value).__exit__(value, *_exc_info(error))


def _aexit(value: Any, error: Any = None) -> Any:
    return type_of(value).__aexit__(value, *_exc_info(error))


def _exc_info(error: Any) -> tuple[Any, Any, Any]:
    return (type(error), error, None) if isinstance(error, BaseException) else (None, None, None)


_BINARY: dict[str, Callable[..., Any]] = {
    name: getattr(operator, f"__{name}__")
    for name in "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split()
} | {"divmod": divmod}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "__len__": len,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__reversed__": reversed,
    "__iter__": iter,
    "__next__": next,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__abs__": abs,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__invert__": operator.invert,
    "__round__": round,
    "__bool__": bool,
    "__bytes__": bytes,
    "__hash__": hash,
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "__trunc__": _special("__trunc__"),
    "__floor__": _special("__floor__"),
    "__ceil__": _special("__ceil__"),
    "__aiter__": aiter,
    "__anext__": anext,
    "__enter__": _special("__enter__"),
    "__exit__": _exit,
    "__aenter__": _special("__aenter__"),
    "__aexit__": _aexit,
    **{f"__{n}__": getattr(operator, f"__{n}__") for n in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{f"__{n}__": f for n, f in _BINARY.items()},
    # asked for when the guest's own operand had no answer: that one is not tried again (`"%r" % value` would be one)
    **{f"__r{n}__": _reflected(f"__r{n}__") for n in _BINARY},
    **{f"__i{n}__": getattr(operator, f"__i{n}__") for n in _BINARY if n != "divmod"},
}
_MACHINES: tuple[type[Any], ...] = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_IN_PLACE = frozenset(f"__i{n}__" for n in _BINARY)
WRITES = _IN_PLACE | {"__setitem__", "__delitem__"}
_STEPS = {"__next__", "__anext__", "__enter__", "__exit__", "__aenter__", "__aexit__"}  # change what they work on
READS = frozenset(_OPERATORS.keys() - WRITES - _STEPS)
VERBS = frozenset(("call", "get", "set", "del", "dir", "op", "items", "new", "await", "about", "sleep"))


class Verbs:
    """The verbs on one session's objects."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def function(self, held: Held, name: str) -> Any:
        """What a call of `name` on the object runs; the object itself when `name` is empty."""
        if not name:
            return held.value
        verdict = self._rules.require(held.place, name)
        value = self._attribute(held, name)
        facts = self._rules.facts(held.place, name, facts_of(value))
        if verdict.read_only and not facts.reads:
            why = "this scope is read-only and does not know that it only reads"
            raise NotPublic(f"{held.shown}.{name} is refused: {why}")
        return value

    def get(self, held: Held, name: str) -> Any:
        value = self._attribute(held, name)
        verdict = self._rules.require(held.place, name, data=not callable(value))
        if verdict.read_only and isinstance(value, FUNCTIONS):
            self.function(held, name)  # what may not be called is not handed out to be called later
        return value

    def set(self, held: Held, name: str, value: Any) -> None:
        self._writable(held, name)
        setattr(held.value, name, value)

    def delete(self, held: Held, name: str) -> None:
        self._writable(held, name)
        delattr(held.value, name)

    def dir(self, held: Held) -> list[str]:
        """The names that `get` would give: those of the class, and the instance's own."""
        if isinstance(held.value, types.ModuleType):
            names = set(module_members(held.value))
        else:
            own: Any = getattr(held.value, "__dict__", None)
            names = {*members(type_of(held.value)), *(own if type_of(own) is dict else ())}
        return sorted(n for n in names if isinstance(n, str) and self._shows(held, n))

    def _shows(self, held: Held, name: str) -> bool:
        return self._rules.verdict(held.place, name, data=self._is_data(held, name)).visible

    def operator(self, held: Held, name: str, args: tuple[Any, ...]) -> Any:
        run = _OPERATORS.get(name)
        if run is None:
            raise WireError(f"an operator {name!r:.40} that no guest asks for")
        if name not in operators(type_of(held.value)) or isinstance(held.value, FUNCTIONS):
            # what Python would do in its place may never end (`in` on an endless iterator), or tell an address (`hash`)
            raise NotPublic(f"{type(held.value).__name__!r} object has no {name} here")
        if name in WRITES and self._rules.verdict(held.place, name.strip("_")).read_only:
            raise NotPublic(f"{held.shown} is read-only in this scope")
        return run(held.value, *args)

    def items(self, held: Held) -> tuple[list[Any], bool]:
        """The next items of an iterator, and whether there may be more."""
        ahead = LOOK_AHEAD if type(held.value) in _SAFE_ITERATORS else 1
        ready = getattr(type_of(held.value), READY, None)
        found: list[Any] = []
        while len(found) < ahead:
            try:
                found.append(next(held.value))
            except StopIteration:
                return found, False
            if ready is not None and len(found) == 1:  # of a page that came whole, the rest goes along
                ahead = 1 + min(LOOK_AHEAD, ready(held.value))
        return found, True

    def _is_data(self, held: Held, name: str) -> bool:
        member = members(type_of(held.value)).get(name)
        return member is None or member.kind == "property"

    def _writable(self, held: Held, name: str) -> None:
        verdict = self._rules.require(held.place, name, data=True)
        if verdict.read_only or isinstance(held.value, types.ModuleType):
            raise NotPublic(f"{held.shown}.{name} is read-only in this scope")
        if not self._is_data(held, name) or isinstance(held.value, FUNCTIONS):
            raise NotPublic(f"{held.shown}.{name} is code of the host, which guest code does not replace")

    def _attribute(self, held: Held, name: str) -> Any:
        """The attribute, by Python's own rules; modules and machinery by ours."""
        if name.startswith("_"):
            self._rules.require(held.place, name)
        if isinstance(held.value, types.ModuleType):
            shown = module_members(held.value)
            if name not in shown:
                raise NotPublic(f"module {held.shown!r} shows no {name!r} here")
            return shown[name]
        if name.startswith(MACHINERY) and isinstance(held.value, _MACHINES):
            raise NotPublic(f"{type(held.value).__name__!r} object has no attribute {name!r} here")
        if self._is_data(held, name):
            self._rules.require(held.place, name, data=True)
        return getattr(held.value, name)


def explain(function: Any, title: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError) -> TypeError:
    """A call that does not fit its signature, told with the right parameters; any other TypeError as it is."""
    found = signature(function)
    if found is None:
        return error
    try:
        found.bind(*args, **kwargs)
    except TypeError as misfit:
        return WrongArguments(f"{title}: {misfit}; it takes {signature_text(function)}")
    return error
