"""`Abouts`: looks up the `About` of a call before the call is made: its title for people, the facts of its operation.

It is looked up for every call; no code of the objects runs. `AskRules` decides which uses wait for a person's yes. A
use that the rules refuse is refused, and no person is asked about it.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cellwright.doors import UNKNOWN, About, Call, Made, Operation
from cellwright.scope.ask_rules import AskRules
from cellwright.scope.classes import Classes, KnownClass
from cellwright.scope.declared_rule import RuleVerdict
from cellwright.scope.function_rules import FunctionRules
from cellwright.scope.handles import Handles, HeldObject
from cellwright.scope.lost_objects import named
from cellwright.scope.members import FUNCTIONS, OPERATORS, Member, gives_coroutine, is_called, members, names_in
from cellwright.scope.operations import CAREFUL, facts_of
from cellwright.scope.parcels import find_type, type_key
from cellwright.scope.placement import HANDED
from cellwright.scope.rules import Place, Rules
from cellwright.scope.signatures import signature
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.verbs import READS, VERBS
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import NOTHING, type_of

TITLE = 200
READING = Operation(reads=True)
_READING_VERBS = frozenset(("get", "dir", "about"))
_DATA_KINDS = frozenset(("record", "model", "namedtuple", "object", "enum"))
_PYTHONS = ("builtins", "functools")  # the modules of functions, partials and containers
_SLEEP = About(title="sleep", operation=READING)
_NO_OBJECT: Any = None
_NUMBER = re.compile(r"#\d+(?=\.|$)")
_GIVEN = ("", "given")  # a key of `abouts` that no verb and name have


class Abouts:
    """For one session. `lost` knows the objects that the guest has from an earlier process."""

    def __init__(self, rules: Rules, handles: Handles, classes: Classes, lost: Callable[[int], Made | None]) -> None:
        self._rules = rules
        self._handles = handles
        self._classes = classes
        self._lost = lost
        self._asks = AskRules(rules, handles)
        self._functions = FunctionRules(rules, handles)
        self.lent: Callable[[About], str] | None = None  # why a policy keeps a function from host code; "" else

    def about(self, verb: str, target: int, name: str) -> About:
        """Never raises. An operation of which nothing is known counts as one that writes."""
        if verb == "sleep":
            return _SLEEP
        entry = self._entry(target)
        key = name if verb == "call" else (verb, name)
        known = None if entry is None else entry.abouts.get(key)
        version = self._rules.version  # before the rules are read: another thread may declare meanwhile
        if known is not None and known[0] == version:
            return known[1]
        call = Call(id=0, cell=0, verb=verb, target=target, name=name, arguments=NOTHING)
        if entry is None:
            made = self._lost(target)
            owner = f"#{target}" if made is None else named(made)
            return About(title=f"{owner}.{_shown(name)}"[:TITLE], operation=_by_nature(call))
        if isinstance(entry, KnownClass):
            about = self._of_class(entry, call)
        else:
            if entry.placed_at != version:  # the rules may speak of other paths now
                entry.place, entry.placed_at = self._rules.placed(entry.place, entry.value), version
            about = self._of_object(entry, call)
        if self._rules.notes:
            noted = frozenset(pattern for verdict in self._verdicts(entry, call) for pattern in verdict.noted)
            about = replace(about, patterns=noted)
        if call.verb in VERBS and _is_bounded(entry, call.name):
            entry.abouts[key] = (version, about)
        return about

    def refusal(self, call: Call) -> str:
        """Why the rules refuse a call, "" where they do not: nobody is asked about it then."""
        entry, reads = self._entry(call.target), self.of(call).operation.reads
        for verdict in [] if entry is None else self._verdicts(entry, call):
            if not verdict.visible:
                return verdict.why
            if verdict.read_only and not reads:
                return "this scope is read-only and does not know that it only reads"
        return ""

    def _verdicts(self, entry: HeldObject | KnownClass, call: Call) -> list[RuleVerdict]:
        """What the rules say of a call, under any name of what it calls."""
        place, name, rules = entry.place, call.name, self._rules
        if not name or call.verb == "new":
            owner, _, own = place.path.rpartition(".")
            verdicts = [rules.verdict(Place(owner, place.kind), own), self._functions.verdict(entry.value)]
        elif call.verb == "op":
            verdicts = [rules.verdict(place, name.strip("_")), rules.of_operator(place, name)]
        else:
            verdicts = [rules.verdict(place, name)]
            if call.verb == "call":
                verdicts.append(self._functions.verdict(_shared(members(place.kind).get(name), place.kind)))
        home = self._asks.home(entry.value) if not name else None
        if home is not None and not home[1].startswith("_"):
            verdicts.append(rules.verdict(*home))
        return verdicts

    def of(self, call: Call) -> About:
        """What the call carries; looked up where nobody has done so."""
        return self.about(call.verb, call.target, call.name) if call.about is UNKNOWN else call.about

    def pattern(self, call: Call) -> str:
        """The pattern for `declare` that covers such a call: an object without a path is matched by its class."""
        entry = self._entry(call.target)
        path = entry.place.path if isinstance(entry, HeldObject) and not call.name else ""
        return path or _NUMBER.sub("", self.of(call).title)

    def parameters(self, call: Call) -> tuple[str, ...]:
        """The names of the positional parameters of what a call calls; none where nobody knows them."""
        entry = self._entry(call.target)
        function, skipped = _NO_OBJECT, 0
        if call.verb not in ("call", "new"):
            return ()
        if isinstance(entry, KnownClass):
            function = entry.value if call.verb == "new" else getattr(entry.value, call.name, None)
        elif entry is not None:
            function, skipped = _unbound(entry, call.name) if call.name else (entry.value, 0)
        names = () if function is None else _positional(function)
        return names[skipped:] if skipped else names

    def guarded(self, number: object) -> str:
        """Which rule a function or class has that host code would not keep, if it were given it; "" for none."""
        entry = self._entry(number) if type(number) is int else None
        if entry is None or not is_called(entry.value):
            return ""
        version, known = self._rules.version, entry.abouts.get(_GIVEN)
        if known is None or known[0] != version:
            known = entry.abouts[_GIVEN] = (version, self._guarded(entry))
        return known[1]

    def acts(self, number: int) -> bool:
        """Whether it is a function or a class whose call may do something."""
        entry = self._entry(number)
        if entry is None or not is_called(entry.value):
            return False
        about = self.about("new" if isinstance(entry, KnownClass) else "call", number, "")
        return not about.data and not about.operation.reads

    def of_function(self, function: Any, owner: HeldObject | None) -> tuple[Operation, bool]:
        """The facts of a function that host code calls for a guest, such as `undo=`; and whether a rule refuses it.

        The rules are those of its name in scope, or of the method of its own object or of `owner`.
        """
        held = self._handles.known(function)
        if held is not None:
            facts = self.about("call", held.handle, "").operation
            return facts, self._asks.refuses(held, facts)
        known, home = facts_of(function), self._asks.home(function) or _method_of(owner, function)
        facts, verdicts = known, [self._functions.verdict(function, alone=False)]
        if home is not None and not home[1].startswith("_"):
            facts = self._asks.called(*home, self._rules.facts(*home, known), None)
            verdicts.append(self._rules.verdict(*home))
        if any(not one.visible or (one.read_only and not facts.reads) for one in verdicts):
            return facts, True
        return _with_ask(facts, verdicts[0]), False

    def _guarded(self, entry: HeldObject | KnownClass) -> str:
        number, verb = (entry.number, "new") if isinstance(entry, KnownClass) else (entry.handle, "call")
        about = self.about(verb, number, "")
        if about.operation.ask:
            return f"{about.title} waits for a person's yes"
        if self.lent is not None and not about.data and (why := self.lent(about)):
            return f"{about.title} {why}"
        refused = isinstance(entry, KnownClass) and not self._functions.verdict(entry.value).visible
        if refused or (isinstance(entry, HeldObject) and self._asks.refuses(entry, about.operation)):
            return f"{about.title} is refused in this scope"
        return ""

    def on_loop(self, held: HeldObject, call: Call) -> bool:
        """Whether a call on this object runs on the event loop, as far as is known without reading its function."""
        thread = self.about(call.verb, call.target, call.name).operation.thread
        function = _static(held, call.name) if call.name else held.value
        return thread in ("loop", "task") or gives_coroutine(function)

    def _entry(self, target: int) -> HeldObject | KnownClass | None:
        if target < 0:
            try:
                return self._classes.get(target)
            except ReferenceError:
                return None
        held = self._handles.find(target)
        made = self._lost(target) if held is None else None
        cls = find_type(made.kind) if made is not None else None
        if made is None or cls is None:
            return held
        return HeldObject(_NO_OBJECT, target, Place(made.path, cls), False)  # its facts are those of its class

    def _of_class(self, known: KnownClass, call: Call) -> About:
        cls = known.value
        title = ".".join(filter(None, (cls.__name__, _shown(call.name))))[:TITLE]
        known_as = ".".join(filter(None, (type_key(cls), _shown(call.name)))) if isinstance(cls, type) else ""
        if call.verb == "call":
            member = members(cls).get(call.name) if isinstance(cls, type) else None
            said = CAREFUL if member is None else facts_of(member.value)
            facts = self._rules.facts(known.place, call.name, said)
            facts = self._asks.called(known.place, call.name, facts, None)
            facts = self._everywhere(facts, _shared(member, cls))
        elif call.verb == "new":
            facts = self._own(known.place, facts_of(cls), cls)
            data = known.kind in _DATA_KINDS
            # building plain data twice does no harm
            facts = replace(facts, idempotent=True) if data else facts
            data = data or (isinstance(cls, type) and issubclass(cls, BaseException))
            return About(title=title, operation=facts, known_as=known_as, data=data)
        else:
            read = members(cls).get(call.name) if call.verb == "get" and isinstance(cls, type) else None
            asks = read is not None and read.kind == "property" and self._asks.is_declared(known.place, call.name)
            facts = replace(_by_nature(call), ask=True) if asks else _by_nature(call)
        return About(title=title, operation=facts, known_as=known_as)

    def _of_object(self, held: HeldObject, call: Call) -> About:
        made = held.handed and issubclass(type_of(held.value), (*FUNCTIONS, functools.partial))  # by a call
        placed = (held.bound and not made) or _names_itself(held) or _is_namespace(held)
        owner = _stands(held) if placed else f"{_kind(held)}#{held.handle}"
        title = ".".join(filter(None, (owner, "next" if call.verb == "items" else _shown(call.name))))[:TITLE]
        known_as = _known_as(held, call, placed=placed)
        if call.verb == "call":
            return About(title=title, operation=self._called(held, call.name), known_as=known_as)
        facts = _by_nature(call)
        if call.verb == "get":  # the other facts belong to the call: reading a method does not call it
            facts = READING if self._rules.verdict(held.place, call.name).facts.get("reads", True) else CAREFUL
        if self._asks.used(held, call, _static(held, call.name)):
            facts = replace(facts, ask=True)
        facts = self._labelled(facts, held, call.name)
        return About(title=title, operation=facts, known_as=known_as)

    def _labelled(self, facts: Operation, held: HeldObject, name: str) -> Operation:
        """The facts with the labels that are declared of the object's member, or of the object itself."""
        owner, _, own = held.place.path.rpartition(".")
        said = self._rules.facts(Place(owner, held.place.kind), own, CAREFUL)
        if name:
            function = _static(held, name)
            getter = function.fget if type_of(function) is property else function if name in OPERATORS else None
            member = self._rules.facts(held.place, name, CAREFUL if getter is None else facts_of(getter))
            said = member if member.has_labels else said
        if not said.has_labels:
            return facts
        return replace(facts, own=said.own, untrusted=said.untrusted, private=said.private, trusted=said.trusted)

    def _called(self, held: HeldObject, name: str) -> Operation:
        if not name:
            said = CAREFUL if held.value is _NO_OBJECT else facts_of(held.value)
            return _with_ask(self._own(held.place, said, held.value), self._asks.operator(held, "__call__"))
        function = _static(held, name)
        facts = self._rules.facts(held.place, name, facts_of(function))
        facts = self._asks.called(held.place, name, facts, function)
        return self._everywhere(facts, _shared(members(held.place.kind).get(name), held.place.kind))

    def _own(self, place: Place, said: Operation, function: Any) -> Operation:
        """The facts of a function or a class itself: a member of the object, or the scope, that its path names."""
        owner, _, name = place.path.rpartition(".")
        above = Place(owner, place.kind)
        return self._everywhere(
            self._asks.itself(above, name, self._rules.facts(above, name, said), function), function
        )

    def _everywhere(self, known: Operation, function: Any) -> Operation:
        """The facts, with what the rules say of the function at its other paths."""
        verdict = self._functions.verdict(function)
        if not verdict.visible or (verdict.read_only and not known.reads):
            return replace(known, ask=False)
        return _with_ask(known, verdict)


