"""A class as guest code meets it: a record, an enum, an exception, or a proxy with its members.

Types are spelled for a type checker, as they stand in the stub module.
"""

from __future__ import annotations

import dataclasses
import functools
import keyword
import typing
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from cellwright.redaction import without_keys
from cellwright.scope.annotations import (
    ANY,
    HIDDEN,
    Where,
    function_declaration,
    is_standard,
    names_of,
    spelled_parameters,
    spelled_signature,
)
from cellwright.scope.attributes import assigned, held_by, is_open, members_below
from cellwright.scope.classes import MIXINS, enum_base, field_names, is_builtin, is_model, kind_of
from cellwright.scope.declarations import Declaration, Shape, ShapeKind
from cellwright.scope.members import Member, is_async, members
from cellwright.scope.rules import WRITING_OPERATORS, Place
from cellwright.scope.signatures import (
    KEYWORD_ONLY,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
    Signature,
    any_arguments,
    default_text,
    is_untold,
    signature,
)
from cellwright.scope.values import PATH_PARTS
from cellwright_guest.wire import type_of

if TYPE_CHECKING:
    from cellwright.scope.stub_module import StubModule


def _method(name: str, returns: str, *parameters: Parameter, of_class: bool = False) -> Declaration:
    signature = Signature(parameters=parameters, returns=returns)
    first, mark = ("cls", "@classmethod") if of_class else ("self", "")
    return Declaration(name=name, signatures=(signature,), first=first, mark=mark)


def _options(**types: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=n, type=t, default="...", kind=KEYWORD_ONLY) for n, t in types.items())


def _any(name: str, kind: int) -> Parameter:
    return Parameter(name=name, type=ANY, kind=kind)


_DICT, _SELF = f"_builtins.dict[_builtins.str, {ANY}]", "_typing.Self"
_DUMPED = _options(include=ANY, exclude=ANY, exclude_none="bool")
_FURTHER = _any("options", VAR_KEYWORD)
_OF_MODELS = (
    _method("model_dump", _DICT, *_options(mode="str"), *_DUMPED),
    _method("model_dump_json", "_builtins.str", *_options(indent="int | None"), *_DUMPED),
    _method("model_copy", _SELF, *_options(update=f"{_DICT} | None")),
    _method("model_validate", _SELF, Parameter(name="obj", type=ANY), _FURTHER, of_class=True),
    _method("model_validate_json", _SELF, _any("text", POSITIONAL_ONLY), _FURTHER, of_class=True),
    _method("model_construct", _SELF, _any("values", VAR_KEYWORD), of_class=True),
    _method("model_json_schema", f"_builtins.dict[str, {ANY}]", _FURTHER, of_class=True),
    Declaration(name="model_fields", type=f"_typing.ClassVar[{_DICT}]"),
    _method("__iter__", f"_abc.Iterator[tuple[_builtins.str, {ANY}]]"),
)
# the result of an operator whose function has no annotation
_GIVES = {
    "__len__": "_builtins.int", "__contains__": "_builtins.bool", "__iter__": f"_abc.Iterator[{ANY}]",
    "__int__": "_builtins.int", "__float__": "_builtins.float", "__index__": "_builtins.int",
    "__bool__": "_builtins.bool", "__hash__": "_builtins.int", "__repr__": "_builtins.str",
    "__str__": "_builtins.str", "__format__": "_builtins.str", "__bytes__": "_builtins.bytes",
    "__await__": f"_abc.Generator[{ANY}, {ANY}, {ANY}]", "__exit__": "None", "__aexit__": "None",
}  # fmt: skip


