"""`Offer`: what a scope offers, as values: bound names and the classes they lead to, types as a person writes them.

Everything comes from classes and annotations. No property is read, nothing of the developer's is called, and what the
rules hide is not there. Docs are added here: a type checker does without.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cellwright.catalog.checker_signatures import readable
from cellwright.catalog.upstreams import Upstream, upstreams
from cellwright.scope import (
    ANY,
    FUNCTIONS,
    Declaration,
    Place,
    Scope,
    Shape,
    Signature,
    Speller,
    StubModule,
    Where,
    any_arguments,
    doc,
    is_standard,
    is_typed_dict,
    kind_of,
    names_of,
    public_members,
    signature_of,
    surface_of,
)
from cellwright_guest.wire import type_of

OVERLOADS = 3  # of one function; further ones say little
# operators that tell a reader how an object is used; every object can be compared and printed
OPERATORS = frozenset(
    "__getitem__ __setitem__ __delitem__ __len__ __contains__ __iter__ __aiter__ __next__ __anext__ __call__ __enter__ "
    "__aenter__ __await__ __add__ __sub__ __mul__ __truediv__ __matmul__ __and__ __or__".split()
)
_VARIABLE = re.compile(r"\b_T_(?=\w)")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundName:
    """One name of the scope. `shape` is the class of an object, a module, or the class itself; "" for other values."""

    name: str
    line: Declaration
    kind: Literal["function", "class", "module", "object", "value", "upstream"]
    shape: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """Names in the order of the scope, classes in the order in which they are mentioned."""

    names: dict[str, BoundName]
    shapes: dict[str, Shape]
    upstreams: dict[str, Upstream] = field(default_factory=dict[str, Upstream])

    def lines_of(self, shape: Shape) -> Iterator[Declaration]:
        """The members of a class and of its bases; of one name the nearest."""
        seen: set[str] = set()
        pending, known = [shape], {shape.name}
        while pending:
            one = pending.pop(0)
            yield from (line for line in one.lines if line.name not in seen)
            seen |= {line.name for line in one.lines}
            further = [self.shapes[base] for base in one.bases if base in self.shapes and base not in known]
            known |= {other.name for other in further}
            pending += further

    def mentioned(self, text: str) -> Iterator[Shape]:
        """The classes that a piece of stub text names."""
        for word in dict.fromkeys(_WORD.findall(text)):
            if word in self.shapes and self.shapes[word].kind != "module":
                yield self.shapes[word]

    def shape(self, name: str) -> Shape | None:
        return self.shapes.get(name)

    def object_shape(self, gives: str) -> Shape | None:
        """The class of an attribute that holds one object: `Contacts`, `Contacts | None`."""
        parts = [part for part in gives.split(" | ") if part != "None"]
        return self.shapes.get(parts[0]) if len(parts) == 1 else None


def read_offer(scope: Scope, leave_out: Collection[str] = ()) -> Offer:
    """What the scope offers now, less the names in `leave_out`."""
    return _OfferReader(scope).offer(leave_out)


class _ReaderSpeller(Speller):
    """Spells a TypedDict by its name, and keeps its fields: readers need the keys that a checker does without."""

    def __init__(self, refer: Callable[[type, Where], str | None]) -> None:
        super().__init__(refer)
        self.dicts: dict[str, Shape] = {}
        self._known: dict[type, str] = {}

    def listed(self, cls: type[Any]) -> str:
        return ""  # the members of the enum stand in its class

    def _class(self, cls: type[Any], where: Where) -> str:
        if not is_typed_dict(cls):
            return super()._class(cls, where)
        if cls not in self._known:
            taken = set(self._known.values())
            tries = (cls.__name__, *(f"{cls.__name__}_{n}" for n in range(2, len(taken) + 3)))
            named = self._known[cls] = next(n for n in tries if n not in taken)
            self.dicts[named] = Shape(name=named, kind="dict", lines=tuple(self._keys(cls, where)), doc=_docstring(cls))
        return self._known[cls]

    def _keys(self, cls: Any, where: Where) -> Iterator[Declaration]:
        inside = Where(path=where.path, names=names_of(cls))
        for name, hint in cls.__annotations__.items():
            # a string hides `NotRequired` from the class itself
            optional = name in cls.__optional_keys__ or "NotRequired[" in str(getattr(hint, "__forward_arg__", ""))
            spelled = _readable(self.spell(hint, inside))
            spelled = f"NotRequired[{spelled}]" if optional else spelled
            text = "" if name.isidentifier() else f"# {name!r}: {spelled}"
            yield Declaration(name=name, type=spelled, text=text)


class _OfferReader:
    """Reads one scope once."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._rules = scope.rules
        self._module = StubModule(scope, speller=_ReaderSpeller)
        self._shapes: dict[str, Shape] = {}

    def offer(self, leave_out: Collection[str]) -> Offer:
        speller = self._module.speller
        assert isinstance(speller, _ReaderSpeller)
        for named, cls in self._module.classes.items():
            if is_typed_dict(cls):
                speller.spell(cls, Where(path=named))
            elif not self._standard_shape(cls, written=self._module.shapes.get(named)):
                self._shapes[named] = _class_shape(self._module.shapes[named], cls)
        self._shapes |= {n: s for n, s in speller.dicts.items() if n not in self._shapes}
        names = {name: self._bound(name, value) for name, value in self._scope.names() if name not in leave_out}
        return Offer(names=names, shapes=self._shapes, upstreams=upstreams(self._scope, frozenset(leave_out)))

    def _bound(self, name: str, value: Any) -> BoundName:
        line = self._module.names.get(name)
        if surface_of(value) is not None:
            return BoundName(name=name, line=Declaration(name=name), kind="upstream")
        if isinstance(value, types.ModuleType):
            return self._bound_module(name, value)
        if line is not None and line.callable:
            function = _reader_declaration(line, _docstring(getattr(value, "func", value)))
            return BoundName(name=name, line=function, kind="function")
        if isinstance(value, type):
            return self._bound_class(name, value)
        if line is None:
            return BoundName(name=name, line=Declaration(name=name), kind="value")
        if line.text:  # a function of the standard library
            return BoundName(name=name, line=_standard_line(name, value), kind="function")
        line = _reader_declaration(line)
        shape = self._standard_shape(type_of(value), self._scope.path(name)) or self._shapes.get(line.type)
        kind: Literal["object", "value"] = "object" if shape else "value"
        return BoundName(name=name, line=line, kind=kind, shape=shape.name if shape else "")

    def _bound_class(self, name: str, cls: type) -> BoundName:
        written = (n for n, other in self._module.classes.items() if other is cls and n in self._shapes)
        named = next(written, name)
        shape = self._shapes.get(named) or self._standard_shape(cls, self._scope.path(name))
        if shape is None:
            return BoundName(name=name, line=Declaration(name=name, text=f"{name}: type[{cls.__name__}]"), kind="class")
        takes = replace(shape.init.signatures[0], returns="") if shape.init is not None else Signature()
        line = Declaration(name=name, signatures=(takes,), type=named)
        return BoundName(name=name, line=line, kind="class", shape=shape.name)

    def _bound_module(self, name: str, module: types.ModuleType) -> BoundName:
        key = f"_module_{name}"
        place = Place(self._scope.path(name), types.ModuleType)
        shown = self._rules.of_module(place, module)
        written = self._module.shapes.get(key)
        if written is not None:
            docs = {member: _docstring(value) for member, value in shown.items() if callable(value)}
            lines = tuple(
                replace(_reader_declaration(line, docs.get(line.name, "")), mark="") for line in written.lines
            )
            text = f"{name}: ModuleType"
        else:
            lines = tuple(_standard_line(n, v) for n, v in shown.items() if isinstance(v, FUNCTIONS))
            text = f"import {name}" if module.__name__ == name else f"import {module.__name__} as {name}"
        self._shapes[key] = Shape(name=key, kind="module", lines=lines, doc=doc(module), standard=written is None)
        return BoundName(name=name, line=Declaration(name=name, text=text), kind="module", shape=key)

    def _standard_shape(self, cls: type, path: str = "", written: Shape | None = None) -> Shape | None:
        """A class of the standard library: the stub module writes what it hides, and readers need its methods.

        All objects of one class have one shape: what a rule hides of any of them is not in it.
        """
        if not is_standard(cls) or cls.__module__ == "builtins" or kind_of(cls) != "handle":
            return None
        key = f"{cls.__module__}.{cls.__name__}"
        hidden = self._module.hidden(cls, path) if written is None else [line.name for line in written.lines]
        before = self._shapes.get(key)
        lines = tuple(
            _standard_line(n, m.value, "self" if m.kind != "static" else "")
            for n, m in public_members(cls).items()
            if m.kind != "property" and n not in hidden
        )
        if before is not None:
            lines = tuple(line for line in before.lines if line.name not in hidden)
        shape = Shape(name=key, kind="handle", lines=lines, doc=_docstring(cls), standard=True)
        self._shapes[key] = shape
        return shape


