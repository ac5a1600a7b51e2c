"""Reads what a scope offers from its stub module, and adds the docs that a type checker does without.

Everything comes from classes and annotations. No property is read, nothing of the developer's is called, and what the
rules hide is not there.
"""

from __future__ import annotations

import ast
import functools
import re
import types
import typing
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from cellwright.catalog.offer import Bound, Offer
from cellwright.catalog.signatures import readable
from cellwright.catalog.upstreams import upstreams
from cellwright.scope import (
    FUNCTIONS,
    Line,
    Place,
    Scope,
    Shape,
    Speller,
    StubModule,
    Where,
    default_text,
    doc,
    is_standard,
    kind_of,
    module_members,
    names_of,
    parse,
    public_members,
    signature_text,
    surface_of,
)
from cellwright_guest.wire import type_of

OVERLOADS = 3  # further ones say little
# those that tell a reader how an object is used; every object can be compared and printed
OPERATORS = frozenset(
    "__getitem__ __setitem__ __delitem__ __len__ __contains__ __iter__ __aiter__ __next__ __anext__ __call__ __enter__ "
    "__aenter__ __await__ __add__ __sub__ __mul__ __truediv__ __matmul__ __and__ __or__".split()
)
_UNTYPED = re.compile(r": _typing\.Any(?=, |\)| = )")
_VARIABLE = re.compile(r"\b_T_(?=\w)")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def read_offer(scope: Scope, leave_out: Collection[str] = ()) -> Offer:
    """What the scope offers now, less the names in `leave_out`."""
    return _Reading(scope).offer(leave_out)


class _Spelling(Speller):
    """Spells a TypedDict by its name, and keeps its fields: readers need the keys that a checker does without."""

    def __init__(self, refer: Callable[[type, Where], str | None]) -> None:
        super().__init__(refer)
        self.dicts: dict[str, Shape] = {}
        self._known: dict[type, str] = {}

    def _class(self, cls: type[Any], where: Where) -> str:
        if not typing.is_typeddict(cls):
            return super()._class(cls, where)
        if cls not in self._known:
            taken = set(self._known.values())
            tries = (cls.__name__, *(f"{cls.__name__}_{n}" for n in range(2, len(taken) + 3)))
            named = self._known[cls] = next(n for n in tries if n not in taken)
            self.dicts[named] = Shape(name=named, kind="dict", lines=tuple(self._keys(cls, where)), doc=_words(cls))
        return self._known[cls]

    def _keys(self, cls: Any, where: Where) -> Iterator[Line]:
        inside = Where(path=where.path, names=names_of(cls))
        for name, hint in cls.__annotations__.items():
            # a string hides `NotRequired` from the class itself
            optional = name in cls.__optional_keys__ or "NotRequired[" in str(getattr(hint, "__forward_arg__", ""))
            text = _readable(self.spell(hint, inside))
            text = f"NotRequired[{text}]" if optional else text
            head = f"{name}: {text}" if name.isidentifier() else f"# {name!r}: {text}"
            yield Line(name=name, heads=(head,), callable=False, gives=text)


