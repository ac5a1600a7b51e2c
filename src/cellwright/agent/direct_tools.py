"""Direct tools, the functions of a scope that a model calls itself, without code: their parameters as JSON Schema, and
a model's JSON as the arguments of a call.

Reads signatures and annotations, and asks pydantic for the rest. It does not know how a call is made.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from cellwright.agent.expressions import NoExpression, check_writable
from cellwright.agent.guest_names import RESERVED
from cellwright.agent.steps import EXECUTE
from cellwright.errors import UsageError
from cellwright.messages import Tool
from cellwright.model_texts import sendable, sendable_schema
from cellwright.redaction import clean, without_keys
from cellwright.scope import ReachableFunction, Scope, callables, class_names, is_untold, signature_text
from cellwright.settings import install_command
from cellwright.short_texts import cut, one_line
from cellwright_guest.wire import type_of

PROPERTY = re.compile(r"[a-zA-Z0-9_]{1,64}")
MOST_ERRORS = 4
MOST_KEPT = 1000
WORDS = 300  # of one error; a model's own input is not told back at length


# pydantic takes milliseconds for each, and every turn needs them; one that was made for a run goes with it
_kept: WeakKeyDictionary[Any, dict[bool, ToolParameters]] = WeakKeyDictionary()


class NotOffered(ValueError):
    """A function that cannot be offered as a direct call. The message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolParameters:
    """Of one function. `schema` is what the model reads; `read` takes what it wrote."""

    schema: Mapping[str, Any]
    positional: tuple[str, ...]  # those that cannot be given by name
    adapter: Any  # pydantic's, for the object of all arguments
    extras: Any = None  # pydantic's, for the values of `**kwargs`

    def read(self, text: str) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in a model's JSON, by position and by name. ValueError with a text for the model if wrong."""
        import pydantic

        text = "{}" if text.strip() in ("", "null") else text
        try:
            given: dict[str, Any] = self.adapter.validate_json(text)
            known = self.schema["properties"]
            more = {name: value for name, value in given.items() if name not in known}
            if more and self.extras is not None:
                more = self.extras.validate_python(more)
        except pydantic.ValidationError as error:
            raise ValueError(_told(error)) from None
        args: list[Any] = []
        for name in self.positional:
            if name in given:
                if len(args) < self.positional.index(name):
                    raise ValueError(f"{name}: give the parameters before it too")
                args.append(given[name])
        named = {name: given[name] for name in known if name in given and name not in self.positional}
        return args, {**named, **more}


def parameters_of(found: ReachableFunction, names: Mapping[type, str]) -> ToolParameters:
    """The parameters of a function; `NotOffered` if a model could not give them. `names`: see `JournalWriter`."""
    signature = found.signature
    if signature is None:
        raise NotOffered("Python cannot tell its parameters")
    hints, extra = _hints(found, signature, names)
    if type_of(found.function) is not types.FunctionType:  # a bound method is made anew each time
        return _parameters_of(found, signature, hints, extra)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    known = _kept.setdefault(found.function, {})
    if found.bound not in known:
        known[found.bound] = _parameters_of(found, signature, hints, extra)
    return known[found.bound]


def _hints(
    found: ReachableFunction, signature: inspect.Signature, names: Mapping[type, str]
) -> tuple[dict[str, Any], Any]:
    """The types of the parameters, and that of `**kwargs`."""
    hints: dict[str, Any] = {}
    extra: Any = None
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            continue
        if not PROPERTY.fullmatch(p.name):
            raise NotOffered(f"{p.name!r} cannot be the name of a parameter for a model")
        hint = _hint(p, found.names)
        try:
            check_writable(hint, names)
        except NoExpression as error:
            raise NotOffered(f"parameter {p.name}: {error}") from None
        if p.kind is p.VAR_KEYWORD:
            extra = hint
        else:
            hints[p.name] = hint
    return hints, extra


def _parameters_of(
    found: ReachableFunction, signature: inspect.Signature, hints: dict[str, Any], extra: Any
) -> ToolParameters:
    defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
    adapter, schema = _asked(found.path, hints, frozenset(hints.keys() - defaults), open_ended=extra is not None)
    schema = _with_defaults(schema, defaults)
    return ToolParameters(
        schema=schema,
        positional=tuple(p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY),
        adapter=adapter,
        extras=None if extra is None else _asked(found.path, dict[str, extra], open_ended=True)[0],
    )


