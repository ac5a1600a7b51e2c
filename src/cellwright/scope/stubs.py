"""Stubs: the `.pyi` text of a name. What the model reads, and what a type checker checks against."""

from __future__ import annotations

import enum
import inspect
import types
from typing import Any

from cellwright.scope.classes import field_names, is_model, kind_of
from cellwright.scope.members import FUNCTIONS, Member, is_async, members, module_members, operators
from cellwright.scope.rules import Place, Rules
from cellwright.scope.scope import Scope
from cellwright.scope.signatures import annotation_text, default_text, doc, signature_text
from cellwright_guest.wire import type_of

DOC_LINES = 12
_SHOWN_OPERATORS = "__len__ __contains__ __getitem__ __setitem__ __iter__ __call__ __enter__ __aenter__".split()
_PLAIN: tuple[type[Any], ...] = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset)


def stub(scope: Scope, name: str) -> str:
    """The stub of `name` ("crm", "crm.contacts", "crm.contacts.create"). KeyError where the scope has no such name."""
    root, *rest = name.split(".")
    value = scope.get(root)
    path = scope.path(root)
    for part in rest:
        value, path = _step(scope.rules, value, path, part), f"{path}.{part}"
    return _stub(scope.rules, value, path, name)


def _step(rules: Rules, value: Any, path: str, part: str) -> Any:
    """The member `part` of a value, read as the guest would get it."""
    kind = type_of(value)
    if isinstance(value, types.ModuleType):
        shown = module_members(value)
        if part in shown and rules.verdict(Place(path, kind), part).visible:
            return shown[part]
        raise KeyError(part)
    owner: type[Any] = value if issubclass(kind, type) else kind
    member = members(owner).get(part)
    data = member is None or member.kind == "property"
    if not rules.verdict(Place(path, owner), part, data=data).visible:
        raise KeyError(part)
    if issubclass(kind, dict) and part in value:
        return value[part]
    try:
        return getattr(value, part)
    except AttributeError:
        raise KeyError(part) from None


def _stub(rules: Rules, value: Any, path: str, shown: str) -> str:
    short = shown.rpartition(".")[2]
    if isinstance(value, type):
        return class_stub(rules, value, path)
    if isinstance(value, types.ModuleType):
        return _module_stub(rules, value, path, shown)
    if isinstance(value, FUNCTIONS) or (callable(value) and hasattr(value, "__name__")):
        return function_stub(value, short)
    kind = type_of(value)
    if value is None or issubclass(kind, _PLAIN):
        return f"{short}: {kind.__name__}  # {'a dict' if issubclass(kind, dict) else default_text(value)}\n"
    return f"{short}: {kind.__name__}\n\n{class_stub(rules, kind, path, instance=value)}"


def function_stub(function: Any, name: str, *, bound: bool = False, indent: str = "", first: str = "") -> str:
    """`def name(…) -> …:` with its docstring."""
    text = signature_text(function, bound=bound)
    if first:
        text = f"({first}, {text[1:]}" if text[1:2] != ")" else f"({first}{text[1:]}"
    head = f"{indent}{'async ' if is_async(function) else ''}def {name}{text}:"
    words = _doc(getattr(function, "func", function), indent + "    ")
    return f"{head} ...\n" if not words else f"{head}\n{words}{indent}    ...\n"


