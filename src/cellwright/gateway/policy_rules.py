"""Declares a policy as rules of a scope: what it denies whatever the arguments is hidden from code and search.

The guard decides about each call at the door. Here an operation gets the mildest action that a call of it may get. What
is hidden of a source that never changes is looked up once, and declared in as few patterns as possible; of a source
that may change it is looked up at each use. This module knows no client, and changes nothing of a scope but its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from cellwright.catalog import Catalog
from cellwright.guard import Policy, PolicySubject, is_destructive
from cellwright.scope import Scope, Surface, UpstreamOperation, callables, class_names, kind_of, surface_of


def apply_policy(policy: Policy, scope: Scope, *, keep: tuple[str, ...] = (), fixed: Collection[str] = ()) -> None:
    """Declare the policy for everything in `scope`.

    `keep` are names that the policy does not cover; `fixed` are sources whose operations never change.
    """
    sources = {name: surface_of(value) for name, value in scope.names() if name not in keep}
    asked = {name: list(operations(scope, name)) for name in sources}  # before anything is hidden
    returned = list(_returned(scope))
    for name, surface in sources.items():
        if surface is not None and name not in fixed:
            _declare_changing(policy, scope, name, surface)
        elif surface is not None and not policy.allows_all:
            _declare_surface(policy, scope, name, asked[name])
    plain = [one for name in sources if sources[name] is None for one in asked[name]]
    left = {one.name.rpartition(".")[2] for one in plain if policy.mildest(one) != "deny"}
    for one in (*plain, *(one for one in returned if one.name.rpartition(".")[2] not in left)):
        if policy.mildest(one) == "deny":
            scope.declare(one.name, hide=True)
    _declare_classes(policy, scope, sources)


def _declare_classes(policy: Policy, scope: Scope, bound: Collection[str]) -> None:
    """Rules that name a class instead of a source: fields of plain data are read without a call, so they are hidden."""
    named = [rule for rule in policy.rules if rule.kind is None and not rule.has_conditions]
    denied = False
    for rule in reversed(named):  # the first rule of a policy decides, the last of a scope
        root = rule.operation.partition(".")[0]
        if root.isidentifier() and root not in bound and (denied or rule.action == "deny"):
            denied = True
            scope.declare(rule.operation, hide=rule.action == "deny")


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
    return PolicySubject(name=path, reads=one.reads, destructive=one.destroys or is_destructive(path))


def _returned(scope: Scope) -> Iterator[PolicySubject]:
    """Methods of classes whose objects only calls return: nothing declares that they read, so they count as writes."""
    for shape in Catalog(scope).offer.shapes.values():
        if shape.kind == "handle" and not shape.standard:
            for line in shape.lines:
                title = f"{shape.name}.{line.name}"
                if line.callable and not line.name.startswith("_"):
                    yield PolicySubject(name=title, destructive=is_destructive(title))


def _declare_changing(policy: Policy, scope: Scope, name: str, surface: Surface) -> None:
    """An upstream whose operations may change at any time: an operation is decided about when it is called."""

    def now(test: Callable[[UpstreamOperation], bool]) -> Callable[[str], bool]:
        def holds(path: str) -> bool:
            found = surface.find(path.removeprefix(f"{name}.")) if path.startswith(f"{name}.") else None
            return found is not None and test(found)

        return holds

    scope.rules.watch(lambda: surface.key)
    # the class of the namespace has the operations of the time when it was made
    scope.rules.add(f"{name}.*", reads=True, when=now(lambda one: one.reads))
    scope.rules.add(f"{name}.*", reads=False, when=now(lambda one: not one.reads))
    scope.rules.add(f"{name}.*", hide=True, when=now(lambda one: policy.mildest(_asked(name, one)) == "deny"))


def _declare_surface(policy: Policy, scope: Scope, name: str, asked: Sequence[PolicySubject]) -> None:
    """An upstream whose operations never change."""
    denied = {one.name: policy.mildest(one) == "deny" for one in asked}
    if all(one.reads or denied[one.name] for one in asked):
        scope.declare(f"{name}.*", read_only=True)
        denied = {one.name: denied[one.name] for one in asked if one.reads}
    for pattern, hidden in compressed(name, denied):
        scope.declare(pattern, hide=hidden)


def compressed(source: str, denied: Mapping[str, bool]) -> list[tuple[str, bool]]:
    """What is denied, in few patterns: one for most operations of a verb, then its exceptions."""
    by_verb: dict[str, list[str]] = {}
    middles: set[str] = set()
    for path in denied:
        parts = path.split(".")
        by_verb.setdefault(_verb(parts[-1]), []).append(path)
        middles.update(_verb(part) for part in parts[1:-1])
    found: list[tuple[str, bool]] = []
    for verb, paths in by_verb.items():
        number = sum(denied[path] for path in paths)
        deep = verb not in middles and all(path.count(".") > 1 for path in paths)  # else it covers others too
        most = deep and 2 + len(paths) - number < number
        found += [(f"{source}.*.{verb}", True), (f"{source}.*.{verb}_*", True)] if most else []
        found.extend((path, denied[path]) for path in paths if denied[path] != most)
    return found


def _verb(name: str) -> str:
    return name.partition("_")[0]
