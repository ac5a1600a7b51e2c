"""A class of the stub module, as guest code meets it: a record, an enum, an exception, or a proxy with its members."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import keyword
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cellwright.scope.annotations import ANY, Where, is_standard, names_of
from cellwright.scope.attributes import assigned, held_by, is_open, members_below
from cellwright.scope.classes import MIXINS, enum_base, field_names, is_builtin, is_model, kind_of
from cellwright.scope.function_text import UNKNOWN, function_lines, signature_parts
from cellwright.scope.members import Member, is_async, members, operators
from cellwright.scope.rules import WRITING_OPERATORS, Place
from cellwright.scope.signatures import default_text, signature
from cellwright.scope.values import PATH_PARTS
from cellwright_guest.wire import type_of

if TYPE_CHECKING:
    from cellwright.scope.stub_module import StubModule

_OF_MODELS = (
    f"def model_dump(self, *, mode: str = ..., include: {ANY} = ..., exclude: {ANY} = ..., exclude_none: bool = ...)"
    f" -> _builtins.dict[_builtins.str, {ANY}]: ...",
    f"def model_dump_json(self, *, indent: int | None = ..., include: {ANY} = ..., exclude: {ANY} = ..., "
    "exclude_none: bool = ...) -> _builtins.str: ...",
    f"def model_copy(self, *, update: _builtins.dict[_builtins.str, {ANY}] | None = ...) -> _typing.Self: ...",
    f"@_builtins.classmethod\n    def model_validate(cls, obj: {ANY}, **options: {ANY}) -> _typing.Self: ...",
    f"@_builtins.classmethod\n    def model_validate_json(cls, text: {ANY}, /, **options: {ANY}) -> _typing.Self: ...",
    f"@_builtins.classmethod\n    def model_construct(cls, **values: {ANY}) -> _typing.Self: ...",
    f"@_builtins.classmethod\n    def model_json_schema(cls, **options: {ANY}) -> _builtins.dict[str, {ANY}]: ...",
    f"model_fields: _typing.ClassVar[_builtins.dict[_builtins.str, {ANY}]]",
    f"def __iter__(self) -> _abc.Iterator[tuple[_builtins.str, {ANY}]]: ...",
)
# what an operator gives where its function does not say
_GIVES = {
    "__len__": "_builtins.int", "__contains__": "_builtins.bool", "__iter__": f"_abc.Iterator[{ANY}]",
    "__int__": "_builtins.int", "__float__": "_builtins.float", "__index__": "_builtins.int",
    "__bool__": "_builtins.bool", "__hash__": "_builtins.int", "__repr__": "_builtins.str",
    "__str__": "_builtins.str", "__format__": "_builtins.str", "__bytes__": "_builtins.bytes",
    "__await__": f"_abc.Generator[{ANY}, {ANY}, {ANY}]", "__exit__": "None", "__aexit__": "None",
}  # fmt: skip
_AS_OBJECT = ("__hash__", "__repr__", "__str__", "__format__")


class ClassText:
    """Writes the class `cls` as `named`, with the members that it shows at `path`."""

    def __init__(self, module: StubModule, cls: Any, named: str, path: str) -> None:
        self._module = module
        self._speller = module.speller
        self._cls = cls
        self._named = named
        self._path = path
        self._place = Place(path, cls)
        self._hidden = frozenset(module.hidden(cls, path))
        shadowed = module.shadowed | {*members(cls), *assigned(cls)}
        self._where = Where(path=path, names=names_of(cls), shadowed=shadowed)

    def lines(self) -> Iterator[str]:
        kind = kind_of(self._cls)
        if kind == "enum":
            yield from self._enum()
        elif kind == "namedtuple":
            yield f"class {self._named}(_typing.NamedTuple):"
            yield from self._fields() or ["    ..."]
        elif kind in ("record", "model"):
            yield from self._record(kind == "model")
        elif is_standard(self._cls):
            yield f"class {self._named}({self._speller.home(self._cls)}):"
            yield from (f"    {name}: _Hidden" for name in sorted(self._hidden))
        else:
            yield f"class {self._named}{self._bases(kind == 'error')}:"
            yield from (f"    {line}" for line in self._members(kind == "error"))
            yield "    ..."

    def _enum(self) -> Iterator[str]:
        mixin = next((k.__name__ for k in MIXINS if k in self._cls.__mro__), None)
        base = enum_base(self._cls)
        bases = f"_builtins.{mixin}, _enum.Enum" if mixin and base == "Enum" else f"_enum.{base}"
        yield f"class {self._named}({bases}):"
        yield from (f"    {name} = {default_text(member.value)}" for name, member in self._cls.__members__.items())
        yield "    ..."

    def _record(self, model: bool) -> Iterator[str]:
        params: Any = getattr(self._cls, "__dataclass_params__", None)
        frozen = bool(params.frozen) if params else bool(self._cls.model_config.get("frozen"))
        order = bool(params and params.order)
        yield f"@_dataclasses.dataclass(init=False, frozen={frozen}, order={order})"
        yield f"class {self._named}{self._bases(False)}:"
        yield from self._fields()
        names = ", ".join(map(repr, field_names(self._cls)))
        yield f"    __match_args__ = ({names}{',' if names else ''})"
        yield f"    {self._init(checked=not model)}"
        if model:
            yield from (f"    {line}" for line in _OF_MODELS)

    def _fields(self) -> list[str]:
        cls = self._cls
        if is_model(cls):
            found = [(n, f.annotation, not f.is_required()) for n, f in cls.model_fields.items()]
        else:
            defaults: Any = getattr(cls, "_field_defaults", None)
            has: Any = set(defaults or ()) if hasattr(cls, "_fields") else _with_default(cls)
            names = cls._fields if hasattr(cls, "_fields") else field_names(cls)
            found = [(n, self._hint(n), n in has) for n in names]
        return [
            f"    {n}: {self._speller.spell(hint, self._at(n))}{' = ...' if optional else ''}"
            for n, hint, optional in found
        ]

    def _hint(self, name: str) -> Any:
        """The annotation that the class or one of its bases gives a name."""
        for base in self._cls.__mro__:
            hints = _annotations(base)
            if name in hints:
                return hints[name]
        return Any

    def _init(self, *, checked: bool = True) -> str:
        found = signature(self._cls)
        if found is not None and not checked:  # a model takes what it can turn into its fields
            bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
            found = found.replace(parameters=bare)
        if found is None:
            return f"def __init__(self, {UNKNOWN}) -> None: ..."
        init = getattr(self._cls, "__init__", None)
        where = dataclasses.replace(self._where, names={**self._where.names, **names_of(init)})
        parameters, _ = signature_parts(self._speller, _Signed(found), where)
        return f"def __init__({', '.join(filter(None, ('self', parameters)))}) -> None: ..."

    def _bases(self, error: bool) -> str:
        spelled: list[str] = []
        bases: tuple[Any, ...] = _own(self._cls).get("__orig_bases__", self._cls.__bases__)
        for base in bases:
            origin = typing.get_origin(base) or base
            if origin is typing.Generic:
                variables = ", ".join(self._speller.spell(v, self._where) for v in typing.get_args(base))
                spelled += [f"_typing.Generic[{variables}]"] if ANY not in variables else []
            elif isinstance(origin, type) and origin is not object and not _left_out(origin):
                text = self._speller.spell(base, self._where)
                spelled += [text] if text not in (ANY, *spelled) else []
        spelled += ["_builtins.Exception"] if error and not spelled else []
        return f"({', '.join(spelled)})" if spelled else ""

    def _members(self, error: bool) -> Iterator[str]:
        own = _own(self._cls)
        if error:  # the guest rebuilds it: its text, its plain attributes, and none of its methods
            yield from self._attributes(methods=False)
            yield f"def __init__(self, *args: {ANY}) -> None: ..."
            return
        if "__init__" in own or "__new__" in own or _is_data(self._cls):
            yield self._init()
        for name, member in members(self._cls).items():
            if name in own and name not in self._hidden:
                yield from self._member(member)
        yield from self._attributes(methods=True)
        for name in sorted(members_below(self._cls) - members(self._cls).keys()):
            if self._module.rules.verdict(self._place, name).visible:
                yield f"{name}: {ANY}"
        for name in operators(self._cls):
            if name in own and not (name in WRITING_OPERATORS and self._read_only(name)):
                yield from self._operator(name)
        lost = [b for b in self._cls.__bases__ if b is not object and not is_builtin(b) and self._is_lost(b)]
        if lost or is_open(self._cls):
            yield f"def __getattr__(self, name: _builtins.str) -> {ANY}: ..."

    def _is_lost(self, base: type) -> bool:
        return self._speller.spell(base, self._where) == ANY and not _left_out(base)

    def _read_only(self, name: str) -> bool:
        return self._module.rules.verdict(self._place, name.strip("_")).read_only

    def _member(self, member: Member) -> list[str]:
        where = self._at(member.name)
        match member.kind:
            case "property":
                return self._property(member, where)
            case "static":
                return function_lines(self._speller, member.value, member.name, where, mark="@_builtins.staticmethod")
            case "class":
                return function_lines(
                    self._speller, member.value, member.name, where, bound=True, first="cls",
                    mark="@_builtins.classmethod",
                )  # fmt: skip
            case _:
                return function_lines(self._speller, member.value, member.name, where, bound=True, first="self")

    def _property(self, member: Member, where: Where) -> list[str]:
        raw = member.value
        getter = getattr(raw, "fget", None) or (raw.func if isinstance(raw, functools.cached_property) else None)
        if getter is None:
            return [f"{member.name}: {self._datum(member.name, raw, where)}"]
        _, gives = signature_parts(self._speller, getter, where, bound=True)
        if not isinstance(raw, property) or raw.fset is not None:
            return [f"{member.name}: {gives}"]
        return ["@_builtins.property", f"def {member.name}(self) -> {gives}: ..."]

    def _datum(self, name: str, raw: Any, where: Where) -> str:
        """The type of a class's attribute: as annotated, or as it is, unless it is a descriptor or nothing yet."""
        hint = self._hint(name)
        if hint is not Any:
            return self._speller.spell(hint, where)
        if raw is None or hasattr(type_of(raw), "__get__"):
            return ANY
        return self._module.value(raw, where)

    def _attributes(self, *, methods: bool) -> Iterator[str]:
        """What instances hold: as annotated, as their methods assign it, as those hold it that are there."""
        found = [n for n in _annotations(self._cls) if not n.startswith("_")] + list(assigned(self._cls))
        held: dict[str, set[str]] = {}
        for instance in self._module.seen.get(self._cls, []):
            for name, value in held_by(instance).items():
                kind = self._module.value(value, self._at(name)) if value is not None else ANY
                held.setdefault(name, set()).add(kind)
        for name in dict.fromkeys((*found, *held)):
            if keyword.iskeyword(name) or not name.isidentifier():  # `TypedDict("T", {"a-b": int})` can have such
                continue
            if methods and name in _own(self._cls) and name in members(self._cls):
                continue
            if not self._module.rules.verdict(self._place, name, data=True).visible:
                continue
            yield f"{name}: {self._attribute(name, held.get(name, set()))}"

    def _attribute(self, name: str, held: set[str]) -> str:
        hint = self._hint(name)
        if hint is Any:
            hint = assigned(self._cls).get(name) or Any
        if hint is not Any:
            init = names_of(getattr(self._cls, "__init__", None))
            where = self._at(name)
            return self._speller.spell(hint, dataclasses.replace(where, names={**init, **where.names}))
        return held.pop() if len(held) == 1 else ANY

    def _operator(self, name: str) -> list[str]:
        function: Any = getattr(self._cls, name)
        where = self._at("")
        parameters, gives = signature_parts(self._speller, function, where, bound=True)
        if name in ("__exit__", "__aexit__"):
            parameters = f"*error: {ANY}"
        if gives == ANY or name in ("__exit__", "__aexit__"):
            gives = _GIVES.get(name, ANY)
        asynchronous = name in ("__aenter__", "__aexit__", "__anext__") or (name == "__call__" and is_async(function))
        inner = ", ".join(filter(None, ("self", parameters)))
        return [f"{'async ' if asynchronous else ''}def {name}({inner}) -> {gives}: ..."]

    def _at(self, name: str) -> Where:
        deeper = f"{self._path}.{name}" if name and self._path.count(".") < PATH_PARTS else self._path
        return self._where.at(deeper)


class _Signed:
    """Stands for a callable that has this signature."""

    def __init__(self, found: inspect.Signature) -> None:
        self.__signature__ = found

    def __call__(self) -> None: ...


def _own(cls: type) -> dict[str, Any]:
    return dict(vars(cls))


def _annotations(cls: type) -> dict[str, Any]:
    found: Any = _own(cls).get("__annotations__")
    return found if type_of(found) is dict else {}


def _is_data(cls: Any) -> bool:
    return dataclasses.is_dataclass(cls) or is_model(cls)


def _with_default(cls: Any) -> set[str]:
    missing = dataclasses.MISSING
    return {f.name for f in dataclasses.fields(cls) if f.default is not missing or f.default_factory is not missing}


def _left_out(base: type) -> bool:
    """Bases that say nothing about what an object can do."""
    top = base.__module__.partition(".")[0]
    return base.__name__ in ("ABC", "Protocol", "Generic") or top in ("pydantic", "pydantic_core")
