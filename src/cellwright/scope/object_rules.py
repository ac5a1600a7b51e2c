"""`ObjectRules`: where the objects, classes and functions of a scope stand, as far as its rules speak of them.

A rule is written as a path, and holds for the object at that path however guest code reaches it. The look is static: it
reads dictionaries of instances, classes and annotations; no property and no other code of an object runs. What only
running code could tell, a method's result for instance, is known by the class that its annotation names.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cellwright.scope.classes import ATOMS, type_hints
from cellwright.scope.declared_rule import Rule
from cellwright.scope.held_objects import ITEMS, RuledHolder, held_in, is_container, items_of
from cellwright.scope.members import FUNCTIONS, is_called, members
from cellwright.scope.path_patterns import PathPatterns, Progress
from cellwright.scope.promised_classes import is_own, promised, promised_bases, returned
from cellwright.scope.rules import Place, Rules
from cellwright.scope.surfaces import NAMESPACE, SURFACE
from cellwright.scope.weak_cache import weak_cache
from cellwright_guest.wire import type_of

VISITS = 5_000  # objects and classes that one look visits, each once for each way that the rules distinguish
DEPTH = 12  # names in a path
HOLDERS = 300  # objects that are looked at again for others that they hold now
_WILD = frozenset("*?[")

Names = Callable[[], Iterable[tuple[str, Any]]]


@dataclass(slots=True)
class _Found:
    """What one look found. It keeps the objects alive: an id is only good while its object lives."""

    patterns: PathPatterns
    paths: dict[int, dict[str, None]] = field(default_factory=dict[int, dict[str, None]])
    classes: dict[type, dict[str, None]] = field(default_factory=dict[type, dict[str, None]])
    functions: dict[Any, dict[str, None]] = field(default_factory=dict[Any, dict[str, None]])
    at: dict[str, set[int]] = field(default_factory=dict[str, set[int]])  # a path: its objects; none for a class
    upstreams: set[str] = field(default_factory=set[str])  # paths of surfaces, which are not looked into
    kept: list[Any] = field(default_factory=list[Any])
    roots: dict[str, Any] = field(default_factory=dict[str, Any])
    cut: str = ""  # the path at which a bound was met
    dim: set[str] = field(default_factory=set[str])  # paths whose annotation lets any object stand there
    held: list[RuledHolder] = field(default_factory=list[RuledHolder])  # objects that hold others at ruled paths
    look: _Look | None = None


class ObjectRules:
    """For one scope's rules. Any thread may use it."""

    def __init__(self, rules: Rules, names: Names) -> None:
        self._rules = rules
        self._names = names
        self._lock = threading.RLock()
        self._found: tuple[int, _Found] | None = None
        self._warned: set[str] = set()

    def forget(self) -> None:
        """The names have changed: look again when it matters, and decide anew."""
        self._found = None
        self._rules.changed()

    def placed(self, place: Place, value: Any, others: tuple[str, ...] = (), *, renew: bool = True) -> Place:
        """The place with every path of the object of which rules speak. `others` are further paths that led to it.

        With `renew`, it is looked for anew where other objects stand at those paths now.
        """
        found = self._look()
        known = found.paths.get(id(value))
        if known is None and renew and self._look_again():
            found = self._look()
            known = found.paths.get(id(value))
        paths = dict.fromkeys((*(known or ()), *place.others, *others))
        for path in (place.path, *paths):
            paths.update(dict.fromkeys(self._alike(found, path)))
        if not paths:
            return place
        further = _distinct(found.patterns, place.path, paths)
        return place if further == place.others else replace(place, others=further)

    def class_paths(self, kind: type) -> tuple[str, ...]:
        """The paths at which annotations promise objects of this class, or of a base of it."""
        classes = self._look().classes
        bases = promised_bases(kind, tuple(classes)) if classes else ()
        return tuple(path for base in bases for path in classes.get(base, ()))

    def titles(self, function: Any) -> tuple[str, ...]:
        """The paths at which a function stands that no object of its own has: in a module, in an attribute."""
        functions = self._look().functions
        return tuple(functions.get(_identity(function), ())) if functions else ()

    def warn(self) -> None:
        """Name the rules that cannot be kept for objects, each once."""
        found = self._look()
        for rule in self._rules.listed:
            owner, _, name = rule.pattern.rpartition(".")
            if self._hides_a_name(found, rule):
                self._warned.add(rule.pattern)
                warnings.warn(
                    f"the rule {rule.pattern!r} hides the name, not the object, which other ways may give to code; "
                    f'scope.declare("{rule.pattern}.*", hide=True) hides its members',
                    stacklevel=2,
                )
            if not is_strict(rule) or rule.pattern in self._warned or not self._is_by_path(found, owner):
                continue
            self._warned.add(rule.pattern)
            warnings.warn(
                f"the rule {rule.pattern!r} holds only where code goes by this path, because nothing tells what "
                f"{owner} is before code runs. Annotate it with its class, or declare the class: "
                f'scope.declare("<Class>.{name}", …)',
                stacklevel=2,
            )
        if found.cut and "" not in self._warned:
            self._warned.add("")
            warnings.warn(
                f"the look for objects that rules name ended at {found.cut}, after {VISITS:,} objects, {ITEMS:,} items "
                f"or {DEPTH} names; beyond, rules hold by path. Name narrower paths, or classes",
                stacklevel=2,
            )

    def _hides_a_name(self, found: _Found, rule: Rule) -> bool:
        if rule.hide is not True or "." not in rule.pattern or rule.pattern in self._warned:
            return False
        title = (f"{rule.pattern}.any",)
        return bool(found.at.get(rule.pattern)) and not any(r.hide and r.covers(title) for r in self._rules.listed)

    def _is_by_path(self, found: _Found, owner: str) -> bool:
        if "." not in owner or _WILD & set(owner) or (owner in found.at and owner not in found.dim):
            return False
        root = owner.partition(".")[0]
        under = any(owner.startswith(f"{path}.") for path in found.upstreams)
        return not under and any(name == root for name, _ in self._names())

    def _look(self) -> _Found:
        known = self._found
        rules = self._rules.listed
        if known is not None and known[0] == len(rules):
            return known[1]
        with self._lock:
            rules = list(rules)
            strict = [rule.pattern for rule in rules if is_strict(rule) and not rule.general]
            patterns = list(dict.fromkeys(rule.pattern for rule in rules if not rule.general)) if strict else []
            found = _Found(PathPatterns(patterns))
            if strict:
                found.roots = dict(self._names())
                found.look = _Look(found, patterns, frozenset(strict))
                found.look.through(found.roots.items())
                for name, value in found.roots.items():
                    if id(value) in found.paths:
                        found.at.setdefault(name, set()).add(id(value))
            self._found = (len(rules), found)
            return found

    def _look_again(self) -> bool:
        """Look at the objects that have come to ruled paths since; gives whether there are any."""
        with self._lock:
            found = self._look()
            fresh = [(one, *there) for one in found.held for there in one.fresh()]
            if not fresh or found.look is None:
                return False
            if found.look.is_full:  # also of objects that are gone
                self.forget()
            else:
                found.look.on(fresh)
                self._rules.changed()
            return True

    def _alike(self, found: _Found, path: str) -> Iterator[str]:
        """The same way from the other paths of each object on it, and of the object at its end."""
        end = len(path)
        while end > 0:
            for number in tuple(found.at.get(path[:end], ())):  # another thread may add to it
                yield from (other + path[end:] for other in tuple(found.paths[number]))
            end = path.rfind(".", 0, end)


