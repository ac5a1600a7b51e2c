"""The whole scope as one `.pyi` module, which a type checker checks cells against.

Every bound name is there, and every class that their signatures lead to. Only bound names are exported. It is made from
the classes and the objects as they are; no property is read and nothing is called.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cellwright.scope.annotations import ALIAS, ANY, PLAIN, Speller, Where, is_standard
from cellwright.scope.attributes import held_by
from cellwright.scope.class_text import ClassText
from cellwright.scope.classes import is_builtin, kind_of
from cellwright.scope.function_text import function_lines
from cellwright.scope.members import FUNCTIONS, members, module_members
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Place
from cellwright.scope.scope import Scope
from cellwright.scope.surfaces import surface_of
from cellwright_guest import hints
from cellwright_guest.wire import type_of

CLASSES = 400  # what stands further away is Any: a data frame leads to half of its library
DEPTH = 4
SAMPLE = 100
_FUNCTIONS = (*FUNCTIONS, functools.partial)
# a mutable container that guest code hands over may hold less than it is declared to: `[1, 2]` for `list[float]`
PRELUDE = """
_cellwright_item = _typing.TypeVar("_cellwright_item")
_cellwright_key = _typing.TypeVar("_cellwright_key")
_list = _typing_extensions.TypeAliasType(
    "_list",
    _ty_extensions.Intersection[_builtins.list[_typing.Any], _abc.Sequence[_cellwright_item]],
    type_params=(_cellwright_item,),
)
_set = _typing_extensions.TypeAliasType(
    "_set",
    _ty_extensions.Intersection[_builtins.set[_typing.Any], _abc.Set[_cellwright_item]],
    type_params=(_cellwright_item,),
)
_dict = _typing_extensions.TypeAliasType(
    "_dict",
    _ty_extensions.Intersection[
        _builtins.dict[_typing.Any, _typing.Any], _abc.Mapping[_cellwright_key, _cellwright_item]
    ],
    type_params=(_cellwright_key, _cellwright_item),
)
class _Hidden:
    \"\"\"What this scope does not show.\"\"\"
