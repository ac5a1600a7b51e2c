"""`Parameter` and `Signature`: what a function takes and gives, as values.

They are read from Python functions here, and built directly by connectors. Stubs, outlines, messages, the type
checker's modules and the guest's `help` are written from them; nobody reads them back from text.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cellwright.redaction import is_secret_name, without_keys
from cellwright_guest.wire import type_of

DOC_LIMIT = 600
WRAPPERS = 20  # that are looked through for what a `partial` gives
POSITIONAL_ONLY, POSITIONAL, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)  # as `inspect` numbers them
_STARS = {VAR_POSITIONAL: "*", VAR_KEYWORD: "**"}
_EMPTY: Any = inspect.Parameter.empty
_LITERAL = ("'", '"', "b")  # what the source of a text begins with
_KEPT = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, type)
_PARTIALS: tuple[type[Any], ...] = (functools.partial, functools.partialmethod)
_HOLDERS = (type, types.ModuleType)
_CONTAINERS: tuple[type[Any], ...] = (list, dict, tuple, set)


class SourceText(str):
    """A default or an annotation as its source text: it prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter. `type` and `default` are source text, "" where there is none."""

    name: str
    type: str = ""
    default: str = ""
    kind: int = POSITIONAL

    def __post_init__(self) -> None:
        """A default that carries a credential, by its parameter's name or by its format, is not told."""
        text = self.default
        if text and text[0] in _LITERAL and (is_secret_name(self.name) or without_keys(text) != text):
            object.__setattr__(self, "default", "...")

    @property
    def required(self) -> bool:
        return not self.default and self.kind not in _STARS

    @property
    def text(self) -> str:
        """`limit: int = 10`."""
        name = _STARS.get(self.kind, "") + self.name
        if not self.type:
            return f"{name}={self.default}" if self.default else name
        return f"{name}: {self.type} = {self.default}" if self.default else f"{name}: {self.type}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Signature:
    """What a caller gives, without `self`, and the type of the result, "" where it is not known."""

    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    is_async: bool = False

    def parts(self) -> Iterator[tuple[str, bool]]:
        """The parameters as text with the marks `/` and `*` between them; each with whether it must be given."""
        last = -1
        for one in self.parameters:
            if last == POSITIONAL_ONLY != one.kind:
                yield "/", True
            if one.kind == KEYWORD_ONLY and last not in (KEYWORD_ONLY, VAR_POSITIONAL):
                yield "*", True
            yield one.text, not one.default and one.kind != VAR_KEYWORD
            last = one.kind
        if last == POSITIONAL_ONLY:
            yield "/", True

    def text(self, first: str = "") -> str:
        """`(self, name: str, *, limit: int = 10) -> list[Contact]`, where `self` is given as `first`."""
        inside = ", ".join([*([first] if first else ()), *(part for part, _ in self.parts())])
        return f"({inside}) -> {self.returns}" if self.returns else f"({inside})"

    def packed(self) -> list[Any]:
        """As plain data for the guest: parameters, and what it returns."""
        parameters = [[one.name, one.kind, one.default or None, one.type or None] for one in self.parameters]
        return [parameters, self.returns or None]

    def inspected(self) -> inspect.Signature:
        """As Python has it. Annotations and defaults are their text; a default of None is None."""
        kinds = list(inspect._ParameterKind)  # pyright: ignore[reportPrivateUsage]  the enum has no public name
        parameters = [
            inspect.Parameter(
                one.name,
                kinds[one.kind],
                default=None if one.default == "None" else SourceText(one.default) if one.default else _EMPTY,
                annotation=SourceText(one.type) if one.type else _EMPTY,
            )
            for one in self.parameters
        ]
        gives = SourceText(self.returns) if self.returns else inspect.Signature.empty
        return inspect.Signature(parameters, return_annotation=gives, __validate_parameters__=False)


def any_arguments(spelled: str = "Any") -> Signature:
    """The signature of a function of which nothing is known. `spelled`: how `Any` is written."""
    args = Parameter(name="args", type=spelled, kind=VAR_POSITIONAL)
    kwargs = Parameter(name="kwargs", type=spelled, kind=VAR_KEYWORD)
    return Signature(parameters=(args, kwargs), returns=spelled)


def _signature(function: Any) -> inspect.Signature | None:
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError, AttributeError, NameError):
        return None
    given = _given(function)
    if given.isdisjoint(found.parameters):
        return found
    untold = (p.replace(default=SourceText("...")) if p.name in given else p for p in found.parameters.values())
    return found.replace(parameters=list(untold))