def _class_shape(written: Shape, cls: Any) -> Shape:
    """A class of the stub module with its docs; a record has its fields only."""
    docs = {name: _docstring(_function(member.value)) for name, member in public_members(cls).items()}
    lines = [_reader_declaration(line, docs.get(line.name, "")) for line in written.lines]
    init = next((line for line in lines if line.name == "__init__"), None)
    if kind_of(cls) in ("record", "model", "namedtuple"):
        lines = [replace(line, doc="") for line in lines if not (line.callable or line.text or "ClassVar" in line.type)]
    shown = tuple(line for line in lines if not line.name.startswith("__") or line.name in OPERATORS)
    bases = tuple(_readable(base).partition("[")[0] for base in written.bases)
    return Shape(name=written.name, kind=written.kind, lines=shown, bases=bases, doc=_docstring(cls), init=init)


def _reader_declaration(line: Declaration, words: str = "") -> Declaration:
    """A declaration for a reader: `Any` is left out of parameters and results."""
    if not line.callable and line.mark != "@property":
        return replace(line.with_types(_readable), doc=words)
    readable_line = line.with_types(lambda text: "" if text == ANY else _readable(text))
    return replace(readable_line, signatures=readable_line.signatures[:OVERLOADS], doc=words)


def _standard_line(name: str, function: Any, first: Literal["", "self"] = "") -> Declaration:
    found = signature_of(function, bound=bool(first)) or any_arguments()
    gives = "" if found.returns == "Any" else found.returns
    signature = replace(found, returns=gives)
    return Declaration(name=name, signatures=(signature,), type=gives or "Any", first=first, doc=_docstring(function))


def _function(value: Any) -> Any:
    """The function that has the docs of a member: of a property its getter."""
    if isinstance(value, functools.cached_property):
        return value.func
    getter = getattr(value, "fget", None) if isinstance(value, property) else None
    return getter or getattr(value, "func", value)


def _docstring(value: Any) -> str:
    """The docstring, unless `dataclass` or `typing` wrote it."""
    text = doc(value)
    if isinstance(value, type) and text.startswith(f"{value.__name__}("):
        return ""
    if isinstance(value, (type, *FUNCTIONS)):
        return text
    return "" if text == doc(type_of(value)) else text


def _readable(text: str) -> str:
    return _VARIABLE.sub("", readable(text))
