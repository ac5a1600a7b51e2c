"""Annotations as text of the stub module: every type spelled so that a type checker finds it there; and the
signatures that have them.

Annotations are read as they are at run time. A name that only a type checker could find becomes `Any`; the rest of its
annotation stays. Which classes there are is not known here: `refer` is asked for each.
"""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import dataclasses
import enum
import inspect
import keyword
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cellwright.scope.classes import is_typed_dict, kind_of
from cellwright.scope.conversions import ATOMS, CONTAINERS, CONVERTED, PREFIX, alias_lines, instead_of, takes_anything
from cellwright.scope.declarations import Declaration
from cellwright.scope.members import is_async
from cellwright.scope.signatures import Parameter, Signature, any_arguments, default_text, signature
from cellwright_guest.wire import type_of

ANY = "_typing.Any"
HIDDEN = "_Hidden"  # the type, in the module for the checker, of a member that the scope does not show
ALIAS = "_as_"  # before the name of a class where a member of the same name hides it
DEPTH = 12  # an alias may hold itself
UNREADABLE = (
    NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError, ArithmeticError,
    RuntimeError,
)  # fmt: skip
_NOTHING: dict[str, Any] = {}
FRAMES = frozenset(("numpy", "pandas", "polars", "pyarrow"))  # a guest that has the library gets real frames
_PYDANTIC = ("pydantic", "pydantic_core")
LISTED = 40  # members of an enum whose values are spelled out
_WRAPPERS = (typing.Annotated, typing.ClassVar, typing.Final, typing.Required, typing.NotRequired)
PLAIN: tuple[type[Any], ...] = (str, int, float, bytes)  # an object of a derived class crosses as its plain base
_INVARIANT = {list: "_list", dict: "_dict", set: "_set"}
_FORMS: dict[Any, str] = {
    typing.Any: ANY, object: ANY, inspect.Parameter.empty: ANY, None: "None", type(None): "None", Ellipsis: "...",
    typing.NoReturn: "None", typing.Never: "None", typing.LiteralString: "str",
    getattr(typing, "Self"): "_typing.Self",  # noqa: B009  else a type checker takes it for a use
}  # fmt: skip
_READ = (collections.abc.Iterator, collections.abc.Generator)
_CALLABLE: Any = collections.abc.Callable


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Where a type is spelled. `given`: guest code hands the value over, so its containers may be narrower."""

    path: str
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shadowed: frozenset[str] = frozenset()
    given: bool = False
    converted: bool = False  # pydantic converts the value

    def at(self, path: str) -> Where:
        return dataclasses.replace(self, path=path)


class _Lenient(dict[str, Any]):
    """The names that an annotation may use; a name that is missing is `Any`."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def read(text: str, names: Mapping[str, Any]) -> Any:
    """The annotation that is written as a string."""
    try:
        return eval(text, {}, _Lenient(names))
    except UNREADABLE:
        return Any


def names_of(thing: Any) -> dict[str, Any]:
    """The names that are defined where the annotations of a function or a class were written."""
    found: dict[str, Any] = {}
    if isinstance(thing, type):
        found |= vars(sys.modules.get(thing.__module__, types.ModuleType("none")))
    else:
        function = getattr(thing, "func", thing)  # of a partial
        try:
            function = inspect.unwrap(getattr(function, "__func__", function))
        except ValueError:
            return found
        scope: Any = getattr(function, "__globals__", None)
        found |= scope if isinstance(scope, dict) else _NOTHING
    for parameter in getattr(thing, "__type_params__", ()):
        found[parameter.__name__] = parameter
    return found