def _with_ask(known: Operation, verdict: RuleVerdict) -> Operation:
    """The facts, with `ask` if the verdict on the same function says so."""
    asks = verdict.facts.get("ask", False) or (verdict.asks_writes and not known.reads)
    return replace(known, ask=True) if asks else known


def _shared(member: Member | None, cls: type) -> Any:
    """What a call of the member runs, where it is the same for all objects of the class; None for a plain method."""
    if member is None:
        return None
    if member.kind == "class":
        return types.MethodType(member.value, cls)
    bound = member.kind != "static" and hasattr(type_of(member.value), "__get__")
    return None if bound else member.value


def _method_of(held: HeldObject | None, function: Any) -> tuple[Place, str] | None:
    """The place of an object and the name under which its class has the function; None where it does not."""
    names = names_in(held.place.kind, function) if held is not None else ()
    return (held.place, names[0]) if held is not None and names else None


def _stands(held: HeldObject) -> str:
    """The path for people. In a child's scope the guest chose the name, so the path in the parent's scope is shown."""
    path = held.place.path
    return held.shown if not path or path.startswith(HANDED) else path


def _known_as(held: HeldObject, call: Call, *, placed: bool) -> str:
    """The path, or the class: none for names that the guest chose, for functions, and for Python's own types."""
    path, kind = held.place.path, held.place.kind
    if placed:
        return "" if not path or path.startswith(HANDED) else ".".join(filter(None, (path, _shown(call.name))))
    if kind.__module__ in _PYTHONS:
        return ""
    return ".".join(filter(None, (type_key(kind), _shown(call.name))))


