"""Declares a policy as rules of a scope: a denied operation is hidden from code and search, others wait for a yes.

An operation of a source that never changes is decided about once, and the decisions are declared in as few patterns as
possible. An operation of a source that may change is decided about when it is called. What depends on arguments, labels
or the user is decided at the door: here an operation gets the mildest action that a call of it may get. This module
knows no client, and changes nothing of a scope but its rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from cellwright.catalog import Catalog
from cellwright.guard import Action, Policy, PolicyRule, PolicySubject, is_destructive
from cellwright.scope import Scope, Surface, UpstreamOperation, callables, class_names, kind_of, surface_of

MANY = 200  # patterns for one source; each is tried for each operation


def apply_policy(
    policy: Policy, scope: Scope, *, keep: tuple[str, ...] = (), fixed: Collection[str] = ()
) -> frozenset[str]:
    """Declare the policy for everything in `scope`; returns the operations that ask by rule, and get a yes by policy.

    `keep` are names that the policy does not cover; `fixed` are sources whose operations never change.
    """
    sources = {name: surface_of(value) for name, value in scope.names() if name not in keep}
    asked = {name: list(operations(scope, name)) for name in sources}  # before anything is hidden
    plain = [name for name, surface in sources.items() if surface is None]
    if plain and not policy.allows_all:
        decided: dict[str, Action] = {one.name: policy.mildest(one) for name in plain for one in asked[name]}
        _declare_plain(policy, scope, decided, frozenset(sources) - frozenset(plain))
        for name in keep:
            scope.declare(name, hide=False, ask=False)
    granted: set[str] = set()
    for name, surface in sources.items():
        if surface is None:
            continue
        if name not in fixed:
            _declare_changing(policy, scope, name, surface)
        elif not policy.allows_all:
            granted |= _declare_surface(
                scope, name, {one.name: policy.mildest(one) for one in asked[name]}, asked[name]
            )
    return frozenset(granted)


def operations(scope: Scope, name: str) -> Iterator[PolicySubject]:
    """The operations of one bound name."""
    surface = surface_of(scope.get(name))
    if surface is None:
        for one in callables(scope):
            if one.path == name or one.path.startswith(f"{name}."):
                yield PolicySubject(name=one.path, reads=one.operation.reads, destructive=is_destructive(one.path))
        for cls, path in class_names(scope).items():
            if _does_work(cls) and (path == name or path.startswith(f"{name}.")):
                yield PolicySubject(name=path, destructive=is_destructive(path))
        return
    for one in surface.listed():
        yield _asked(name, one)


def _does_work(cls: type) -> bool:
    """Whether building the class may do something: plain data, errors and Python's own types do not."""
    return kind_of(cls) == "handle" and not issubclass(cls, BaseException) and cls.__module__ != "builtins"


def _asked(source: str, one: UpstreamOperation) -> PolicySubject:
    path = f"{source}.{one.path}"
    return PolicySubject(name=path, reads=one.reads, destructive=is_destructive(path, one.line.doc))


def _returned(policy: Policy, scope: Scope) -> dict[str, Action]:
    """Methods of classes whose objects only calls return: nothing declares that they read, so they count as writes."""
    found: dict[str, Action] = {}
    for shape in Catalog(scope).offer.shapes.values():
        if shape.kind == "handle" and not shape.standard:
            for line in shape.lines:
                title = f"{shape.name}.{line.name}"
                if line.callable and not line.name.startswith("_"):
                    asked = PolicySubject(name=title, destructive=is_destructive(title, line.doc))
                    found[title] = policy.mildest(asked)
    return found


def _declare_plain(policy: Policy, scope: Scope, decided: Mapping[str, Action], upstreams: Collection[str]) -> None:
    """Python objects: the patterns of the policy, which cover objects that calls return too; then the exceptions."""

    def is_plain(path: str) -> bool:
        return path.partition(".")[0] not in upstreams

    def writes(action: Action) -> Callable[[str], bool]:
        """Also for accesses that no list has: setting, deleting, methods of objects whose class no annotation names."""

        def holds(path: str) -> bool:
            destructive = is_destructive(path) or path.endswith(".delitem")
            return is_plain(path) and policy.mildest(PolicySubject(name=path, destructive=destructive)) == action

        return holds

    scope.rules.add("*", read_only=True, when=writes("deny"))
    scope.rules.add("*", read_only="ask", when=writes("ask"))
    for rule in policy.rules:
        if rule.action != "allow" and rule.operation != "*":  # said of these paths, so it holds for their objects
            read_only: bool | Literal["ask"] = True if rule.action == "deny" else "ask"
            scope.rules.add(rule.operation, read_only=read_only, when=writes(rule.action))
    for cls, path in class_names(scope).items():
        named = any(rule.operation != "*" and rule.covers_operation(PolicySubject(name=path)) for rule in policy.rules)
        if is_plain(path) and not named and not _does_work(cls):
            scope.declare(path, reads=True)
    returned = _returned(policy, scope)
    of_classes = {title.rpartition(".")[2] for title, action in returned.items() if action != "allow"}
    written = [
        rule for rule in policy.rules if rule.kind is None and not rule.has_conditions and rule.action != "allow"
    ]
    if policy.unlisted("\0", reads=True) == "deny":  # writes are refused by the rules above, and this hides the rest
        written.append(PolicyRule(action="deny"))
    for rule in reversed(written):
        scope.rules.add(rule.operation, when=is_plain, **_facts(rule.action))

    def is_covered(path: str) -> bool:
        of_class = path.rpartition(".")[2] in of_classes  # a rule for the class covers this method too
        return of_class or any(rule.covers_operation(PolicySubject(name=path)) for rule in written)

    for title, action in returned.items():
        if action != "allow":
            scope.declare(title, **_facts(action))
    for path in filter(is_covered, _spaces(decided)):
        scope.declare(path, hide=False, ask=False)
    for path, action in decided.items():
        if action != "deny" and is_covered(path):  # it was visible before: this does not undo what a preset hides
            scope.declare(path, hide=False, ask=action == "ask")
        elif action != "allow":
            scope.declare(path, **_facts(action))