"""


def scope_stubs(
    scope: Scope, names: Mapping[str, str] | None = None, upstreams: Mapping[str, str] | None = None
) -> str:
    """One module with a stub for each bound name. `names` adds others: each name with its stub's own lines.

    `upstreams` has the line for each name that is an upstream's: where its stubs are. Without one it is `Any`.
    """
    return StubModule(scope, names or {}, upstreams).text()


class StubModule:
    """Collects classes while their users are written, until nothing new is mentioned."""

    def __init__(self, scope: Scope, extra: Mapping[str, str], upstreams: Mapping[str, str] | None = None) -> None:
        self._upstreams = upstreams or {}
        self.rules = scope.rules
        self.speller = Speller(self.refer)
        self.seen: dict[type, list[Any]] = {}
        self.written: dict[str, type] = {}  # the classes that have text, by their names in it
        self._scope = scope
        self._extra = extra
        self.bound = {name for name, _ in scope.names()} | set(extra)
        self._named: dict[tuple[type, Any], str] = {}
        self._asked: dict[tuple[type, str], str] = {}
        self._taken = set(self.bound)
        self._pending: list[tuple[type, str, str]] = []
        self._modules: list[str] = []

    def text(self) -> str:
        for name, value in self._scope.names():
            if surface_of(value) is not None:  # it tells what it offers itself
                continue
            self._look(value, 0)
            if isinstance(value, type):  # first, so that a bound class has its own name
                self._reserve(value, name)
        body = [line for name, value in self._scope.names() for line in self._bind(name, value)]
        classes: list[str] = []
        while self._pending:
            cls, named, path = self._pending.pop(0)
            self.written[named] = cls
            classes += [*ClassText(self, cls, named, path).lines(), ""]
        self.speller.imports |= {"dataclasses", "enum", "ty_extensions", "typing_extensions"}
        exported = f"__all__ = {sorted(self.bound)!r}"
        parts = (*self.speller.lines(), exported, PRELUDE, *self._modules, *classes, *body, *self._extra.values())
        text = self._answered("\n".join(parts))
        aliases = [f"{ALIAS}{named} = {named}" for named in sorted(self.speller.aliased)]
        return "\n".join((text, *aliases)) + "\n"

    @property
    def shadowed(self) -> frozenset[str]:
        """Bound names that hide a builtin of the same name, or a class."""
        return frozenset(self.bound - set(self._named.values()))

    # which class has which name

    def refer(self, cls: type, where: Where) -> str | None:
        """The name of a class in the module; None: it is the standard library's, or one too many."""
        if is_builtin(cls) or getattr(cls, "_is_protocol", False):
            return None
        hidden = self.hidden(cls, where.path)
        if is_standard(cls) and not (hidden and self.speller.home(cls)):
            return None
        if kind_of(cls) == "handle" and issubclass(cls, PLAIN):
            return None
        key = self._key(cls, hidden, where.path)
        known = self._named.get(key)
        if known is None and len(self._named) < CLASSES:
            known = self._named[key] = self._free(cls)
            self._pending.append((cls, known, where.path))
        if known is None or not where.given or key[1] is None:
            return known
        return self._any_of(cls, ALIAS if known in where.shadowed else "")

    def _key(self, cls: type, hidden: tuple[str, ...], path: str) -> tuple[type, Any]:
        """A class that shows other members in another place, or leads to such, is written once for each."""
        if kind_of(cls) != "handle":
            return cls, None
        root = path.partition(".")[0]
        return cls, (hidden, root if self.rules.narrows(root) else "")

    def _any_of(self, cls: type, before: str) -> str:
        """Stands for all that a class is written as, until that is known: a function takes the object from anywhere."""
        return self._asked.setdefault((cls, before), f"_any_of_{len(self._asked)}_")

    def _answered(self, text: str) -> str:
        for (cls, before), mark in self._asked.items():
            known = [named for key, named in self._named.items() if key[0] is cls]
            self.speller.aliased |= set(known) if before else set()
            text = text.replace(mark, " | ".join(f"{before}{named}" for named in known))
        return text

    def hidden(self, cls: type, path: str) -> tuple[str, ...]:
        """The members that this scope does not show, or refuses to call, on objects of the class in that place."""
        place = Place(path, cls)
        found: list[str] = []
        for name, member in members(cls).items():
            verdict = self.rules.verdict(place, name, data=member.kind == "property")
            if not verdict.visible:
                found.append(name)
            elif verdict.read_only and member.kind != "property":
                found += [] if self.rules.facts(place, name, facts_of(member.value)).reads else [name]
        return tuple(found)

    def _reserve(self, cls: type, name: str) -> None:
        path = self._scope.path(name)
        hidden = self.hidden(cls, path)
        if is_builtin(cls) or (is_standard(cls) and not hidden) or cls.__name__ != name:
            return
        key = self._key(cls, hidden, path)
        if key not in self._named:
            self._named[key] = name
            self._pending.append((cls, name, path))

    def _free(self, cls: type) -> str:
        wanted = cls.__name__ if cls.__name__.isidentifier() else "Unnamed"
        module = str(cls.__module__).rpartition(".")[2]
        tries = (wanted, f"{module}_{wanted}", *(f"{wanted}_{n}" for n in range(2, CLASSES + 3)))
        named = next(n for n in tries if n not in self._taken and not hasattr(builtins, n))
        self._taken.add(named)
        return named

    # what is bound

    def _bind(self, name: str, value: Any) -> Iterator[str]:
        where = Where(path=self._scope.path(name), shadowed=self.shadowed)
        if surface_of(value) is not None:
            yield self._upstreams.get(name, f"{name}: {ANY}")
        elif isinstance(value, type) or hints.is_expression(value):
            spelled = self.speller.spell(value, where)
            if spelled != name:
                yield f"{name} = {spelled}" if spelled != ANY else f"{name}: {ANY}"
        elif isinstance(value, types.ModuleType):
            yield from self._module(name, value)
        elif isinstance(value, _FUNCTIONS) or (callable(value) and hasattr(value, "__name__")):
            home = self.speller.home(value)
            yield from [f"{name} = {home}"] if home else function_lines(self.speller, value, name, where)
        else:
            yield f"{name}: {self.value(value, where)}"

    def _module(self, name: str, module: types.ModuleType) -> Iterator[str]:
        path = self._scope.path(name)
        place = Place(path, types.ModuleType)
        shown = {
            n: v
            for n, v in module_members(module).items()
            if self.rules.verdict(place, n, data=not callable(v)).visible and not self._refused(place, n, v)
        }
        standard = module.__name__.partition(".")[0]
        if is_standard(types.SimpleNamespace(__module__=standard)) and len(shown) == len(module_members(module)):
            yield f"import {module.__name__} as {name}"
            return
        lines = [f"class _module_{name}:"]
        shadowed = self.shadowed | set(shown)
        for member, value in shown.items():
            where = Where(path=f"{path}.{member}", shadowed=shadowed)
            if isinstance(value, type):
                spelled = self.speller.spell(value, where)
                lines.append(f"    {member}: {f'_builtins.type[{spelled}]' if spelled != ANY else ANY}")
            elif isinstance(value, _FUNCTIONS):
                made = function_lines(self.speller, value, member, where, mark="@_builtins.staticmethod")
                lines += [f"    {line}" for line in made]
            else:
                lines.append(f"    {member}: {self.value(value, where)}")
        self._modules += [*lines, "    ..."]
        yield f"{name}: _module_{name}"

    def _refused(self, place: Place, name: str, value: Any) -> bool:
        read_only = isinstance(value, _FUNCTIONS) and self.rules.verdict(place, name).read_only
        return read_only and not self.rules.facts(place, name, facts_of(value)).reads

    def value(self, value: Any, where: Where, depth: int = 0) -> str:
        """The type of an object that is there."""
        kind = type_of(value)
        if depth > DEPTH or isinstance(value, (type, types.ModuleType, *_FUNCTIONS)):
            return ANY
        if kind in (list, set, frozenset):
            return f"{self.speller.builtin(kind.__name__, where)}[{self._one(value, where, depth)}]"
        if kind is dict:
            pair = f"{self._one(value, where, depth)}, {self._one(value.values(), where, depth)}"
            return f"{self.speller.builtin('dict', where)}[{pair}]"
        if kind is tuple:
            inner = ", ".join(self.value(part, where, depth + 1) for part in value[:SAMPLE]) or "()"
            return f"{self.speller.builtin('tuple', where)}[{inner if len(value) <= SAMPLE else f'{ANY}, ...'}]"
        return self.speller.spell(kind, where)

    def _one(self, values: Iterable[Any], where: Where, depth: int) -> str:
        """The type that all of them have."""
        found: set[str] = set()
        for value, _ in zip(values, range(SAMPLE), strict=False):
            found.add(self.value(value, where, depth + 1))
        return found.pop() if len(found) == 1 else ANY

    def _look(self, value: Any, depth: int) -> None:
        """Keeps instances by class: what they hold is what the class's annotations may not say."""
        kind = type_of(value)
        if depth > DEPTH or is_builtin(kind) or isinstance(value, (type, types.ModuleType, *_FUNCTIONS)):
            return
        known = self.seen.setdefault(kind, [])
        if len(known) < SAMPLE and not any(value is other for other in known):
            known.append(value)
            for part in held_by(value).values():
                self._look(part, depth + 1)