def _names_itself(held: HeldObject) -> bool:
    """Whether the object is a function that was read from another object: its path says more than its number."""
    return issubclass(type_of(held.value), FUNCTIONS) and held.place.path.endswith(f".{held.value.__name__}")


def _is_namespace(held: HeldObject) -> bool:
    """Whether the object is a namespace of an upstream: there is only one at its path."""
    return NAMESPACE in held.place.kind.__dict__


def _kind(held: HeldObject) -> str:
    """The class of an object; of a function that has no path its name, since a person may be asked about it."""
    partly = type_of(held.value) is functools.partial
    function = held.value.func if partly else held.value
    if type_of(function) is types.MethodType:
        function = function.__func__
    if type_of(function) not in (types.FunctionType, types.BuiltinFunctionType):
        return held.place.kind.__name__
    named = function.__qualname__.rpartition("<locals>.")[2]
    return f"partial({named})" if partly else named


def _static(held: HeldObject, name: str) -> Any:
    member = members(held.place.kind).get(name)
    if member is not None and member.kind != "property":
        return member.value
    if issubclass(type_of(held.value), types.ModuleType):  # `isinstance` would ask the object
        return held.value.__dict__.get(name)
    return None if held.value is _NO_OBJECT else inspect.getattr_static(held.value, name, None)


