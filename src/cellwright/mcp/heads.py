"""Parameters of tools, templates and prompts, and the line of Python that declares them.

Those that must be given stand first, in the server's order, the first few of them by position too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cellwright.mcp.names import identifiers
from cellwright.schemas import first_sentence

BY_POSITION = 4
_LONGEST_DEFAULT = 60
_DEEPEST = 8
_SELF = frozenset(("self",))


@dataclass(frozen=True, kw_only=True, slots=True)
class _One:
    name: str
    key: str
    type: str
    required: bool
    default: str = "None"


class Parameters:
    """What one function takes. `keys`: each argument with its key; `docs`: a line for each that says something."""

    def __init__(self, schema: Any, spell: Callable[[Any, str], str]) -> None:
        found = _Found()
        _collect(schema, schema, found, 0)
        names = identifiers(found.fields, taken=_SELF, other="value")
        self._take([_one(names[key], key, node, key in found.required, spell) for key, node in found.fields.items()])
        told = {names[key]: _description(node) for key, node in found.fields.items()}
        self.docs = tuple(f"{name}: {text}" for name, text in told.items() if text)

    def _take(self, listed: list[_One]) -> None:
        self.listed = sorted(listed, key=lambda one: not one.required)
        self.keys = {one.name: one.key for one in self.listed}
        self.required = frozenset(one.key for one in self.listed if one.required)

    @classmethod
    def none(cls) -> Parameters:
        return cls.texts({}, {})

    @classmethod
    def texts(cls, wanted: Mapping[str, bool], docs: Mapping[str, str]) -> Parameters:
        """Parameters that are all texts: each with whether it must be given."""
        fields = {key: {"type": "string", "description": docs.get(key, "")} for key in wanted}
        required = [key for key, must in wanted.items() if must]
        return cls({"properties": fields, "required": required}, lambda schema, hint: "str")

    @classmethod
    def of_template(cls, template: str) -> Parameters | None:
        """The variables of an URI template; None where it cannot be read."""
        from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

        try:
            read = UriTemplate.parse(template)
        except InvalidUriTemplate:
            return None
        optional = read.query_variable_names
        return cls.texts({name: name not in optional for name in read.variable_names}, {})


def head(name: str, given: Parameters, gives: str) -> str:
    """`def create(self, owner: str, *, title: str, body: str | None = None) -> Issue`"""
    first = [one for one in given.listed if one.required][:BY_POSITION] or given.listed[:1]
    rest = [one for one in given.listed if one not in first]
    parts = ["self", *map(_text, first), *(["*"] if rest else []), *map(_text, rest)]
    return f"def {name}({', '.join(parts)}) -> {gives}"


def _text(one: _One) -> str:
    if one.required:
        return f"{one.name}: {one.type}"
    kind = one.type
    if one.default == "None" and kind != "Any" and not kind.endswith("None"):
        kind = f"{kind} | None"
    return f"{one.name}: {kind} = {one.default}"


def _one(name: str, key: str, node: Any, required: bool, spell: Callable[[Any, str], str]) -> _One:
    default: Any = cast("Mapping[str, Any]", node).get("default") if isinstance(node, Mapping) else None
    shown = repr(default) if type(default) in (str, int, float, bool) else "None"
    if len(shown) > _LONGEST_DEFAULT or shown in ("inf", "-inf", "nan"):
        shown = "None"
    return _One(name=name, key=key, type=spell(node, key), required=required, default=shown)


def _description(node: Any) -> str:
    return first_sentence(cast("Mapping[str, Any]", node).get("description")) if isinstance(node, Mapping) else ""


@dataclass(slots=True)
class _Found:
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    required: set[str] = field(default_factory=set[str])


def _collect(schema: Any, document: Any, found: _Found, depth: int, *, surely: bool = True) -> None:
    """The fields of an object's schema, also of those that it is put together from."""
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