def _hint(p: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    """The annotation of one parameter, evaluated alone: the return annotation may exist for type checkers only."""
    if p.annotation is p.empty:
        return Any
    try:
        holder = types.SimpleNamespace(__annotations__={p.name: p.annotation})
        hint = typing.get_type_hints(holder, globalns=dict(names), include_extras=True)[p.name]
    except (NameError, TypeError, AttributeError, ValueError, LookupError, ImportError, SyntaxError) as error:
        raise NotOffered(f"parameter {p.name}: its annotation cannot be read here ({error})") from None
    if typing.get_origin(hint) is typing.Unpack:
        raise NotOffered(f"parameter {p.name}: keywords of a TypedDict are given from code only")
    return hint | None if p.default is None and hint is not Any else hint


def _asked(
    path: str, hints: Any, required: frozenset[str] = frozenset(), *, open_ended: bool
) -> tuple[Any, dict[str, Any]]:
    """Pydantic's adapter and schema for an object of these parameters."""
    try:
        import pydantic
        import typing_extensions
        from pydantic.json_schema import GenerateJsonSchema
    except ImportError:
        raise UsageError(f"direct calls need pydantic: {install_command('pydantic')}") from None

    class Quiet(GenerateJsonSchema):
        ignored_warning_kinds: typing.ClassVar[Any] = {"skipped-choice", "non-serializable-default"}

    try:
        if isinstance(hints, dict):
            make: Any = typing_extensions.TypedDict  # its names are known now, not when this was written
            hints = make(path.rpartition(".")[2] or "call", hints)
            hints.__required_keys__ = required  # not by `NotRequired`: typing would keep the types
            hints.__pydantic_config__ = pydantic.ConfigDict(extra="allow" if open_ended else "forbid")
        adapter: Any = pydantic.TypeAdapter(hints)
        schema = adapter.json_schema(schema_generator=Quiet)
    except (pydantic.PydanticUserError, TypeError, NameError, RecursionError) as error:
        first = str(error).strip().splitlines()[0]
        raise NotOffered(f"a model cannot give its parameters ({first[:WORDS]})") from None
    schema = _untitled(schema)
    schema.setdefault("properties", {})
    schema.pop("description", None)  # of a TypedDict: that of `dict`
    return adapter, schema


def _untitled(schema: Any) -> Any:
    """The schema without the titles that pydantic derives from names: they cost tokens and say nothing new."""
    if isinstance(schema, list):
        return [_untitled(part) for part in typing.cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found = typing.cast("dict[str, Any]", schema)
    kept: dict[str, Any] = {}
    for key, value in found.items():
        if key in ("properties", "$defs") and isinstance(value, dict):  # here `title` is a property's own name
            named = typing.cast("dict[str, dict[str, Any]]", value).items()
            kept[key] = {
                name: {k: v for k, v in _untitled(inner).items() if k != "default" or not is_untold(name, v)}
                for name, inner in named
            }
        elif key in ("default", "examples", "enum", "const"):
            kept[key] = value
        elif key != "title" or not isinstance(value, str):
            kept[key] = _untitled(value)
    return kept


def _with_defaults(schema: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    import pydantic_core

    properties = dict(schema["properties"])
    for name, default in defaults.items():
        if name not in properties or default is None or is_untold(name, default):
            continue  # that it may be left out is told by `required`
        try:
            shown = pydantic_core.to_jsonable_python(default)
            text = json.dumps(shown, allow_nan=False)
        except (pydantic_core.PydanticSerializationError, ValueError, TypeError, RecursionError):
            continue
        if isinstance(shown, str) or clean(text) == text:
            properties[name] = {**properties[name], "default": shown}
    return {**schema, "properties": properties}


def _told(error: Any) -> str:
    """The text of pydantic's errors, each with its place, without the input."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines: list[str] = []
    for one in found[:MOST_ERRORS]:
        place = ".".join(map(str, one["loc"]))
        lines.append(f"{place}: {one['msg']}"[:WORDS] if place else str(one["msg"])[:WORDS])
    if len(found) > MOST_ERRORS:
        lines.append(f"and {len(found) - MOST_ERRORS} more")
    return "; ".join(lines)


LONGEST_NAME = 64
DESCRIPTION = 500  # characters
_NAME = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectTool:
    """One function as a model calls it. `name` is for the model, `path` what guest code writes."""

    name: str
    path: str
    description: str
    parameters: ToolParameters = field(repr=False)
    classes: Mapping[type, str] = field(repr=False, default_factory=dict[type, str])

    def to_tool(self) -> Tool:
        return Tool(
            name=self.name,
            description=sendable(self.description),
            parameters=sendable_schema(self.parameters.schema),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectTools:
    """The tools of a scope, and the marked functions that cannot be tools: path -> why."""

    tools: tuple[DirectTool, ...]
    left_out: Mapping[str, str]


def direct_tools(scope: Scope, *, everything: bool = False) -> DirectTools:
    """The functions of a scope that are marked `direct=True`, or all of them, in the order of the scope."""
    classes = class_names(scope)
    tools: list[DirectTool] = []
    left_out: dict[str, str] = {}
    taken = {EXECUTE, *RESERVED}
    for found in callables(scope):
        if found.path in RESERVED or not (everything or found.operation.direct):
            continue
        try:
            parameters = parameters_of(found, classes)
        except NotOffered as error:
            left_out[found.path] = str(error)
            continue
        name = _name(found.path, taken)
        taken.add(name)
        text = _description(found)
        tool = DirectTool(name=name, path=found.path, description=text, parameters=parameters, classes=classes)
        tools.append(tool)
    return DirectTools(tools=tuple(tools), left_out=left_out)


def _name(path: str, taken: set[str]) -> str:
    """A name that providers take: letters, digits and underscores, at most 64, and no other tool's."""
    plain = _NAME.sub("_", path.replace(".", "__"))
    mark = hashlib.sha256(path.encode()).hexdigest()[:8]
    if len(plain) > LONGEST_NAME or plain in taken:
        plain = f"{plain[: LONGEST_NAME - 9]}_{mark}"
    return plain


def _description(found: ReachableFunction) -> str:
    """The first paragraph of its docs; its signature where it has none."""
    called = getattr(found.function, "func", found.function)
    text = inspect.cleandoc(getattr(called, "__doc__", None) or "").split("\n\n")[0]
    short = one_line(without_keys(text))
    if not short:
        short = found.path + signature_text(found.function, bound=found.bound)
    return cut(short, DESCRIPTION)
