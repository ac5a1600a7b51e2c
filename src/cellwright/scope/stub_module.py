"""The whole scope as one `.pyi` module, which a type checker checks cells against.

Every bound name is there, and every class that their signatures lead to. Only bound names are exported. It is made from
the classes and the objects as they are; no property is read and nothing is called.
"""

from __future__ import annotations

import builtins
import functools
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from cellwright.scope.annotations import ALIAS, ANY, PLAIN, Speller, Where, function_declaration, is_standard
from cellwright.scope.attributes import held_by
from cellwright.scope.class_reader import ClassReader
from cellwright.scope.classes import is_builtin, kind_of
from cellwright.scope.declarations import Declaration, Shape
from cellwright.scope.members import FUNCTIONS, members, module_members
from cellwright.scope.operations import facts_of
from cellwright.scope.rules import Place
from cellwright.scope.scope import Scope
from cellwright.scope.signatures import Signature
from cellwright.scope.surfaces import surface_of
from cellwright_guest import hints
from cellwright_guest.wire import type_of

CLASSES = 400  # what stands further away is Any: a data frame leads to half of its library
DEPTH = 4
SAMPLE = 100
_MARK = re.compile(r"_any_of_\d+_")
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


def scope_stubs(scope: Scope) -> str:
    """The scope as one module with a stub for each bound name."""
    return StubModule(scope).text()


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedName:
    """A name that cells have besides those of the scope. `before`: the lines that its declaration needs."""

    line: Declaration
    before: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedFunction:
    """A function as it stands in the module's text: its class, "" for none, and the overload that is meant."""

    owner: str
    line: Declaration
    signature: Signature


