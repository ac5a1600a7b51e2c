"""What guest code may do to a host object, verb by verb. Every verb asks the rules first, then touches the object."""

from __future__ import annotations

import asyncio
import operator
import sys
import types
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from cellwright.errors import NotPublic, WrongArguments
from cellwright.redaction import clean, is_secret_name, without_addresses, without_login
from cellwright.scope import operand_limits
from cellwright.scope.attributes import own_dict
from cellwright.scope.grant_tables import library, table_of
from cellwright.scope.handles import HeldObject
from cellwright.scope.hidden_fields import has_own_text
from cellwright.scope.hidden_values import tells_held, text_of
from cellwright.scope.members import FUNCTIONS, MACHINERY, members, operators
from cellwright.scope.operations import facts_of
from cellwright.scope.presets import libraries, module_refusal, refusal, refuses_operator
from cellwright.scope.rules import Place, Rules
from cellwright.scope.signatures import signature, signature_text
from cellwright.scope.sqlite_guard import GUARDED, guarded
from cellwright.scope.writing import attribute_refusal, is_code, operator_refusal
from cellwright_guest.wire import WireError, type_of

LOOK_AHEAD = 256
READY = "__cellwright_ready__"  # a method of iterators: how many items it has without waiting
# iterators over plain containers: reading ahead runs no code of a host object
_NOTHING: dict[Any, Any] = {}
_SAFE: tuple[Iterable[Any], ...] = ([], (), _NOTHING, set(), "", b"", range(0), bytearray())
_SAFE_ITERATORS = frozenset(type_of(iter(c)) for c in (*_SAFE, _NOTHING.keys(), _NOTHING.values(), _NOTHING.items()))


def _special(name: str) -> Callable[..., Any]:
    def run(value: Any, *others: Any) -> Any:
        return getattr(type_of(value), name)(value, *others)

    return run


def _format(value: Any, spec: Any) -> str:
    return format(value, str(spec))


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
_OF_MODULE = "contains getitem setitem delitem index neg pos invert lt le gt ge eq ne".split()
_BUILTINS = (len, reversed, iter, next, int, float, complex, abs, round, bool, bytes, hash, aiter, anext)
_OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": getattr(operator, name) for name in _OF_MODULE},
    **{f"__{function.__name__}__": function for function in _BUILTINS},
    **{name: _special(name) for name in ("__trunc__", "__floor__", "__ceil__", "__enter__", "__aenter__")},
    "__repr__": repr,
    "__str__": str,
    "__format__": _format,
    "__exit__": _exit,
    "__aexit__": _aexit,
    **{f"__{name}__": function for name, function in _BINARY.items()},
    # the guest's operand had no answer, and is not tried again: `"%r" % value` would have one
    **{f"__r{name}__": _special(f"__r{name}__") for name in _BINARY},
    **{f"__i{name}__": getattr(operator, f"__i{name}__") for name in _BINARY if name != "divmod"},
}
_GENERATORS = (types.GeneratorType, types.AsyncGeneratorType)
_MACHINES: tuple[type[Any], ...] = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_IN_PLACE = frozenset(f"__i{n}__" for n in _BINARY)
_TEXTS = frozenset(("__repr__", "__str__", "__format__"))
WRITES = _IN_PLACE | {"__setitem__", "__delitem__"}
_STEPS = {"__next__", "__anext__", "__enter__", "__exit__", "__aenter__", "__aexit__"}  # change their object
READS = frozenset(_OPERATORS.keys() - WRITES - _STEPS)
VERBS = frozenset(("call", "get", "set", "del", "dir", "op", "items", "new", "await", "about", "sleep"))