class ClassReader:
    """Reads the class `cls`, written as `named`, with the members that it shows at `path`."""

    def __init__(self, module: StubModule, cls: Any, named: str, path: str) -> None:
        self._module = module
        self._speller = module.speller
        self._cls = cls
        self._named = named
        self._path = path
        self._place = module.rules.placed(Place(path, cls), None)
        self._hidden = frozenset(module.hidden(cls, path))
        shadowed = module.shadowed | {*members(cls), *assigned(cls)}
        self._where = Where(path=path, names=names_of(cls), shadowed=shadowed)

    def shape(self) -> Shape:
        kind = kind_of(self._cls)
        if kind == "enum":
            mixin, base = next((k.__name__ for k in MIXINS if k in self._cls.__mro__), None), enum_base(self._cls)
            bases = [f"_builtins.{mixin}", "_enum.Enum"] if mixin and base == "Enum" else [f"_enum.{base}"]
            values = ((name, default_text(member.value)) for name, member in self._cls.__members__.items())
            lines = (Declaration(name=name, text=f"{name} = {without_keys(text)}") for name, text in values)
            return self._shape(kind, bases, lines)
        if kind == "namedtuple":
            return self._shape(kind, ["_typing.NamedTuple"], self._fields())
        if kind in ("record", "model"):
            return self._record(kind)
        if is_standard(self._cls):
            lines = [Declaration(name=name, type=HIDDEN) for name in sorted(self._hidden)]
            return self._shape("handle", [str(self._speller.home(self._cls))], lines, standard=True)
        bases = self._bases(kind == "error")
        return self._shape("record" if kind == "object" else kind, bases, self._members(kind == "error"))

    def _shape(self, kind: ShapeKind, bases: list[str], lines: Iterable[Declaration], **more: Any) -> Shape:
        return Shape(name=self._named, kind=kind, bases=tuple(bases), lines=tuple(lines), **more)

    def _record(self, kind: Literal["record", "model"]) -> Shape:
        params: Any = getattr(self._cls, "__dataclass_params__", None)
        frozen = bool(params.frozen) if params else bool(self._cls.model_config.get("frozen"))
        order = bool(params and params.order)
        bases = self._bases(False)
        names = ", ".join(map(repr, field_names(self._cls)))
        lines = [
            *self._fields(),
            Declaration(name="__match_args__", text=f"__match_args__ = ({names}{',' if names else ''})"),
            self._init(checked=kind == "record"),
            *(_OF_MODELS if kind == "model" else ()),
        ]
        mark = f"@_dataclasses.dataclass(init=False, frozen={frozen}, order={order})"
        return self._shape(kind, bases, lines, mark=mark)

    def _fields(self) -> list[Declaration]:
        cls = self._cls
        if is_model(cls):
            rows = [(n, f.annotation, not f.is_required()) for n, f in cls.model_fields.items()]
        elif hasattr(cls, "_fields"):
            rows = [(n, self._hint(n), n in getattr(cls, "_field_defaults", ())) for n in cls._fields]
        else:
            missing = dataclasses.MISSING
            rows = [
                (f.name, self._hint(f.name), f.default is not missing or f.default_factory is not missing)
                for f in dataclasses.fields(cls)
            ]
        taken = signature(cls)
        parameters = taken.parameters.values() if taken is not None else ()
        given = [p for p in parameters if p.default is not p.empty]
        texts = {p.name: "..." if is_untold(p.name, p.default) else default_text(p.default) for p in given}
        return [
            Declaration(name=n, type=self._speller.spell(hint, self._at(n)), default=texts.get(n, "...") if has else "")
            for n, hint, has in rows
        ]

    def _hint(self, name: str) -> Any:
        """The annotation that the class or one of its bases gives a name."""
        for base in self._cls.__mro__:
            hints = _annotations(base)
            if name in hints:
                return hints[name]
        return Any

    def _init(self, *, checked: bool = True) -> Declaration:
        found = signature(self._cls)
        parameters = list(found.parameters.values()) if found is not None else []
        if not checked:  # a model takes everything that it can convert into its fields
            parameters = [p.replace(annotation=p.empty) for p in parameters]
        names = {**self._where.names, **names_of(getattr(self._cls, "__init__", None))}
        spelled = spelled_parameters(self._speller, parameters, dataclasses.replace(self._where, names=names))
        known = spelled if found is not None and spelled is not None else any_arguments(ANY).parameters
        return _method("__init__", "None", *known)

    def _bases(self, error: bool) -> list[str]:
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
        return spelled or (["_builtins.Exception"] if error else [])

    def _members(self, error: bool) -> Iterator[Declaration]:
        own = _own(self._cls)
        if error:  # the guest rebuilds an error from its text and its plain attributes, without methods
            yield from self._attributes(methods=False)
            yield _method("__init__", "None", _any("args", VAR_POSITIONAL))
            return
        if "__init__" in own or "__new__" in own or _is_data(self._cls):
            yield self._init()
        for name, member in members(self._cls).items():
            if name in own and name not in self._hidden:
                yield self._member(member)
        yield from self._attributes(methods=True)
        for name in sorted(members_below(self._cls) - members(self._cls).keys()):
            if self._module.rules.verdict(self._place, name).visible:
                yield Declaration(name=name, type=ANY)
        for name in self._module.rules.operators(self._place):
            writes = name in WRITING_OPERATORS
            if name in own and not (writes and self._module.rules.verdict(self._place, name.strip("_")).read_only):
                yield self._operator(name)
        bases = [b for b in self._cls.__bases__ if b is not object and not is_builtin(b) and not _left_out(b)]
        if is_open(self._cls) or any(self._speller.spell(base, self._where) == ANY for base in bases):
            yield _method("__getattr__", ANY, Parameter(name="name", type="_builtins.str"))

    def _member(self, member: Member) -> Declaration:
        where = self._at(member.name)
        if member.kind == "property":
            return self._property(member, where)
        first: Any = {"static": "", "class": "cls"}.get(member.kind, "self")
        mark = f"@{member.kind}method" if member.kind in ("static", "class") else ""
        return function_declaration(self._speller, member.value, member.name, where, first=first, mark=mark)

    def _property(self, member: Member, where: Where) -> Declaration:
        raw = member.value
        getter = getattr(raw, "fget", None) or (raw.func if isinstance(raw, functools.cached_property) else None)
        if getter is None:
            return Declaration(name=member.name, type=self._datum(member.name, raw, where))
        gives = spelled_signature(self._speller, getter, where, bound=True).returns
        settable = not isinstance(raw, property) or raw.fset is not None
        return Declaration(name=member.name, type=gives, mark="" if settable else "@property")

    def _datum(self, name: str, raw: Any, where: Where) -> str:
        """The type of a class attribute: its annotation, else that of its value unless that is None or a descriptor."""
        hint = self._hint(name)
        if hint is not Any:
            return self._speller.spell(hint, where)
        if raw is None or hasattr(type_of(raw), "__get__"):
            return ANY
        return self._module.value(raw, where)

    def _attributes(self, *, methods: bool) -> Iterator[Declaration]:
        """The attributes of instances: annotated ones, those that methods assign, those that known instances have."""
        found = [n for n in _annotations(self._cls) if not n.startswith("_")] + list(assigned(self._cls))
        held: dict[str, set[str]] = {}
        for instance in self._module.seen.get(self._cls, []):
            for name, value in held_by(instance).items():
                if self._is_visible(name):  # the module has every class that is spelled
                    kind = self._module.value(value, self._at(name)) if value is not None else ANY
                    held.setdefault(name, set()).add(kind)
        for name in dict.fromkeys((*found, *held)):
            if keyword.iskeyword(name) or not name.isidentifier():  # `TypedDict("T", {"a-b": int})` can have such
                continue
            if methods and name in _own(self._cls) and name in members(self._cls):
                continue
            if self._is_visible(name):
                yield Declaration(name=name, type=self._attribute(name, held.get(name, set())))

    def _is_visible(self, attribute: str) -> bool:
        return self._module.rules.verdict(self._place, attribute, data=True).visible

    def _attribute(self, name: str, held: set[str]) -> str:
        hint = self._hint(name)
        if hint is Any:
            hint = assigned(self._cls).get(name) or Any
        if hint is not Any:
            init = names_of(getattr(self._cls, "__init__", None))
            where = self._at(name)
            return self._speller.spell(hint, dataclasses.replace(where, names={**init, **where.names}))
        return held.pop() if len(held) == 1 else ANY

    def _operator(self, name: str) -> Declaration:
        function: Any = getattr(self._cls, name)
        found = spelled_signature(self._speller, function, self._at(""), bound=True)
        parameters, gives = found.parameters, found.returns
        if name in ("__exit__", "__aexit__"):
            parameters, gives = (_any("error", VAR_POSITIONAL),), ANY
        waits = name in ("__aenter__", "__aexit__", "__anext__") or (name == "__call__" and is_async(function))
        gives = gives if gives != ANY else _GIVES.get(name, ANY)
        signature = Signature(parameters=parameters, returns=gives, is_async=waits)
        return Declaration(name=name, signatures=(signature,), first="self")

    def _at(self, name: str) -> Where:
        deeper = f"{self._path}.{name}" if name and self._path.count(".") < PATH_PARTS else self._path
        return self._where.at(deeper)


def _own(cls: type) -> dict[str, Any]:
    return dict(vars(cls))


def _annotations(cls: type) -> dict[str, Any]:
    found: Any = _own(cls).get("__annotations__")
    return found if type_of(found) is dict else {}


def _is_data(cls: Any) -> bool:
    return dataclasses.is_dataclass(cls) or is_model(cls)


def _left_out(base: type) -> bool:
    """Bases that say nothing about what an object can do."""
    top = base.__module__.partition(".")[0]
    return base.__name__ in ("ABC", "Protocol", "Generic") or top in ("pydantic", "pydantic_core")
