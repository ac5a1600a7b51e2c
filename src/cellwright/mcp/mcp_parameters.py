"""Parameters of tools, templates and prompts, and the signature that has them.

Required parameters come first, in the server's order; the first few of them may be given by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cellwright.mcp.tool_names import identifiers
from cellwright.schemas import first_sentence
from cellwright.scope import KEYWORD_ONLY, POSITIONAL, Parameter, Signature

BY_POSITION = 4
_LONGEST_DEFAULT = 60
_DEEPEST = 8
_SELF = frozenset(("self",))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Field:
    name: str
    key: str
    type: str
    required: bool
    default: str = "None"


class McpParameters:
    """The parameters of one function. `keys` has the server's key of each, `docs` a line for each description."""

    def __init__(self, schema: Any, spell: Callable[[Any, str], str]) -> None:
        collected = _Fields()
        _collect(schema, schema, collected, 0)
        names = identifiers(collected.fields, taken=_SELF, other="value")
        nodes = collected.fields.items()
        fields = [_field(names[key], key, node, key in collected.required, spell) for key, node in nodes]
        self.listed = sorted(fields, key=lambda field: not field.required)
        self.keys = {field.name: field.key for field in self.listed}
        self.required = frozenset(collected.required)
        docs = {names[key]: _description(node) for key, node in nodes}
        self.docs = tuple(f"{name}: {text}" for name, text in docs.items() if text)

    @classmethod
    def texts(cls, wanted: Mapping[str, bool], docs: Mapping[str, str]) -> McpParameters:
        """Parameters that are all texts, each with whether it is required."""
        fields = {key: {"type": "string", "description": docs.get(key, "")} for key in wanted}
        required = [key for key, must in wanted.items() if must]
        return cls({"properties": fields, "required": required}, lambda schema, hint: "str")

    @classmethod
    def of_template(cls, template: str) -> McpParameters | None:
        """The variables of a URI template; None if the template is malformed."""
        from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

        try:
            read = UriTemplate.parse(template)
        except InvalidUriTemplate:
            return None
        optional = read.query_variable_names
        return cls.texts({name: name not in optional for name in read.variable_names}, {})


def signature(given: McpParameters, gives: str) -> Signature:
    """`(owner: str, *, title: str, body: str | None = None) -> Issue`"""
    first = [one for one in given.listed if one.required][:BY_POSITION] or given.listed[:1]
    rest = [one for one in given.listed if one not in first]
    parameters = [*(_parameter(one, POSITIONAL) for one in first), *(_parameter(one, KEYWORD_ONLY) for one in rest)]
    return Signature(parameters=tuple(parameters), returns=gives)


def _parameter(one: _Field, place: int) -> Parameter:
    if one.required:
        return Parameter(name=one.name, type=one.type, kind=place)
    kind = one.type
    if one.default == "None" and kind != "Any" and not kind.endswith("None"):
        kind = f"{kind} | None"
    return Parameter(name=one.name, type=kind, default=one.default, kind=place)


def _field(name: str, key: str, node: Any, required: bool, spell: Callable[[Any, str], str]) -> _Field:
    default: Any = cast("Mapping[str, Any]", node).get("default") if isinstance(node, Mapping) else None
    shown = repr(default) if type(default) in (str, int, float, bool) else "None"
    if len(shown) > _LONGEST_DEFAULT or shown in ("inf", "-inf", "nan"):
        shown = "None"
    return _Field(name=name, key=key, type=spell(node, key), required=required, default=shown)


def _description(node: Any) -> str:
    return first_sentence(cast("Mapping[str, Any]", node).get("description")) if isinstance(node, Mapping) else ""


@dataclass(slots=True)
class _Fields:
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    required: set[str] = field(default_factory=set[str])


def _collect(schema: Any, document: Any, found: _Fields, depth: int, *, surely: bool = True) -> None:
    """Collect the fields of an object's schema, also those of its references and members."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    node = cast("Mapping[str, Any]", schema)
    fields: Any = node.get("properties")
    if isinstance(fields, Mapping):
        for key, one in cast("Mapping[str, Any]", fields).items():
            found.fields.setdefault(str(key), one)
    required: Any = node.get("required")
    if surely and isinstance(required, list):
        found.required |= {key for key in cast("list[Any]", required) if isinstance(key, str) and key in found.fields}
    ref: Any = node.get("$ref")
    if isinstance(ref, str):
        from cellwright.schemas import local_resolve

        try:
            _collect(local_resolve(document)(ref, "")[1], document, found, depth + 1, surely=surely)
        except LookupError:
            pass
    for word in ("allOf", "anyOf", "oneOf"):
        members: Any = node.get(word)
        for member in cast("list[Any]", members) if isinstance(members, list) else ():
            _collect(member, document, found, depth + 1, surely=surely and word == "allOf")