class Speller:
    """Spells types, and collects the imports and type variables that the module needs for them.

    `refer` gives the name of a class in the module, or None where the class has to be `Any`.
    """

    def __init__(self, refer: Callable[[type, Where], str | None]) -> None:
        self._refer = refer
        self.imports: set[str] = {"builtins", "collections.abc", "typing"}
        self.aliased: set[str] = set()
        self.converts = False  # the module needs the aliases of what pydantic converts
        self.variables: dict[str, tuple[Any, str]] = {}

    def spell(self, hint: Any, where: Where, depth: int = 0) -> str:
        """The type as text; `Any` where it cannot be written."""
        if isinstance(hint, str | typing.ForwardRef):
            hint = read(hint if isinstance(hint, str) else hint.__forward_arg__, where.names)
        if depth > DEPTH:
            return ANY
        try:
            form = _FORMS.get(hint)
        except TypeError:  # not hashable, so no type
            return ANY
        if form is not None:
            return form
        if isinstance(hint, typing.TypeVar):
            return self._variable(hint, where, depth)
        for alias in ("__supertype__", "__value__"):  # NewType, and `type X = …`
            if hasattr(hint, alias) and not isinstance(hint, type):
                return self.spell(getattr(hint, alias), where, depth + 1)
        if type_of(hint) is dataclasses.InitVar:
            held: Any = hint
            return self.spell(held.type, where, depth + 1)
        origin = typing.get_origin(hint)
        if origin is None:
            return self._class(hint, where) if isinstance(hint, type) else ANY
        return self._composed(origin, typing.get_args(hint), where, depth + 1)

    def _composed(self, origin: Any, args: tuple[Any, ...], where: Where, depth: int) -> str:
        if origin in _WRAPPERS:
            if CONVERTED in args[1:]:
                self.converts, where = True, dataclasses.replace(where, converted=True)
            anything = where.converted and takes_anything(args[1:])
            return self.spell(args[0], where, depth) if args and not anything else ANY
        if origin in (typing.Union, types.UnionType):
            return " | ".join(dict.fromkeys(self.spell(arg, where, depth) for arg in args))
        if origin is typing.Literal:
            return self._literal(args, where)
        if origin is _CALLABLE:
            return self._callable(args, where, depth)
        if origin in (typing.TypeGuard, getattr(typing, "TypeIs", None)):
            return "bool"
        if not isinstance(origin, type):
            return ANY
        head = self._class(origin, where)
        if head == ANY or not args:
            return head
        if origin is type:
            return f"{head}[{self.spell(args[0], dataclasses.replace(where, given=False), depth)}]"
        if where.converted:
            return self._converted(origin, head, args, where, depth)
        inner = ", ".join(self.spell(arg, where, depth) for arg in args)
        if where.given and origin in _INVARIANT and not any(map(_open, args)):
            return f"{_INVARIANT[origin]}[{inner}]"
        return f"{head}[{inner}]" if inner else f"{head}[()]"

    def _converted(self, origin: Any, head: str, args: tuple[Any, ...], where: Where, depth: int) -> str:
        """A container whose items pydantic converts, and which it makes of another."""
        if origin.__name__ not in CONTAINERS and not issubclass(origin, dict | tuple) and not is_standard(origin):
            where = dataclasses.replace(where, converted=False)  # a class of the developer's is invariant
        inner = [self.spell(arg, where, depth) for arg in args]
        if issubclass(origin, collections.abc.Mapping) and len(args) == 2:
            key = self.builtin("str", where) if args[0] is str else ANY  # invariant too
            return f"{'_dict' if origin is dict else '_abc.Mapping'}[{key}, {inner[1]}]"
        if origin is tuple:
            any_list = f"{PREFIX}list[{inner[0] if inner[-1] == '...' else ANY}]"
            return f"{head}[{', '.join(inner)}] | {any_list}" if args else head
        if origin.__name__ in CONTAINERS or origin in (collections.abc.Iterable, collections.abc.Collection):
            return f"{PREFIX}{origin.__name__ if origin.__name__ in CONTAINERS else 'list'}[{inner[0]}]"
        instead = f"{PREFIX}list[{inner[0]}]" if origin in _READ else instead_of(origin)
        return ANY if instead is None else f"{head}[{', '.join(inner)}]{f' | {instead}' if instead else ''}"

    def _literal(self, args: tuple[Any, ...], where: Where) -> str:
        parts: list[str] = []
        for value in args:
            if isinstance(value, enum.Enum):
                parts.append(f"{self._class(type(value), where)}.{value.name}")
            elif value is None or type(value) in (int, str, bool, bytes):
                parts.append(repr(value))
        return f"_typing.Literal[{', '.join(parts)}]" if len(parts) == len(args) else ANY

    def _callable(self, args: tuple[Any, ...], where: Where, depth: int) -> str:
        taken, gives = args if len(args) == 2 else (..., Any)
        where = dataclasses.replace(where, converted=False)
        if where.given and gives in (None, type(None), bool):  # a guest's function may return more than is asked for
            gives = "_object"
        handed = dataclasses.replace(where, given=False)
        result = "_builtins.object" if gives == "_object" else self.spell(gives, where, depth)
        if not isinstance(taken, list):
            return f"_abc.Callable[..., {result}]"
        listed: list[Any] = list(taken)  # pyright: ignore[reportUnknownArgumentType]  of annotations, whatever they are
        return f"_abc.Callable[[{', '.join(self.spell(t, handed, depth) for t in listed)}], {result}]"

    def _class(self, cls: type[Any], where: Where) -> str:
        if is_typed_dict(cls):
            return f"{self.builtin('dict', where)}[{self.builtin('str', where)}, {ANY}]"
        if where.converted and cls in ATOMS:
            return f"{PREFIX}{ATOMS[cls][0]}"
        if getattr(builtins, cls.__name__, None) is cls:
            return self.builtin(cls.__name__, where)
        top = cls.__module__.partition(".")[0]
        if top in FRAMES:
            return ANY
        if top in _PYDANTIC:
            return self._validated(cls, where)
        named = self._refer(cls, where)
        if named is not None:
            if named in where.shadowed:
                self.aliased.add(named)
                named = f"{ALIAS}{named}"
            values = instead_of(cls) if where.converted else self.listed(cls) if where.given else ""
            return ANY if values is None else f"{named} | {values}" if values else named
        home = self.home(cls)
        if home is not None:
            return home
        base = next((k for k in PLAIN if issubclass(cls, k)), None) if kind_of(cls) == "handle" else None
        return self.builtin(base.__name__, where) if base is not None else ANY

    def _validated(self, cls: type[Any], where: Where) -> str:
        """A type of pydantic's own: code hands over the text that it is made from. An e-mail address stays a text."""
        text = cls.__module__ == "pydantic.networks" or cls.__name__ in ("SecretStr", "Json")
        return self.builtin("str", where) if cls.__name__ == "EmailStr" or (where.given and text) else ANY

    def listed(self, cls: type[Any]) -> str:
        """The values of an enum that are equal to its members, where code may give these instead; "" for others."""
        if not issubclass(cls, enum.Enum) or not issubclass(cls, (str, int)) or not 0 < len(cls) <= LISTED:
            return ""
        values = [str.__str__(member) if isinstance(member, str) else int(member) for member in cls]
        return f"_typing.Literal[{', '.join(map(repr, values))}]"

    def builtin(self, name: str, where: Where) -> str:
        return f"_builtins.{name}" if name in where.shadowed else name

    def home(self, thing: Any) -> str | None:
        """The public name of a class or a function of the standard library; None for everything else."""
        module, name = str(getattr(thing, "__module__", None) or ""), str(getattr(thing, "__name__", ""))
        if not is_standard(thing):
            return None
        top = module.partition(".")[0]
        for place in (module, top, top.lstrip("_"), module.lstrip("_")):
            is_private = any(part.startswith("_") for part in place.split("."))
            if not is_private and getattr(sys.modules.get(place), name, None) is thing:
                self.imports.add(place)
                return f"{alias(place)}.{name}"
        return None

    def _variable(self, variable: typing.TypeVar, where: Where, depth: int) -> str:
        name = f"_T_{variable.__name__}"
        known = self.variables.get(name)
        if known is not None:
            return name if known[0] is variable else ANY
        self.variables[name] = (variable, "")
        parts = [repr(name), *(self.spell(c, where, depth + 1) for c in variable.__constraints__)]
        if variable.__bound__ is not None:
            parts.append(f"bound={self.spell(variable.__bound__, where, depth + 1)}")
        self.variables[name] = (variable, f"{name} = _typing.TypeVar({', '.join(parts)})")
        return name

    def lines(self) -> Iterator[str]:
        """The first lines of the module: imports and type variables."""
        for module in sorted(self.imports):
            yield f"import {module} as {alias(module)}"
        yield from (text for _, text in self.variables.values() if text)
        yield from alias_lines() if self.converts else ()


