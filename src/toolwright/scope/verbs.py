"""What guest code may do to a host object, verb by verb. Every verb asks the rules first, then touches the object."""

from __future__ import annotations

import operator
import types
from typing import Any

from toolwright.errors import NotPublic, WrongArguments
from toolwright.scope.faults import clean
from toolwright.scope.handles import Held
from toolwright.scope.members import FUNCTIONS, MACHINERY, members, module_members, operators
from toolwright.scope.operations import facts_of
from toolwright.scope.rules import Rules
from toolwright.scope.signatures import signature, signature_text, without_addresses
from toolwright_guest.wire import WireError

LOOK_AHEAD = 256
# iterators over plain containers: reading ahead runs nobody's code
_SAFE_ITERATORS = frozenset(
    type(iter(c)) for c in ([], (), {}, set(), "", b"", range(0), {}.keys(), {}.values(), {}.items(), bytearray())
)

_BINARY = {
    name: getattr(operator, f"__{name}__")
    for name in "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split()
} | {"divmod": divmod}
_OPERATORS: dict[str, Any] = {
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
    "__repr__": lambda value: clean(repr(value)),
    "__str__": lambda value: without_addresses(str(value)),
    "__format__": lambda value, spec: without_addresses(format(value, str(spec))),
    "__trunc__": lambda value: type(value).__trunc__(value),
    "__floor__": lambda value: type(value).__floor__(value),
    "__ceil__": lambda value: type(value).__ceil__(value),
    "__aiter__": aiter,
    "__anext__": anext,
    "__enter__": lambda value: type(value).__enter__(value),
    "__exit__": lambda value, error=None: type(value).__exit__(value, *_exc_info(error)),
    "__aenter__": lambda value: type(value).__aenter__(value),
    "__aexit__": lambda value, error=None: type(value).__aexit__(value, *_exc_info(error)),
    **{f"__{n}__": getattr(operator, f"__{n}__") for n in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{f"__{n}__": f for n, f in _BINARY.items()},
    # asked for when the guest's own operand had no answer: that one is not tried again (`"%r" % value` would be one)
    **{f"__r{n}__": (lambda name: lambda value, other: getattr(type(value), name)(value, other))(f"__r{n}__") for n in _BINARY},
    **{f"__i{n}__": getattr(operator, f"__i{n}__") for n in _BINARY if n != "divmod"},
}
_IN_PLACE = frozenset(f"__i{n}__" for n in _BINARY)
_WRITES = _IN_PLACE | {"__setitem__", "__delitem__"}


def _exc_info(error: Any) -> tuple[Any, Any, Any]:
    return (type(error), error, None) if isinstance(error, BaseException) else (None, None, None)


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
            raise NotPublic(f"{held.place.path}.{name} is refused: this scope is read-only and does not know that it only reads")
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
            own = getattr(held.value, "__dict__", None)
            names = {*members(type(held.value)), *(own if type(own) is dict else ())}
        return sorted(
            n for n in names if isinstance(n, str) and self._rules.verdict(held.place, n, data=self._is_data(held, n)).visible
        )

    def operator(self, held: Held, name: str, args: tuple[Any, ...]) -> Any:
        run = _OPERATORS.get(name)
        if run is None:
            raise WireError(f"an operator {name!r:.40} that no guest asks for")
        if name not in operators(type(held.value)) or isinstance(held.value, FUNCTIONS):
            # what Python would do in its place may never end (`in` on an endless iterator), or tell an address (`hash`)
            raise NotPublic(f"{type(held.value).__name__!r} object has no {name} here")
        if name in _WRITES and self._rules.verdict(held.place, name.strip("_")).read_only:
            raise NotPublic(f"{held.place.path} is read-only in this scope")
        return run(held.value, *args)

    def items(self, held: Held) -> tuple[list[Any], bool]:
        """The next items of an iterator, and whether there may be more."""
        ahead = LOOK_AHEAD if type(held.value) in _SAFE_ITERATORS else 1
        found: list[Any] = []
        for _ in range(ahead):
            try:
                found.append(next(held.value))
            except StopIteration:
                return found, False
        return found, True

    def _is_data(self, held: Held, name: str) -> bool:
        member = members(type(held.value)).get(name)
        return member is None or member.kind == "property"

    def _writable(self, held: Held, name: str) -> None:
        verdict = self._rules.require(held.place, name, data=True)
        if verdict.read_only or isinstance(held.value, types.ModuleType):
            raise NotPublic(f"{held.place.path}.{name} is read-only in this scope")
        if not self._is_data(held, name) or isinstance(held.value, FUNCTIONS):
            raise NotPublic(f"{held.place.path}.{name} is code of the host, which guest code does not replace")

    def _attribute(self, held: Held, name: str) -> Any:
        """The attribute, by Python's own rules; modules and machinery by ours."""
        if name.startswith("_"):
            self._rules.require(held.place, name)
        if isinstance(held.value, types.ModuleType):
            shown = module_members(held.value)
            if name not in shown:
                raise NotPublic(f"module {held.place.path!r} shows no {name!r} here")
            return shown[name]
        if name.startswith(MACHINERY) and isinstance(
            held.value, types.GeneratorType | types.CoroutineType | types.AsyncGeneratorType
        ):
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