class StubModule:
    """The names of a scope and the classes they lead to: read as values, then written as one module.

    `added` are further names. `upstreams` has the line for each name that is an upstream's: where its stubs are.
    Without one it is `Any`. `speller` spells the types; classes are collected while their users are read, until nothing
    new is mentioned.
    """

    def __init__(
        self,
        scope: Scope,
        added: Mapping[str, AddedName] | None = None,
        upstreams: Mapping[str, str] | None = None,
        *,
        speller: type[Speller] = Speller,
    ) -> None:
        self._upstreams = upstreams or {}
        self.rules = scope.rules
        self.speller = speller(self.refer)
        self.seen: dict[type, list[Any]] = {}
        self.classes: dict[str, type] = {}  # those that are written, by their names in the module
        self.shapes: dict[str, Shape] = {}
        self.names: dict[str, Declaration] = {}  # what is bound; not a class that stands there under its own name
        self.functions: dict[int, PlacedFunction] = {}  # by the line of the text, counted from 1
        self._scope = scope
        self.added = dict(added or {})
        self.bound = {name for name, _ in scope.names()} | set(self.added)
        self._named: dict[tuple[type, Any], str] = {}
        self._asked: dict[tuple[type, str], str] = {}
        self._taken = set(self.bound)
        self._pending: list[tuple[type, str, str]] = []
        self._read()

    def _read(self) -> None:
        for name, value in self._scope.names():
            if surface_of(value) is not None:  # it tells what it offers itself
                continue
            self._look(value, 0)
            if isinstance(value, type):  # first, so that a bound class has its own name
                self._reserve(value, name)
        for name, value in self._scope.names():
            bound = self._bind(name, value)
            if bound is not None:
                self.names[name] = bound
        while self._pending:
            cls, named, path = self._pending.pop(0)
            self.classes[named] = cls
            self.shapes[named] = ClassReader(self, cls, named, path).shape()
        if self._asked:
            self._answer()

    def text(self) -> str:
        """The module as a type checker reads it."""
        self.speller.imports |= {"dataclasses", "enum", "ty_extensions", "typing_extensions"}
        lines = [*self.speller.lines(), f"__all__ = {sorted(self.bound)!r}", *PRELUDE.split("\n")]
        modules = [shape for shape in self.shapes.values() if shape.kind == "module"]
        for shape in (*modules, *(shape for shape in self.shapes.values() if shape.kind != "module")):
            lines += [shape.mark] if shape.mark else []
            lines.append(f"class {shape.name}({', '.join(shape.bases)}):" if shape.bases else f"class {shape.name}:")
            for line in shape.lines:
                self._write(line, lines, shape.name)
            open_ended = shape.kind in ("handle", "error", "enum", "module") and not shape.standard
            lines += ["    ..."] if open_ended or not shape.lines else []
            lines += [""] if shape.kind != "module" else []
        for line in self.names.values():
            self._write(line, lines)
        for added in self.added.values():
            lines += added.before.splitlines()
            self._write(added.line, lines)
        lines += [f"{ALIAS}{named} = {named}" for named in sorted(self.speller.aliased)]
        return "\n".join(lines) + "\n"

    def _write(self, line: Declaration, lines: list[str], owner: str = "") -> None:
        indent = "    " if owner else ""
        mark = f"{indent}{line.mark.replace('@', '@_builtins.')}"
        if line.mark == "@property":
            property_ = Signature(returns=line.type)
            self.functions[len(lines) + 2] = PlacedFunction(owner=owner, line=line, signature=property_)
            lines += [mark, f"{indent}def {line.name}{property_.text('self')}: ..."]
        elif not line.callable:
            lines.append(indent + (line.text or f"{line.name}: {line.type}{' = ...' if line.default else ''}"))
        for one in line.signatures:
            lines += [f"{indent}@_typing.overload"] if len(line.signatures) > 1 else []
            lines += [mark] if line.mark else []
            lines.append(f"{indent}{'async ' if one.is_async else ''}def {line.name}{one.text(line.first)}: ...")
            self.functions[len(lines)] = PlacedFunction(owner=owner, line=line, signature=one)

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

    def _answer(self) -> None:
        """Writes the union of its classes wherever a mark stands for them."""
        unions: dict[str, str] = {}
        for (cls, before), mark in self._asked.items():
            known = [named for key, named in self._named.items() if key[0] is cls]
            self.speller.aliased |= set(known) if before else set()
            unions[mark] = " | ".join(f"{before}{named}" for named in known)

        def answered(text: str) -> str:
            return _MARK.sub(lambda found: unions[found[0]], text) if "_any_of_" in text else text

        self.names = {name: line.with_types(answered) for name, line in self.names.items()}
        for name, shape in self.shapes.items():
            self.shapes[name] = replace(shape, lines=tuple(line.with_types(answered) for line in shape.lines))
        self.speller.variables = {n: (v, answered(text)) for n, (v, text) in self.speller.variables.items()}

    def hidden(self, cls: type, path: str) -> tuple[str, ...]:
        """The members that this scope does not show, or refuses to call, on objects of the class in that place."""
        if is_standard(cls) and issubclass(cls, PurePath):
            return ()  # paths cross as copies, whatever a held one of a derived class shows
        place = self.rules.placed(Place(path, cls), None)
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
        named = re.sub(r"\W+", "_", cls.__name__).strip("_")  # `Page_Item`, of pydantic's `Page[Item]`
        wanted = named if named.isidentifier() else "Unnamed"
        module = str(cls.__module__).rpartition(".")[2]
        tries = (wanted, f"{module}_{wanted}", *(f"{wanted}_{n}" for n in range(2, CLASSES + 3)))
        named = next(n for n in tries if n not in self._taken and not hasattr(builtins, n))
        self._taken.add(named)
        return named

    # what is bound

    def _bind(self, name: str, value: Any) -> Declaration | None:
        where = Where(path=self._scope.path(name), shadowed=self.shadowed)
        if surface_of(value) is not None:
            return Declaration(name=name, type=ANY, text=self._upstreams.get(name, ""))
        if isinstance(value, type) or hints.is_expression(value):
            spelled = self.speller.spell(value, where)
            text = f"{name} = {spelled}" if spelled != ANY else ""
            return Declaration(name=name, type=ANY, text=text) if spelled != name else None
        if isinstance(value, types.ModuleType):
            return self._module(name, value)
        if isinstance(value, _FUNCTIONS) or (callable(value) and hasattr(value, "__name__")):
            home = self.speller.home(value)
            alias = Declaration(name=name, text=f"{name} = {home}")
            return alias if home else function_declaration(self.speller, value, name, where)
        return Declaration(name=name, type=self.value(value, where))

    def _module(self, name: str, module: types.ModuleType) -> Declaration:
        path = self._scope.path(name)
        place = self.rules.placed(Place(path, types.ModuleType), None)
        shown = {n: v for n, v in self.rules.of_module(place, module).items() if not self._refused(place, n, v)}
        standard = module.__name__.partition(".")[0]
        if is_standard(types.SimpleNamespace(__module__=standard)) and len(shown) == len(module_members(module)):
            return Declaration(name=name, text=f"import {module.__name__} as {name}")
        shadowed = self.shadowed | set(shown)
        lines = [
            self._module_member(member, value, Where(path=f"{path}.{member}", shadowed=shadowed))
            for member, value in shown.items()
        ]
        named = f"_module_{name}"
        self.shapes[named] = Shape(name=named, kind="module", lines=tuple(lines))
        return Declaration(name=name, type=named)

    def _module_member(self, member: str, value: Any, where: Where) -> Declaration:
        if isinstance(value, type):
            spelled = self.speller.spell(value, where)
            return Declaration(name=member, type=f"_builtins.type[{spelled}]" if spelled != ANY else ANY)
        if isinstance(value, _FUNCTIONS):
            return function_declaration(self.speller, value, member, where, mark="@staticmethod")
        return Declaration(name=member, type=self.value(value, where))

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
