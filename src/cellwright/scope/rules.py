"""Which members of a bound object guest code may use: what is public, less presets, as narrowed by `declare`.

Decides by names and types only. It never touches the object that it decides about.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

from cellwright.errors import NotPublic, UsageError
from cellwright.scope.declared_rule import GRANTED, Rule, RuleDecision, RuleVerdict, joined
from cellwright.scope.hidden_fields import (
    data_fields,
    is_hidden,
    reading_members,
    reading_operators,
    record_fields,
)
from cellwright.scope.members import aliases, module_members, operator_names, operators
from cellwright.scope.operations import FACTS, Operation, refuse_operator, with_facts
from cellwright.scope.presets import granted_operators, hides_by_name, module_refusal, refusal
from cellwright.scope.surfaces import NAMESPACE
from cellwright.scope.weak_cache import weak_cache

WRITING_OPERATORS = frozenset(("__setitem__", "__delitem__"))
_Decisions = list[RuleDecision]
_mark = weak_cache(lambda cls: object())  # stands for a class in keys: rules may outlive the class


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a host object in the scope: the path at which it was first reached, and its type.

    `others` are further paths of the same object at which rules speak of it.
    """

    path: str
    kind: type
    others: tuple[str, ...] = ()

    def titles(self, name: str) -> tuple[str, ...]:
        return (f"{self.path}.{name}" if self.path else name, f"{self.kind.__name__}.{name}")

    def grant(self, name: str, fact: str = "hide=False") -> str:
        """The line that grants a member which binding the object does not."""
        by_path, by_type = self.titles(name)
        return f'scope.declare("{by_path if self.path and self.path[0].isidentifier() else by_type}", {fact})'


class StaticPlaces(Protocol):
    """Where the objects of a scope stand, without running code: an `ObjectRules`."""

    def placed(self, place: Place, value: Any, others: tuple[str, ...] = (), *, renew: bool = True) -> Place: ...
    def class_paths(self, kind: type) -> tuple[str, ...]: ...
    def titles(self, function: Any) -> tuple[str, ...]: ...
    def warn(self) -> None: ...
    def forget(self) -> None: ...