def _given(function: Any) -> frozenset[str]:
    """The keyword arguments that a `partial` gives: values of the host, which no signature tells."""
    given = frozenset[str]()
    for _ in range(WRAPPERS):
        if isinstance(function, types.MethodType):
            function = function.__func__
        own: dict[str, Any] = vars(function) if isinstance(function, types.FunctionType) else {}
        held: Any = (
            own.get("__partialmethod__") or own.get("_partialmethod") or function
        )  # since Python 3.13, before it
        if isinstance(held, _PARTIALS):
            given |= held.keywords.keys()
            function = held.func
        elif "__wrapped__" in own:
            function = own["__wrapped__"]
        else:
            break
    return given


_kept_signature = functools.lru_cache(maxsize=4096)(_signature)


def signature(function: Any) -> inspect.Signature | None:
    """The signature as Python tells it; None where it cannot."""
    # one that was made for a run is not kept: it, its annotations and its defaults lead to all that the run had
    kept = isinstance(function, _KEPT) and lives_with_module(function)
    return _kept_signature(function) if kept else _signature(function)


def lives_with_module(value: Any) -> bool:
    """Whether a module has this function or class by its name: then it lives as long as the module."""
    if type_of(value) is types.MethodDescriptorType:
        value = value.__objclass__
    module = value.__module__  # anybody may set that of a function
    found: Any = find_in_module(module, value.__qualname__) if type_of(module) is str else None
    return (found.__func__ if type_of(found) in (staticmethod, classmethod) else found) is value


def find_in_module(module: str, qualname: str) -> Any:
    """What a module has by that name; None if the module is not imported. Imports nothing and runs nothing."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        if not issubclass(type_of(found), _HOLDERS):
            return None
        found = found.__dict__.get(part)
    return found


def unbound(found: inspect.Signature) -> inspect.Signature:
    """A method's signature without its first parameter."""
    return found.replace(parameters=list(found.parameters.values())[1:])


def annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    text = inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text.replace("typing.", "").replace("collections.abc.", ""))


def default_text(value: Any) -> str:
    if type(value) is SourceText:
        return str(value)
    if type(value) is float and not math.isfinite(value):
        return "..."
    if value is None or type(value) in (int, float, str, bool, bytes):
        text = repr(value)
        return text if len(text) <= 60 else "..."
    if isinstance(value, _CONTAINERS) and not value:
        return repr(value)
    return "..."


def is_untold(name: str, default: Any) -> bool:
    """Whether a default is not shown: it carries a credential, by name or by format, or a `partial` gives it."""
    if type(default) is SourceText:
        return default == "..."
    if not isinstance(default, str | bytes):
        return False
    return is_secret_name(name) or without_keys(text := repr(default)) != text


def signature_of(function: Any, *, bound: bool = False) -> Signature | None:
    """The signature of a function by its annotations as they were written; None where Python cannot tell it."""
    found = signature(function)
    if found is None:
        return None
    listed = list(found.parameters.values())[1 if bound else 0 :]
    return Signature(
        parameters=tuple(
            Parameter(
                name=one.name,
                type="" if one.annotation is _EMPTY else annotation_text(one.annotation),
                default="" if one.default is _EMPTY else default_text(one.default),
                kind=int(one.kind),
            )
            for one in listed
        ),
        returns="" if found.return_annotation is _EMPTY else annotation_text(found.return_annotation),
    )


def packed_signature(function: Any, *, bound: bool = False) -> list[Any] | None:
    """The signature as plain data for the guest."""
    known = signature_of(function, bound=bound)
    return None if known is None else known.packed()


def signature_text(function: Any, *, bound: bool = False) -> str:
    """`(name: str, *, limit: int = 10) -> list[Contact]`; any arguments where Python cannot tell them."""
    known = signature_of(function, bound=bound) or any_arguments()
    return known.text() if known.returns else f"{known.text()} -> Any"


def doc(value: Any, limit: int = DOC_LIMIT) -> str:
    """The docstring, cut where it is long."""
    raw: Any = getattr(value, "__doc__", None)
    if type_of(raw) is not str:  # boto3's write themselves when they are read: seconds for one client
        return ""
    kind: type = value if isinstance(value, type) else type_of(value)  # an object has the text of its class
    if raw.startswith(f"{kind.__name__}(") and hasattr(kind, "__dataclass_fields__"):
        known = signature_of(kind)  # the text that `dataclass` writes has every default
        raw = kind.__name__ + (known.text().removesuffix(" -> None") if known else "")
    text = without_keys(inspect.cleandoc(raw))
    return text if len(text) <= limit else text[:limit].rsplit("\n", 1)[0] + "\n…"