def _declare_changing(policy: Policy, scope: Scope, name: str, surface: Surface) -> None:
    """An upstream whose operations may change at any time: an operation is decided about when it is called."""

    def now(test: Callable[[UpstreamOperation], bool]) -> Callable[[str], bool]:
        def holds(path: str) -> bool:
            found = surface.find(path.removeprefix(f"{name}.")) if path.startswith(f"{name}.") else None
            return found is not None and test(found)

        return holds

    def acts(action: Action) -> Callable[[str], bool]:
        return now(lambda one: policy.mildest(_asked(name, one)) == action)

    scope.rules.watch(lambda: surface.key)
    # the class of the namespace has the operations of the time when it was made
    scope.rules.add(f"{name}.*", reads=True, when=now(lambda one: one.reads))
    scope.rules.add(f"{name}.*", reads=False, when=now(lambda one: not one.reads))
    scope.rules.add(f"{name}.*", hide=True, when=acts("deny"))
    scope.rules.add(f"{name}.*", ask=True, when=acts("ask"))


def _declare_surface(
    scope: Scope, name: str, decided: Mapping[str, Action], asked: Sequence[PolicySubject]
) -> set[str]:
    """An upstream whose operations never change."""
    if all(one.reads or decided[one.name] == "deny" for one in asked):
        scope.declare(f"{name}.*", read_only=True)
        decided = {one.name: decided[one.name] for one in asked if one.reads}
    patterns = compressed(name, decided, "allow")
    if len(patterns) > MANY:
        return _ask_for_all(scope, name, decided)
    for pattern, action in patterns:
        scope.declare(pattern, hide=action == "deny", ask=action == "ask")
    return set()


def _ask_for_all(scope: Scope, name: str, decided: Mapping[str, Action]) -> set[str]:
    """One rule that asks for all, where too many patterns would say which: the others get their yes by policy."""
    scope.declare(f"{name}.*", ask=True)
    denied: dict[str, Action] = {path: "deny" if action == "deny" else "allow" for path, action in decided.items()}
    for pattern, action in compressed(name, denied, "allow"):
        scope.declare(pattern, hide=action == "deny")
    spaces = (f"get {space}" for space in _spaces(decided))
    return {*spaces, *(path for path, action in decided.items() if action == "allow")}


def _facts(action: Action) -> dict[str, Any]:
    return {"hide": True} if action == "deny" else {"ask": action == "ask"}


def _spaces(decided: Mapping[str, Action]) -> list[str]:
    """The bound name and the namespaces on the way to the operations that are not denied."""
    found: dict[str, None] = {}
    for path, action in decided.items():
        parts = path.split(".")
        if action != "deny":
            found.update(dict.fromkeys(".".join(parts[:end]) for end in range(1, len(parts))))
    return [space for space in found if space not in decided]  # a path that is an operation too is decided as one


def compressed(source: str, decided: Mapping[str, Action], base: Action) -> list[tuple[str, Action]]:
    """The decisions that differ from `base`, in few patterns: one for most operations of a verb, then the others."""
    by_verb: dict[str, list[str]] = {}
    middles: set[str] = set()
    for path in decided:
        parts = path.split(".")
        by_verb.setdefault(_verb(parts[-1]), []).append(path)
        middles.update(_verb(part) for part in parts[1:-1])
    found: list[tuple[str, Action]] = []
    for verb, paths in by_verb.items():
        counts: Counter[Action] = Counter(decided[path] for path in paths)
        most, number = counts.most_common(1)[0]
        deep = verb not in middles and all(path.count(".") > 1 for path in paths)  # else it covers others too
        if most != base and deep and 2 + len(paths) - number < len(paths) - counts[base]:
            forms: list[tuple[str, Action]] = [(f"{source}.*.{verb}", most), (f"{source}.*.{verb}_*", most)]
            found += forms
        else:
            most = base
        found.extend((path, decided[path]) for path in paths if decided[path] != most)
    return found


def _verb(name: str) -> str:
    return name.partition("_")[0]