class Rules:
    """All declared rules, in order; a later rule overrides an earlier one."""

    def __init__(self) -> None:
        self._version = 0
        self._rules: list[Rule] = []
        self.objects: StaticPlaces | None = None  # a scope gives it
        self._verdicts: dict[tuple[object, ...], RuleVerdict] = {}
        self._watched: list[Callable[[], str]] = []
        self._seen: list[str] = []
        self.notes = False  # a policy has patterns here
        self.strict_binding = False  # objects of distributions that nothing is known of are refused

    @property
    def declared(self) -> Sequence[Rule]:
        return self._rules

    @property
    def version(self) -> int:
        """Counts the rules, and the changes of what they depend on. A decision of an earlier version is not good."""
        if self._watched:  # read several times for each call: most scopes watch nothing
            self._look()
        return self._version

    def __len__(self) -> int:
        return len(self._rules)

    def watch(self, key: Callable[[], str]) -> None:
        """Register what some `when` depends on: when it gives another key, every verdict is decided anew."""
        self._watched.append(key)

    def _look(self) -> None:
        seen = [key() for key in self._watched]
        if seen != self._seen:
            self._seen = seen
            self.changed()

    @property
    def listed(self) -> list[Rule]:
        return self._rules

    def changed(self) -> None:
        """Decide everything anew."""
        self._verdicts = {}  # a new dict: a decision that is being made goes into the old one
        self._version += 1

    def add(
        self,
        pattern: str,
        *,
        hide: bool | Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        read_only: bool | Literal["ask"] = False,
        writable: bool | Iterable[str] | None = None,
        when: Callable[[str], bool] | None = None,
        **facts: Any,
    ) -> None:
        unknown = facts.keys() - FACTS
        if unknown:
            names = ", ".join(sorted(FACTS | {"hide", "only", "read_only", "writable"}))
            raise UsageError(f"declare() knows no {sorted(unknown)[0]!r}; it takes {names}")
        if facts.get("thread") == "task":
            raise UsageError('thread="task" belongs to the function: say it with @operation(thread="task")')
        if facts or hide or only is not None or read_only:
            refuse_operator(pattern)
        Operation(**facts)  # a wrong value fails here, not at the first call
        self._rules.append(
            Rule(
                pattern=pattern,
                hide=hide if isinstance(hide, bool) or hide is None else _names(hide, "hide"),
                only=None if only is None else _names(only, "only"),
                read_only=read_only,
                writable=writable if isinstance(writable, bool) or writable is None else _names(writable, "writable"),
                facts=facts,
                when=when,
            )
        )
        self.changed()

    def note(self, patterns: Iterable[str]) -> None:
        """Note the patterns of a policy: a verdict tells which of them cover the member, under any of its names."""
        known = {rule.pattern for rule in self._rules if rule.noted}
        fresh = [Rule(pattern=pattern, noted=True) for pattern in dict.fromkeys(patterns) if pattern not in known]
        if fresh:
            self.notes = True
            self._rules += fresh
            self.changed()

    def verdict(self, place: Place, name: str, *, data: bool = False) -> RuleVerdict:
        """What guest code may do with the member `name`. `data`: it is an attribute, not a method."""
        key = (place.path, place.others, _mark(place.kind), name, data)
        return self._kept(key, lambda: self._strictest(self._judge(place, name, data), place, name))

    def _kept(self, key: tuple[object, ...], decide: Callable[[], RuleVerdict]) -> RuleVerdict:
        if self._watched:
            self._look()
        verdicts = self._verdicts
        known = verdicts.get(key)
        if known is None:
            if len(verdicts) > 10_000:  # guest code can make up any number of paths and names
                verdicts.clear()
            known = verdicts[key] = decide()
        return known

    def placed(self, place: Place, value: Any, others: tuple[str, ...] = (), *, renew: bool = True) -> Place:
        """The place with all paths of the object at which rules speak of it; `others` led to it, too.

        With `renew` the object may be newer than the last look at what stands where.
        """
        if not self._rules or self.objects is None:
            return place
        return self.objects.placed(place, value, others, renew=renew)

    def of_function(
        self, owner: Place | None, names: tuple[str, ...], aliases: tuple[str, ...], titles: tuple[str, ...] = ()
    ) -> RuleVerdict:
        """The verdict on a function that is a value: `names` of it in its `owner`, and titles that it has elsewhere.

        Of `aliases`, other names of it, only rules about that very name count.
        """
        at = () if owner is None else (owner.path, owner.others, _mark(owner.kind))
        return self._kept((*at, names, aliases, titles), lambda: self._of_function(owner, names, aliases, titles))

    def _of_function(
        self, owner: Place | None, names: tuple[str, ...], aliases: tuple[str, ...], titles: tuple[str, ...]
    ) -> RuleVerdict:
        own = [] if owner is None else [self._decided(owner.titles(name), name) for name in names]
        if owner is not None:
            own += [one for name in names for group in self._decisions(owner, name) for one in group]
        own += [self._decided((title,), title.rpartition(".")[2], alias=True) for title in aliases]
        for title in titles:
            made = self._decided((title,), title.rpartition(".")[2])
            refuses = made.facts.get("reads") is not True  # what is declared to only read is read-only as it is
            made.read_only, made.asks_writes = made.read_only and refuses, made.asks_writes and refuses
            own.append(made)
        return joined(GRANTED, (), own)

    def of_operator(self, place: Place, name: str) -> RuleVerdict:
        """The verdict on an operator, as far as it is the same function as members. Of rules that a scope is
        read-only, those that name such a member: operators are not known to read."""
        names = operator_names(place.kind).get(name, ()) if self._rules else ()
        if not names:
            return GRANTED
        key = (place.path, place.others, _mark(place.kind), name, "operator")
        return self._kept(key, lambda: self._of_operator(place, name, names))

    def _of_operator(self, place: Place, name: str, names: tuple[str, ...]) -> RuleVerdict:
        strict: list[RuleDecision] = []
        for same in () if self.lifts(place, name) else names:
            own = place.titles(same)
            every = [self._decided(own, same, only=False)]
            every += [one for group in self._decisions(place, same, only=False) for one in group]
            reads = self._decided(own, same).facts.get("reads") is True
            strict += [replace(one, read_only=False, asks_writes=False) for one in every]
            titles = [own, *((f"{path}.{same}",) for path in place.others)]
            strict += [self._decided(title, same, alias=True) for title in titles if not reads]
        return joined(GRANTED, (), strict)

    def _strictest(self, verdict: RuleVerdict, place: Place, name: str) -> RuleVerdict:
        """The verdict at the object's path, with what the rules say of it at its other paths, and of its class."""
        if not self._rules or name.startswith("_"):
            return verdict
        same, strict = self._decisions(place, name)
        if not verdict.visible and self._decided(place.titles(name), name).hidden:
            return joined(verdict, (), strict)
        return joined(verdict, same, [*same, *strict])

    def _decisions(
        self, place: Place, name: str, *, only: bool = True
    ) -> tuple[list[RuleDecision], list[RuleDecision]]:
        """What rules say of this member of the same object elsewhere; of the class, its bases, and aliases."""
        kind = place.kind.__name__
        same = [self._decided((f"{path}.{name}", f"{kind}.{name}"), name, only=only) for path in place.others]
        promised = () if self.objects is None else self.objects.class_paths(place.kind)
        titles = [(f"{path}.{name}", f"{kind}.{name}") for path in promised if path != place.path]
        titles += [(f"{base.__name__}.{name}", f"{kind}.{name}") for base in place.kind.__mro__[1:-1]]
        strict = [self._decided(title, name, only=only) for title in titles]
        others = aliases(place.kind).get(name, ())
        own = place.titles(name)
        if others and not any(rule.hide is False and rule.names(name) and rule.covers(own) for rule in self._rules):
            bases = (base.__name__ for base in place.kind.__mro__[1:-1])
            for path in (place.path, *place.others, *promised, *bases):
                strict += [self._decided((f"{path}.{n}", f"{kind}.{n}"), n, alias=True) for n in others]
        return same, strict

    def _decided(self, titles: tuple[str, ...], name: str, *, alias: bool = False, only: bool = True) -> RuleDecision:
        """`alias`: another name of a function; only rules about that very name hold for the function."""
        made = RuleDecision()
        for rule in self._rules:
            firm = rule.names(name) or not (alias or rule.general)
            if (alias and not firm) or not rule.covers(titles):
                continue
            hides = rule.hide is True or (isinstance(rule.hide, frozenset) and name in rule.hide)
            if only and not alias and rule.only is not None and name not in rule.only:
                hides = hides or rule.level_with(titles)
            if hides or rule.hide is False:
                made.hidden, made.shown = hides and firm, firm and not hides
            if rule.noted:
                made.noted.add(rule.pattern)
            made.read_only = made.read_only or (firm and rule.read_only is True)
            made.asks_writes = made.asks_writes or (firm and rule.read_only == "ask")
            for fact, value in rule.facts.items():
                made.facts.pop(fact, None)
                if firm:
                    made.facts[fact] = value
        return made

    def _judge(self, place: Place, name: str, data: bool) -> RuleVerdict:
        if name.startswith("_"):
            return RuleVerdict(
                visible=False, read_only=True, why="names that start with an underscore stay on the host"
            )
        why = refusal(place.kind, name)
        if why:
            why = f"{why}; {place.grant(name)} grants it"
        lifted, writable = False, None
        credential = is_hidden(place.kind, name, data) and NAMESPACE not in place.kind.__dict__
        if credential:
            why = f"it is hidden, because it can carry credentials; {place.grant(name)} grants it"
        elif name in reading_members(place.kind) and self.hides_field(place):
            why = "it tells a field that is hidden in this scope"
        read_only = asks_writes = False
        facts, noted = dict[str, Any](), set[str]()
        titles, fields = place.titles(name), data_fields(place.kind)
        for rule in self._rules:
            if not rule.covers(titles):
                continue
            if rule.noted:
                noted.add(rule.pattern)
            facts |= rule.facts
            read_only = read_only or rule.read_only is True
            asks_writes = asks_writes or rule.read_only == "ask"
            hides = rule.hides(name, fields)
            if hides is not None:
                why, lifted = "it is hidden in this scope" if hides else "", not hides
            if isinstance(rule.writable, bool) or (rule.writable and name in rule.writable):
                writable = bool(rule.writable)
            if rule.only is not None and name not in rule.only and rule.level_with(titles):
                why = "it is hidden in this scope"
        return RuleVerdict(
            visible=not why,
            read_only=read_only,
            why=why,
            lifted=lifted,
            asks_writes=asks_writes,
            writable=writable,
            facts=facts,
            noted=frozenset(noted),
        )

    def of_module(self, place: Place, module: types.ModuleType) -> dict[str, Any]:
        """The members of a bound module that guest code may use."""
        shown: dict[str, Any] = {}
        for name, value in module_members(module).items():
            verdict = self.verdict(place, name, data=not callable(value))
            if verdict.visible and (verdict.lifted or not module_refusal(module, name)):
                shown[name] = value
        return shown

    def operators(self, place: Place) -> tuple[str, ...]:
        """The operators of an object that guest code may use."""
        every, granted = operators(place.kind), granted_operators(place.kind)
        if len(every) == len(granted):
            return every
        return tuple(name for name in every if name in granted or self.lifts(place, name))

    def hides_field(self, place: Place) -> bool:
        """Whether a rule hides a field of a record: then the record goes by handle, and is not read as a whole."""
        return any(rule.hide or rule.only is not None for rule in self._rules) and self.withholds_field(place)

    def withholds_field(self, place: Place) -> bool:
        """Whether a record has a field that guest code does not see: a credential, or one that a rule hides."""
        fields = record_fields(place.kind)
        return any(not self.verdict(place, n, data=True).visible and not refusal(place.kind, n) for n in fields)

    def tells_field(self, place: Place, name: str) -> bool:
        """Whether an operator of a record tells a field that a rule hides."""
        return name in reading_operators(place.kind) and self.hides_field(place)

    def lifts(self, place: Place, name: str) -> bool:
        """Whether the last `hide=` about a member, or an operator, is `hide=False`."""
        titles = place.titles(name)
        said = [rule.hide for rule in self._rules if isinstance(rule.hide, bool) and rule.covers(titles)]
        return bool(said) and said[-1] is False

    def hides(self, place: Place, name: str) -> bool:
        """Whether a preset or a `hide=` hides the member. `only=` does not count: it limits what code may name."""
        hidden = hides_by_name(place.kind, name)
        titles, fields = place.titles(name), data_fields(place.kind)
        for rule in self._rules:
            hides = rule.hides(name, fields)
            if hides is not None and rule.covers(titles):
                hidden = hides
        return hidden or any(one.hidden for group in self._decisions(place, name, only=False) for one in group)

    def is_narrowed(self, place: Place) -> bool:
        """Whether an `only=` says which members an object shows."""
        titles = place.titles("any")
        return any(rule.only is not None and rule.covers(titles) and rule.level_with(titles) for rule in self._rules)

    def narrows(self, root: str) -> bool:
        """Whether a rule hides or refuses something below this name of the scope, and not below all names."""
        firsts = (r.pattern.partition(".")[0] for r in self._rules if r.hide is not None or r.only or r.read_only)
        return any(first != "*" and fnmatchcase(root, first) for first in firsts)

    def facts(self, place: Place, name: str, known: Operation) -> Operation:
        return with_facts(known, self.verdict(place, name).facts)

    def require(self, place: Place, name: str, *, data: bool = False) -> RuleVerdict:
        """The verdict on a member that guest code uses. Raises `NotPublic` for one that is not visible."""
        verdict = self.verdict(place, name, data=data)
        if not verdict.visible:
            raise NotPublic(f"{place.kind.__name__!r} object has no attribute {name!r} here: {verdict.why}")
        return verdict


def _names(names: Iterable[str], what: str) -> frozenset[str]:
    if isinstance(names, str):
        raise UsageError(f"{what}={names!r}: give a list of names, as in {what}=[{names!r}]")
    return frozenset(names)