def alias(module: str) -> str:
    return "_abc" if module == "collections.abc" else f"_{module.replace('.', '_')}"


def is_standard(thing: Any) -> bool:
    """Whether the standard library defines it."""
    top = str(getattr(thing, "__module__", None) or "").partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__"


def _open(hint: Any) -> bool:
    """Whether a type contains a variable, which a checker must be able to solve."""
    return isinstance(hint, typing.TypeVar) or bool(getattr(hint, "__parameters__", ())) or isinstance(hint, str)


# functions


def function_declaration(
    speller: Speller, function: Any, name: str, where: Where, *, first: Literal["", "self", "cls"] = "", mark: str = ""
) -> Declaration:
    """The function under this name, with its overloads where it has any. `first` is given for a method."""
    plain = getattr(function, "__func__", function)
    try:
        variants = typing.get_overloads(inspect.unwrap(plain))
    except (ValueError, AttributeError):  # a wrapper of itself; a callable without a name
        variants = []
    waits = is_async(function)
    signatures = [spelled_signature(speller, one, where, bound=bool(first)) for one in variants or [function]]
    told = tuple(dataclasses.replace(one, is_async=True) if waits else one for one in signatures)
    return Declaration(name=name, signatures=told, first=first, mark=mark)


def spelled_signature(speller: Speller, function: Any, where: Where, *, bound: bool = False) -> Signature:
    """The signature of a function; without the first parameter where it is `bound`."""
    found = signature(function)
    if found is None:
        return any_arguments(ANY)
    listed = list(found.parameters.values())
    if bound and listed and listed[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        listed = listed[1:]
    where = dataclasses.replace(where, names={**where.names, **names_of(function)})
    parameters = spelled_parameters(speller, listed, where)
    if parameters is None:
        return any_arguments(ANY)
    gives = _managed(speller, function, found.return_annotation, where)
    return Signature(parameters=parameters, returns=gives or speller.spell(found.return_annotation, where))


def spelled_parameters(
    speller: Speller, listed: Iterable[inspect.Parameter], where: Where
) -> tuple[Parameter, ...] | None:
    """The parameters; None where one of them has a name that code cannot write."""
    if any(keyword.iskeyword(p.name) or not p.name.isidentifier() for p in listed):
        return None
    given = dataclasses.replace(where, given=True)
    return tuple(_parameter(speller, p, given) for p in listed)


def _managed(speller: Speller, function: Any, hint: Any, where: Where) -> str:
    """The result of a generator that `contextmanager` decorates; "" for every other function."""
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__wrapped__") or getattr(function, "__globals__", None) is not vars(contextlib):
        return ""
    if isinstance(hint, str):
        hint = read(hint, where.names)
    item = speller.spell((*typing.get_args(hint), Any)[0], where)
    speller.imports.add("contextlib")
    kind = (
        "AbstractAsyncContextManager" if inspect.isasyncgenfunction(function.__wrapped__) else "AbstractContextManager"
    )
    return f"_contextlib.{kind}[{item}]"


def _parameter(speller: Speller, p: inspect.Parameter, where: Where) -> Parameter:
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and typing.get_origin(p.annotation) is typing.Unpack:
        return Parameter(name=p.name, type=ANY, kind=int(p.kind))
    text = speller.spell(p.annotation, where)
    if p.default is None and text != ANY and "None" not in text.split(" | "):
        text += " | None"
    default = "" if p.default is p.empty else default_text(p.default)
    return Parameter(name=p.name, type=text, default=default, kind=int(p.kind))