class Verbs:
    """The verbs on one session's objects."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def function(self, held: HeldObject, name: str) -> Any:
        """The function that a call of `name` on the object runs; the object itself if `name` is empty."""
        if not name:
            return held.value
        verdict = self._rules.require(held.place, name)
        value = self._attribute(held, name)
        facts = self._rules.facts(held.place, name, facts_of(value))
        if verdict.read_only and not facts.reads:
            why = "this scope is read-only and does not know that it only reads"
            raise NotPublic(f"{held.shown}.{name} is refused: {why}")
        return value

    def get(self, held: HeldObject, name: str) -> Any:
        value = self._attribute(held, name)
        verdict = self._rules.require(held.place, name, data=not callable(value))
        if verdict.read_only and isinstance(value, FUNCTIONS):
            self.function(held, name)  # a function that may not be called is not handed out
        if name == "url" and type_of(value) is str and table_of(library(type_of(held.value).__module__)) is not None:
            return without_login(str(value))  # of a reply: its client may have put keys into the query
        return value

    def set(self, held: HeldObject, name: str, value: Any) -> None:
        self._writable(held, name)
        setattr(held.value, name, value)

    def delete(self, held: HeldObject, name: str) -> None:
        self._writable(held, name, deletes=True)
        delattr(held.value, name)

    def dir(self, held: HeldObject) -> list[str]:
        """The names that `get` accepts: those of the class, and the instance's own."""
        if isinstance(held.value, types.ModuleType):
            return sorted(self._rules.of_module(held.place, held.value))
        else:
            own: Any = getattr(held.value, "__dict__", None)
            names = {*members(type_of(held.value)), *(own if type_of(own) is dict else ())}
        names = {name for name in names if isinstance(name, str)}
        return sorted(n for n in names if self._rules.verdict(held.place, n, data=self._is_data(held, n)).visible)

    def operator(self, held: HeldObject, name: str, args: tuple[Any, ...]) -> Any:
        run = _OPERATORS.get(name)
        if run is None:
            raise WireError(f"an operator {name!r:.40} that no guest sends")
        if name not in operators(type_of(held.value)) or isinstance(held.value, FUNCTIONS):
            # Python's fallback may never end (`in` on an endless iterator), or tell an address (`hash`)
            raise NotPublic(f"{type(held.value).__name__!r} object has no {name} here")
        self.require_operator(held, name)
        why = operator_refusal(self._rules, held, name) if name in WRITES else ""
        if why:
            raise NotPublic(f"{held.shown} {why}")
        operand_limits.check(held.value, name, args)
        result = self._guarded(held, name, lambda: run(held.value, *args))
        return self._said(held, result, name) if name in _TEXTS else result

    def _said(self, held: HeldObject, text: str, name: str) -> str:
        """What an object says of itself, without what is hidden."""
        text = text_of(held.value, text, lambda part, name: is_told(self._rules, _place_of(held, part), name))
        data = name != "__repr__" and has_own_text(type_of(held.value))
        return without_login(without_addresses(text)) if data else clean(text)

    def items(self, held: HeldObject) -> tuple[list[Any], bool]:
        """The next items of an iterator, and whether there may be more."""
        self.require_operator(held, "__next__")
        return self._guarded(held, "", lambda: self._items(held))

    def _items(self, held: HeldObject) -> tuple[list[Any], bool]:
        ahead = LOOK_AHEAD if type(held.value) in _SAFE_ITERATORS else 1
        ready = getattr(type_of(held.value), READY, None)
        items: list[Any] = []
        while len(items) < ahead:
            try:
                items.append(next(held.value))
            except StopIteration:
                return items, False
            if ready is not None and len(items) == 1:  # the rest of its page goes along
                ahead = 1 + min(LOOK_AHEAD, ready(held.value))
        return items, True

    def awaited(self, held: HeldObject) -> Awaitable[Any]:
        """What an object gives that guest code awaits."""
        self.require_operator(held, "__await__")

        async def wait() -> Any:
            # a future is the host's: guest code that gives up waiting for it does not cancel it
            return await (asyncio.shield(held.value) if asyncio.isfuture(held.value) else held.value)

        return self._guarded(held, "", wait)

    def require_operator(self, held: HeldObject, name: str) -> None:
        """`NotPublic` for an operator that binding the object does not grant."""
        refused = refuses_operator(type_of(held.value), name) or self._rules.tells_field(held.place, name)
        if (refused or tells_held(held.value, name, self._hides_field)) and not self._rules.lifts(held.place, name):
            grant = f"binding it does not grant this operator; {held.place.grant(name)} grants it"
            raise NotPublic(f"{type(held.value).__name__!r} object has no {name} here: {grant}")
        same = self._rules.of_operator(held.place, name)
        if not same.visible:
            raise NotPublic(f"{type(held.value).__name__!r} object has no {name} here: {same.why}, under another name")
        if same.read_only:
            raise NotPublic(f"{name} of {held.shown} is refused: it is a member that is read-only in this scope")

    def is_method(self, held: HeldObject, name: str) -> bool:
        """Whether the class of an object has a method of that name."""
        return not self._is_data(held, name)

    def _hides_field(self, kind: type) -> bool:
        return self._rules.hides_field(Place(kind.__name__, kind))

    def _is_data(self, held: HeldObject, name: str) -> bool:
        member = members(type_of(held.value)).get(name)
        return member is None or member.kind == "property"

    def _writable(self, held: HeldObject, name: str, *, deletes: bool = False) -> None:
        self._rules.require(held.place, name, data=True)
        why = attribute_refusal(self._rules, held, name, deletes=deletes)
        own = not why and self._is_data(held, name) and name not in members(type_of(held.value))
        if own and hasattr(type_of(held.value), "__getattr__") and is_code(getattr(held.value, name, None)):
            why = "is code of the host, which guest code does not replace"
        if why:
            raise NotPublic(f"{held.shown}.{name} {why}")

    def _attribute(self, held: HeldObject, name: str) -> Any:
        """The attribute, by Python's rules; of modules, generators and coroutines by ours."""
        if name.startswith("_"):
            self._rules.require(held.place, name)
        if isinstance(held.value, types.ModuleType):
            shown = self._rules.of_module(held.place, held.value)
            if name not in shown:
                self._rules.require(held.place, name)
                inner = vars(held.value).get(name) or sys.modules.get(f"{held.value.__name__}.{name}")
                if isinstance(inner, types.ModuleType):
                    raise NotPublic(f"module {held.shown!r} shows no {name!r} here: bind {inner.__name__} itself")
                why = module_refusal(held.value, name)
                grant = f": {why}; {held.place.grant(name)} grants it" if why else ""
                raise NotPublic(f"module {held.shown!r} shows no {name!r} here{grant}")
            return shown[name]
        if name.startswith(MACHINERY) and isinstance(held.value, _MACHINES):
            raise NotPublic(f"{type(held.value).__name__!r} object has no attribute {name!r} here")
        if self._is_data(held, name):
            self._rules.require(held.place, name, data=True)
        if tells_held(held.value, name, self._hides_field) and not self._rules.lifts(held.place, name):
            why = f"it tells a field that is hidden or can carry credentials; {held.place.grant(name)} grants it"
            raise NotPublic(f"{type(held.value).__name__!r} object has no attribute {name!r} here: {why}")
        return self._guarded(held, name, lambda: getattr(held.value, name))

    def _guarded(self, held: HeldObject, name: str, use: Callable[[], Any]) -> Any:
        """What an operator, an attribute or an iterator gives: of a query or a row, it may run SQL."""
        if _libraries(held).isdisjoint(GUARDED):
            return use()
        return guarded(use, held.value, f"{held.shown}.{name}".rstrip("."))