class _Reading:
    """Reads the stub module back, with what its text leaves out: docs."""

    def __init__(self, scope: Scope) -> None:
        self._module = StubModule(scope, {})
        self._spelling = _Spelling(self._module.refer)
        self._module.speller = self._spelling
        self._scope = scope
        self._rules = scope.rules
        self._texts: list[str] = []
        self._values = dict(scope.names())

    def offer(self, leave_out: Collection[str]) -> Offer:
        text = self._module.text()
        self._texts = text.splitlines()
        tree = parse(text)
        nodes: dict[str, list[Any]] = {}
        for node in tree.body:
            nodes.setdefault(_named(node), []).append(node)
        shapes: dict[str, Shape] = {}
        for named, cls in self._module.written.items():
            node = nodes.get(named, [None])[0]
            if typing.is_typeddict(cls):
                self._spelling.spell(cls, Where(path=named))
            elif isinstance(node, ast.ClassDef) and not self._standard_shape(named, cls, shapes):
                shapes[named] = self._shape(node, named, cls)
        shapes |= {n: s for n, s in self._spelling.dicts.items() if n not in shapes}
        names: dict[str, Bound] = {}
        for name, value in self._values.items():
            if name not in leave_out:
                names[name] = self._bound(name, value, nodes, shapes)
        return Offer(names=names, shapes=shapes, upstreams=upstreams(self._scope, frozenset(leave_out)))

    # classes

    def _shape(self, node: ast.ClassDef, named: str, cls: type) -> Shape:
        kind = kind_of(cls)
        known = {name: _words(_function(member.value)) for name, member in public_members(cls).items()}
        lines = tuple(self._lines(node, known))
        init = next((line for line in lines if line.name == "__init__"), None)
        if kind in ("record", "model", "namedtuple"):
            lines = tuple(_fields(node, lines, cls))
        bases = tuple(_readable(ast.unparse(base)).partition("[")[0] for base in node.bases)
        shown = tuple(line for line in lines if not line.name.startswith("__") or line.name in OPERATORS)
        told = "record" if kind == "object" else kind
        return Shape(name=named, kind=told, lines=shown, bases=bases, doc=_words(cls), init=init)

    def _lines(self, node: ast.ClassDef, docs: dict[str, str]) -> Iterator[Line]:
        functions: dict[str, list[Any]] = {}
        for inner in node.body:
            if isinstance(inner, _FUNCTION):
                functions.setdefault(inner.name, []).append(inner)
        for inner in node.body:
            if isinstance(inner, _FUNCTION) and inner is functions[inner.name][0]:
                yield self._function(functions[inner.name], docs.get(inner.name, ""))
            elif isinstance(inner, ast.AnnAssign | ast.Assign):
                yield self._attribute(inner, docs)

    def _function(self, nodes: list[Any], words: str) -> Line:
        marks = [_readable(ast.unparse(mark)) for mark in nodes[0].decorator_list]
        mark = next((m for m in marks if m in ("property", "classmethod", "staticmethod")), "")
        heads = tuple(self._head(node) for node in nodes[:OVERLOADS])
        args = nodes[0].args
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        names = tuple(arg.arg for arg in every if arg is not None and arg.arg not in ("self", "cls"))
        gives = heads[0].rpartition(") -> ")[2] if ") -> " in heads[0] else ""
        if mark == "property":
            text = f"{nodes[0].name}: {gives}" if gives else nodes[0].name
            return Line(name=nodes[0].name, heads=(text,), callable=False, gives=gives, mark="@property", doc=words)
        mark = f"@{mark}" if mark else ""
        return Line(
            name=nodes[0].name, heads=heads, callable=True, gives=gives, parameters=names, mark=mark, doc=words
        )  # fmt: skip

    def _head(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        text = self._texts[node.lineno - 1].strip().removesuffix(": ...")
        return _readable(_UNTYPED.sub("", text).removesuffix(" -> _typing.Any"))

    def _attribute(self, node: ast.AnnAssign | ast.Assign, docs: dict[str, str]) -> Line:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        name = ast.unparse(target)
        gives = _readable(ast.unparse(node.annotation)) if isinstance(node, ast.AnnAssign) else ""
        text = f"{name}: {gives}" if gives else _readable(self._texts[node.lineno - 1].strip())
        return Line(name=name, heads=(text,), callable=False, gives=gives, doc=docs.get(name, ""))

    # names

    def _bound(self, name: str, value: Any, nodes: dict[str, list[Any]], shapes: dict[str, Shape]) -> Bound:
        if surface_of(value) is not None:
            return Bound(name=name, line=Line(name=name, heads=(name,), callable=False), kind="upstream")
        if isinstance(value, types.ModuleType):
            return self._of_module(name, value, nodes.get(f"_module_{name}"), shapes)
        found = nodes.get(name, [])
        if found and isinstance(found[0], _FUNCTION):
            line = self._function(found, _words(getattr(value, "func", value)))
            return Bound(name=name, line=line, kind="function")
        if isinstance(value, type):
            return self._of_class(name, value, shapes)
        if found and isinstance(found[0], ast.Assign):  # a function of the standard library
            return Bound(name=name, line=_standard_line(name, value), kind="function")
        if found and isinstance(found[0], ast.AnnAssign):
            line = self._attribute(found[0], {})
            shape = self._standard_shape(name, type_of(value), shapes) or shapes.get(line.gives)
            return Bound(name=name, line=line, kind="object" if shape else "value", shape=shape.name if shape else "")
        return Bound(name=name, line=Line(name=name, heads=(name,), callable=False), kind="value")

    def _of_class(self, name: str, cls: type, shapes: dict[str, Shape]) -> Bound:
        named = next((n for n, written in self._module.written.items() if written is cls and n in shapes), name)
        shape = shapes.get(named) or self._standard_shape(name, cls, shapes)
        init = shape.init if shape else None
        if init is not None:
            head = re.sub(r"^def __init__\(self(?:, )?", f"{name}(", init.heads[0]).removesuffix(" -> None")
            line = Line(name=name, heads=(head,), callable=True, gives=named, parameters=init.parameters)
        else:
            line = Line(name=name, heads=(f"{name}()",), callable=True, gives=named)
        if shape is None:
            line = Line(name=name, heads=(f"{name}: type[{cls.__name__}]",), callable=False)
        return Bound(name=name, line=line, kind="class", shape=shape.name if shape else "")

    def _of_module(
        self, name: str, module: types.ModuleType, nodes: list[Any] | None, shapes: dict[str, Shape]
    ) -> Bound:
        shown = {
            member: value
            for member, value in module_members(module).items()
            if self._rules.verdict(Place(name, types.ModuleType), member, data=not callable(value)).visible
        }
        if nodes:
            docs = {member: _words(value) for member, value in shown.items() if callable(value)}
            lines = tuple(replace(line, mark="") for line in self._lines(nodes[0], docs))
        else:
            lines = tuple(_standard_line(n, v) for n, v in shown.items() if isinstance(v, FUNCTIONS))
        key = f"_module_{name}"
        shapes[key] = Shape(name=key, kind="module", lines=lines, doc=doc(module), standard=not nodes)
        head = f"{name}: ModuleType" if nodes else f"import {module.__name__} as {name}"
        line = Line(name=name, heads=(head.replace(f" {name} as {name}", f" {name}"),), callable=False)
        return Bound(name=name, line=line, kind="module", shape=key)

    def _standard_shape(self, name: str, cls: type, shapes: dict[str, Shape]) -> Shape | None:
        """A class of the standard library, which the stub module need not write: an object of it has methods too."""
        if not is_standard(cls) or cls.__module__ == "builtins" or kind_of(cls) != "handle":
            return None
        key = f"{cls.__module__}.{cls.__name__}"
        hidden = self._module.hidden(cls, name)
        lines = tuple(
            _standard_line(n, m.value, "self" if m.kind != "static" else "")
            for n, m in public_members(cls).items()
            if m.kind != "property" and n not in hidden
        )
        shapes[key] = Shape(name=key, kind="handle", lines=lines, doc=_words(cls), standard=True)
        return shapes[key]


def _named(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""


def _fields(node: ast.ClassDef, lines: tuple[Line, ...], cls: Any) -> Iterator[Line]:
    """The fields of a record with their defaults, which its `__init__` has."""
    made = next((n for n in node.body if isinstance(n, _FUNCTION) and n.name == "__init__"), None)
    defaults: dict[str, str] = {n: default_text(v) for n, v in getattr(cls, "_field_defaults", {}).items()}
    if made is not None:
        placed = [*made.args.posonlyargs, *made.args.args]
        pairs = [*zip(reversed(placed), reversed(made.args.defaults), strict=False)]
        pairs += [(a, d) for a, d in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True) if d is not None]
        defaults = {arg.arg: ast.unparse(default) for arg, default in pairs}
    for inner in node.body:
        if isinstance(inner, ast.AnnAssign) and "ClassVar" not in ast.unparse(inner.annotation):
            name = ast.unparse(inner.target)
            line = next(line for line in lines if line.name == name)
            default = f" = {defaults.get(name, '...')}" if inner.value is not None else ""
            yield Line(name=name, heads=(f"{name}: {line.gives}{default}",), callable=False, gives=line.gives)


def _standard_line(name: str, function: Any, first: str = "") -> Line:
    text = signature_text(function, bound=bool(first))
    inner = f"({first}, {text[1:]}" if first and text[1:2] != ")" else f"({first}{text[1:]}"
    head = f"def {name}{inner}".removesuffix(" -> Any")
    gives = text.rpartition(") -> ")[2]
    names = tuple(re.findall(r"[(,] \*{0,2}(\w+)|^\(\*{0,2}(\w+)", text))
    parameters = tuple(a or b for a, b in names)
    return Line(name=name, heads=(head,), callable=True, gives=gives, parameters=parameters, doc=_words(function))


def _function(value: Any) -> Any:
    """What carries the docs of a member: the getter of a property."""
    if isinstance(value, functools.cached_property):
        return value.func
    getter = getattr(value, "fget", None) if isinstance(value, property) else None
    return getter or getattr(value, "func", value)


def _words(value: Any) -> str:
    """The docstring, without what `dataclass` and `typing` write themselves."""
    text = doc(value)
    if isinstance(value, type) and text.startswith(f"{value.__name__}("):
        return ""
    if isinstance(value, (type, *FUNCTIONS)):
        return text
    return "" if text == doc(type_of(value)) else text


def _readable(text: str) -> str:
    return _VARIABLE.sub("", readable(text))