def class_stub(rules: Rules, cls: type, path: str, *, instance: Any = None) -> str:
    """The class as guest code sees it: fields, properties, methods and the operators that it has."""
    how = kind_of(cls)
    bases = [b.__name__ for b in cls.__bases__ if b is not object and not b.__name__.startswith("_")]
    lines = [f"class {cls.__name__}{'(' + ', '.join(bases) + ')' if bases and how in ('enum', 'error') else ''}:\n"]
    lines.append(_doc(cls, "    "))
    if how == "enum" and issubclass(cls, enum.Enum):
        lines += [f"    {n} = {default_text(m.value)}\n" for n, m in cls.__members__.items()]
        return "".join(lines)
    if how in ("record", "model", "namedtuple"):
        lines += _fields(cls)
        return "".join(lines)
    place = Place(path, cls)
    for name, member in sorted(members(cls).items()):
        if rules.verdict(place, name, data=member.kind == "property").visible:
            lines.append(_member_stub(member))
    lines += _instance_attributes(rules, place, cls, instance)
    for name in operators(cls):
        if name in _SHOWN_OPERATORS:
            made = function_stub(getattr(cls, name), name, bound=True, indent="    ", first="self")
            lines.append(made.split("\n")[0])
            lines.append(" ...\n" if not lines[-1].endswith("...") else "\n")
    return "".join(lines) if len([x for x in lines if x]) > 1 else lines[0] + "    ...\n"


def _member_stub(member: Member) -> str:
    match member.kind:
        case "property":
            returns = inspect.signature(member.value.fget).return_annotation if _has_getter(member.value) else None
            text = annotation_text(returns) if returns is not None and returns is not inspect.Signature.empty else "Any"
            return f"    @property\n    def {member.name}(self) -> {text}: ...\n"
        case "static":
            return "    @staticmethod\n" + function_stub(member.value, member.name, indent="    ")
        case "class":
            made = function_stub(member.value, member.name, bound=True, indent="    ", first="cls")
            return "    @classmethod\n" + made
        case _:
            return function_stub(member.value, member.name, bound=True, indent="    ", first="self")


def _has_getter(value: Any) -> bool:
    return isinstance(value, property) and value.fget is not None


def _instance_attributes(rules: Rules, place: Place, cls: type, instance: Any) -> list[str]:
    own: Any = getattr(instance, "__dict__", None)
    if type_of(own) is not dict:
        return []
    hints = getattr(cls, "__annotations__", {})
    return [
        f"    {name}: {annotation_text(hints[name]) if name in hints else type(value).__name__}\n"
        for name, value in own.items()
        if isinstance(name, str) and rules.verdict(place, name, data=not callable(value)).visible
    ]


def _fields(cls: Any) -> list[str]:
    if is_model(cls):
        return [f"    {n}: {annotation_text(f.annotation)}{_model_default(f)}\n" for n, f in cls.model_fields.items()]
    hints = getattr(cls, "__annotations__", {})
    found = signature_defaults(cls)
    names = cls._fields if hasattr(cls, "_fields") else field_names(cls)
    return [f"    {n}: {annotation_text(hints.get(n, 'Any'))}{found.get(n, '')}\n" for n in names]


def signature_defaults(cls: Any) -> dict[str, str]:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (ValueError, TypeError):
        return {}
    return {p.name: f" = {default_text(p.default)}" for p in parameters if p.default is not inspect.Parameter.empty}


def _model_default(field: Any) -> str:
    return "" if field.is_required() else f" = {default_text(field.default)}"


def _module_stub(rules: Rules, module: types.ModuleType, path: str, shown: str) -> str:
    place = Place(path, types.ModuleType)
    parts = [f"# module {shown}\n", *([f'"""{doc(module, 300)}"""\n'] if doc(module) else [])]
    for name, value in sorted(module_members(module).items()):
        if rules.verdict(place, name, data=not callable(value)).visible:
            parts.append(_stub(rules, value, f"{path}.{name}", f"{shown}.{name}"))
    return "\n".join(parts)


def _doc(value: Any, indent: str) -> str:
    text = doc(value)
    if not text or (isinstance(value, type) and text.startswith(f"{value.__name__}(")):  # what dataclass writes itself
        return ""
    lines = text.splitlines()
    if len(lines) > DOC_LINES:
        lines = [*lines[:DOC_LINES], "…"]
    text = lines[0] if len(lines) == 1 else "\n".join([lines[0], *(indent + x if x else x for x in lines[1:]), indent])
    return f'{indent}"""{text}"""\n'.replace("\\", "\\\\")