def _distinct(patterns: PathPatterns, first: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Of paths that are alike to the rules one each, and none that is like `first` or that no rule speaks of."""
    kept: dict[tuple[str, Progress], str] = {}
    for path in (first, *paths):
        progress = patterns.after(patterns.begin, path)
        if patterns.ended(progress) or patterns.after(progress, ".") or path is first:
            kept.setdefault((path.partition(".")[0], progress), path)
    return tuple(path for path in kept.values() if path != first)


def is_strict(rule: Rule) -> bool:
    """Whether a rule takes something away."""
    hides = rule.hide is True or bool(rule.hide) or rule.only is not None
    return (
        hides or rule.noted or bool(rule.read_only) or rule.facts.get("ask") is True or rule.facts.get("reads") is False
    )


class _Look:
    """One look through a scope, the shortest paths first."""

    def __init__(self, found: _Found, patterns: list[str], strict: frozenset[str]) -> None:
        self._found = found
        self._patterns = found.patterns
        # of ruled members, but for those of bound objects: no other object comes to these paths
        owners = sorted({owner for p in strict if "." in (owner := p.rpartition(".")[0])})
        self._owners = PathPatterns(owners)
        self._dots = [owner.count(".") for owner in owners]
        self._written = strict
        self._strict = frozenset(number for number, pattern in enumerate(patterns) if pattern in strict)
        self._pending: deque[tuple[Any, bool, str, Progress]] = deque()
        self._seen: set[tuple[int, bool, str, Progress]] = set()
        self._most = VISITS
        self._read: set[tuple[int, frozenset[str], str, Progress]] = set()

    def through(self, names: Iterable[tuple[str, Any]]) -> None:
        for name, value in names:
            self._add(value, name, self._patterns.after(self._patterns.begin, name))
        self._go_on()
        self._most += VISITS  # for what comes later

    @property
    def is_full(self) -> bool:
        return len(self._seen) > self._most

    def on(self, fresh: Iterable[tuple[RuledHolder, str, Any]]) -> None:
        """Objects have come to ruled paths."""
        for holder, name, value in fresh:
            self._add(value, f"{holder.path}.{name}", self._patterns.after(holder.progress, name))
        self._go_on()

    def _go_on(self) -> None:
        while self._pending:
            value, is_class, path, progress = self._pending.popleft()
            inner = self._lives(self._patterns.after(progress, "."))
            if not inner:
                continue
            if path.count(".") >= DEPTH:
                self._found.cut = self._found.cut or path
                continue
            if is_class:
                self._members(value, path, inner)
            else:
                self._inside(value, path, inner)

    def _lives(self, progress: Progress) -> Progress:
        """The progress, if some rule that takes something away can still match."""
        return progress if any(number in self._strict for number, _ in progress) else ()

    def _add(self, value: Any, path: str, progress: Progress) -> None:
        """A value that stands at a path: itself, or what it contains, because items have their container's path."""
        kind = type_of(value)
        if kind in ATOMS or not self._lives(progress):
            return
        if self.is_full:
            self._found.cut = self._found.cut or path
            return
        if issubclass(kind, type):
            self._function(value, path, progress)  # code may build it under each of its names
            return self._add_class(value, path, progress)
        if issubclass(kind, (*FUNCTIONS, functools.partial)):
            return self._function(value, path, progress)
        if self._is_behind_itself(value, path) or not self._is_new(value, False, path, progress):
            return
        items = items_of(value, kind)
        for item in items:
            self._add(item, path, progress)
        if len(items) == ITEMS and type_of(items[-1]) not in ATOMS:
            self._found.cut = self._found.cut or path
        if is_container(value):
            self._found.at.setdefault(path, set())
            self._found.kept.append(value)
            return
        if is_called(value):
            self._function(value, path, progress)
        self._found.paths.setdefault(id(value), {})[path] = None
        self._found.at.setdefault(path, set()).add(id(value))
        self._found.kept.append(value)
        if SURFACE in kind.__dict__ or NAMESPACE in kind.__dict__:
            self._found.upstreams.add(path)
        else:
            self._pending.append((value, False, path, progress))

    def _add_class(self, cls: type, path: str, progress: Progress) -> None:
        if self.is_full:
            return
        named = is_own(cls) or any(pattern.startswith(f"{path}.") for pattern in self._written)
        if named and self._lives(progress) and self._is_new(cls, True, path, progress):
            self._found.classes.setdefault(cls, {})[path] = None
            self._found.at.setdefault(path, set())
            self._found.kept.append(cls)
            self._pending.append((cls, True, path, progress))

    def _is_behind_itself(self, value: Any, path: str) -> bool:
        """Whether the path goes through the object, as a pointer back to a parent does, and no rule spells it out."""
        end = path.rfind(".")
        while end > 0:
            if id(value) in self._found.at.get(path[:end], ()):
                return not any(pattern.startswith(f"{path}.") for pattern in self._written)
            end = path.rfind(".", 0, end)
        return False

    def _is_new(self, value: Any, is_class: bool, path: str, progress: Progress) -> bool:
        key = (id(value), is_class, path.partition(".")[0], progress)
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _function(self, function: Any, path: str, progress: Progress) -> None:
        if self._patterns.ended(progress):
            self._found.functions.setdefault(_identity(function), {})[path] = None
            self._found.kept.append(function)

    def _inside(self, value: Any, path: str, inner: Progress) -> None:
        kind = type_of(value)
        held = held_in(value, kind)
        if not issubclass(kind, types.ModuleType):
            names = frozenset(name for name in _described(kind) if held.get(name) is not None)
            key = (id(kind), names, path.partition(".")[0], inner)
            if key not in self._read:  # of many objects of one class alike to the rules one is enough
                self._read.add(key)
                self._members(kind, path, inner, names)
        there = self._owners.after(self._owners.begin, f"{path}.")
        if there and len(self._found.held) < HOLDERS:
            is_ruled = functools.partial(self._leads, there)
            ruled = RuledHolder(value, kind, path, inner, is_ruled)
            near = any(self._dots[number] == path.count(".") + 1 for number, _ in there)
            if near or not ruled.is_empty or not self._owners.is_wild(there):
                self._found.held.append(ruled)
        for name, there in held.items():
            self._add(there, f"{path}.{name}", self._patterns.after(inner, name))

    def _leads(self, there: Progress, name: str) -> bool:
        return self._owners.leads(self._owners.after(there, name))

    def _members(self, cls: type, path: str, inner: Progress, held: frozenset[str] = frozenset()) -> None:
        """The members of a class, by what their annotations promise."""
        for name, member in members(cls).items():
            progress = self._lives(self._patterns.after(inner, name))
            if not progress or name in held:
                continue
            whole, raw = f"{path}.{name}", member.value
            if member.kind != "property":
                self._function(raw, whole, progress)
            elif not hasattr(type_of(raw), "__get__"):
                self._add(raw, whole, progress)  # an object that the class itself has
                continue
            self._promised(returned(raw), cls, whole, progress)
        for name in _described(cls) - members(cls).keys() - held:
            progress = self._lives(self._patterns.after(inner, name))
            if progress:
                self._promised(type_hints(cls).get(name), cls, f"{path}.{name}", progress)

    def _promised(self, hint: Any, owner: type, path: str, progress: Progress) -> None:
        for cls in promised(hint, owner):
            if cls is None:
                self._found.dim.add(path)
            else:
                self._add_class(cls, path, progress)


@weak_cache
def _described(cls: type) -> frozenset[str]:
    """The public names that a class defines or annotates."""
    annotated = (name for base in cls.__mro__[:-1] for name in inspect.get_annotations(base))
    return frozenset((*members(cls), *(name for name in annotated if not name.startswith("_"))))


def _identity(function: Any) -> Any:
    """A key of the function itself; of a method, with its object. Of a partial, that of its function."""
    while type_of(function) is functools.partial:
        function = function.func
    if type_of(function) in (types.MethodType, staticmethod, classmethod):
        return id(function.__func__), id(getattr(function, "__self__", None))
    if type_of(function) is types.BuiltinFunctionType and not isinstance(function.__self__, types.ModuleType | None):
        return function.__name__, id(function.__self__)  # made anew at each access
    return id(function)