def _libraries(held: HeldObject) -> frozenset[str]:
    """The libraries whose code an object runs: of a generator, or a manager made of one, that of its function."""
    known = libraries(held.place.kind)
    value: Any = own_dict(held.value).get("gen") if "contextlib" in known else held.value
    if type_of(value) not in _GENERATORS:
        return known
    frame = value.gi_frame if type_of(value) is types.GeneratorType else value.ag_frame
    return known if frame is None else frozenset((library(frame.f_globals.get("__name__")),))


def is_told(rules: Rules, place: Place, name: str) -> bool:
    """Whether an object's text may have the value of an attribute. What only a table refuses may be in it."""
    if is_secret_name(name):
        return rules.verdict(place, name, data=True).visible
    return bool(refusal(place.kind, name)) or not rules.hides(place, name)


def _place_of(held: HeldObject, part: Any) -> Place:
    return held.place if part is held.value else Place(type_of(part).__name__, type_of(part))


def explain(function: Any, title: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError) -> TypeError:
    """`WrongArguments` with the right parameters, for a call that does not fit its signature; else the error itself."""
    taken = signature(function)
    if taken is None:
        return error
    try:
        taken.bind(*args, **kwargs)
    except TypeError as misfit:
        return WrongArguments(f"{title}: {misfit}; it takes {signature_text(function)}")
    return error