def _unbound(held: HeldObject, name: str) -> tuple[Any, int]:
    """The function that a method call runs, and how many of its parameters the object itself fills."""
    function = _static(held, name)
    kind = type_of(function)
    if kind in (staticmethod, classmethod):
        return function.__func__, int(kind is classmethod)
    of_class = name in members(held.place.kind) and not issubclass(type_of(held.value), types.ModuleType)
    return function, int(of_class and hasattr(kind, "__get__") and not issubclass(kind, type | functools.partial))


def _positional_names(function: Any) -> tuple[str, ...]:
    found = signature(function)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return () if found is None else tuple(one.name for one in found.parameters.values() if one.kind in positional)


_kept_names = weak_cache(_positional_names)


def _positional(function: Any) -> tuple[str, ...]:
    """The names of the positional parameters, read once for each plain function."""
    return _kept_names(function) if type_of(function) is types.FunctionType else _positional_names(function)


def _by_nature(call: Call) -> Operation:
    reads = call.verb in _READING_VERBS or (call.verb == "op" and call.name in READS)
    return READING if reads else CAREFUL


def _is_bounded(entry: HeldObject | KnownClass, name: str) -> bool:
    """Whether the name is one of a fixed set: an object may answer to any name, and the cache must not grow."""
    if not name or name in OPERATORS:
        return True
    if issubclass(type_of(entry.value), types.ModuleType):
        return name in vars(entry.value)
    return name in members(entry.value if isinstance(entry, KnownClass) else entry.place.kind)


def _shown(name: str) -> str:
    return name if name.isidentifier() else ascii(name) if name else ""
