"""The parameters of an operation outside of its body: of 2.0 and 3.x, of the path and of the operation, in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from cellwright.openapi.arguments import Argument, default_text
from cellwright.openapi.documents import Documents
from cellwright.openapi.name_words import argument_name
from cellwright.openapi.operation_plan import ParameterPlan, Place, SecurityScheme
from cellwright.openapi.schema_collector import SchemaCollector
from cellwright.request_headers import is_control_header
from cellwright.schemas import Types, as_list, as_object, as_text, first_sentence

_OWNED = frozenset(("accept", "content-type", "authorization"))  # HTTP's own, as OpenAPI says
_KEYS = frozenset(("token", "access_token", "auth_token", "api_key", "apikey", "authorization"))
_STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
_FORMATS = {"csv": ("form", False), "ssv": ("spaceDelimited", False), "tsv": ("tabDelimited", False),
            "pipes": ("pipeDelimited", False), "multi": ("form", True)}  # fmt: skip
_SCHEMA_2 = ("type", "format", "items", "enum", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
             "minLength", "maxLength", "pattern", "minItems", "maxItems", "multipleOf", "uniqueItems")  # fmt: skip
_HOLE = re.compile(r"\{([^{}]+)\}")
_DOC = 140


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedParameter:
    """A parameter as its description has it, with the base of the document that it stands in."""

    key: str
    place: str  # also "body" and "formData" of 2.0
    node: dict[str, Any]
    base: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadParameter:
    """A parameter read: how code gives it, how it is sent."""

    argument: Argument
    parameter: ParameterPlan


@dataclass(kw_only=True, slots=True)
class ParameterReader:
    """Reads the parameters of one description. What is shared by operations is read once."""

    documents: Documents
    types: Types
    collector: SchemaCollector
    schemes: dict[str, SecurityScheme]
    _read: dict[tuple[int, str], ReadParameter] = field(default_factory=dict[tuple[int, str], ReadParameter])
    _found: dict[tuple[int, str], DescribedParameter] = field(default_factory=dict[tuple[int, str], DescribedParameter])

    def found(self, shared: Any, own: Any, base: str, notes: list[str]) -> list[DescribedParameter]:
        """The parameters of the path and of the operation; those of the operation win."""
        merged: dict[tuple[str, str], DescribedParameter] = {}
        for node in (*as_list(shared), *as_list(own)):
            try:
                one = self._one(node, base)
            except (LookupError, ValueError) as wrong:
                notes.append(f"a parameter left out: {wrong}")
                continue
            if one.place == "header" and is_control_header(one.key):
                notes.append(
                    f"the header {one.key} left out: code sets no header of the connection, of a key or a route"
                )
                continue
            merged[one.place, one.key] = one
        return list(merged.values())

    def _one(self, node: Any, base: str) -> DescribedParameter:
        known = self._found.get((id(node), base))
        if known is None:
            followed, there = self.documents.followed(node, base)
            held = as_object(followed)
            key, place = held.get("name"), as_text(held.get("in"))
            if not isinstance(key, str) or not key:
                raise ValueError("it has no name")
            if place not in (*_STYLES, "body", "formData"):
                raise ValueError(f"{key} is in {place or 'nothing'!r}")
            known = self._found[id(node), base] = DescribedParameter(key=key, place=place, node=held, base=there)
        return known

    def outside(self, found: list[DescribedParameter], url: str, *, secured: bool) -> list[ReadParameter]:
        """The parameters outside of the body; those of the path in the order of the URL, also undescribed ones."""
        holes = list(dict.fromkeys(_HOLE.findall(url)))
        path = {one.key: one for one in found if one.place == "path"}
        read = [self._path(hole, path.get(hole)) for hole in holes]
        for one in found:
            if one.place in ("query", "header", "cookie") and not self._owned(one, secured):
                read.append(self.read(one))
        return read

    def _path(self, hole: str, one: DescribedParameter | None) -> ReadParameter:
        if one is not None:
            return self.read(one)
        bare = hole.rstrip("*+").partition(":")[0]  # `{path*}`, `{id:int}`
        name = argument_name(bare or hole)
        return ReadParameter(
            argument=Argument(name=name, key=hole, place="path", type="str"),
            parameter=ParameterPlan(
                name=name, key=hole, place="path", style="simple", explode=False, required=True, schema={}
            ),
        )

    def _owned(self, one: DescribedParameter, secured: bool) -> bool:
        """Whether code does not give this parameter: headers of HTTP itself, and keys."""
        key = one.key.lower()
        if one.place == "header" and key in _OWNED:
            return True
        if any(s.kind == "apiKey" and s.place == one.place and s.key.lower() == key for s in self.schemes.values()):
            return True
        return secured and key in _KEYS and "authenti" in as_text(one.node.get("description")).lower()

    def read(self, one: DescribedParameter) -> ReadParameter:
        known = self._read.get((id(one.node), one.place))
        if known is None:
            known = self._read[id(one.node), one.place] = self._made(one)
        return known

    def _made(self, one: DescribedParameter) -> ReadParameter:
        schema, content = self._schema(one)
        place = cast("Place", one.place)
        name = argument_name(one.key.lower() if place == "header" else one.key)
        spelled = self.types.taken(schema, one.key, one.base)
        required = place == "path" or one.node.get("required") is True
        held, _ = self._followed(schema, one.base)
        doc = first_sentence(one.node.get("description"), _DOC) or first_sentence(held.get("description"), _DOC)
        style, explode = self._style(one, place)
        argument = Argument(
            name=name, key=one.key, place=place, type=spelled, doc=doc,
            default="" if required else default_text(held, spelled),
        )  # fmt: skip
        parameter = ParameterPlan(
            name=name, key=one.key, place=place, style=style, explode=explode, content=content, required=required,
            reserved=one.node.get("allowReserved") is True, schema=self.collector.kept(schema, one.base),
        )  # fmt: skip
        return ReadParameter(argument=argument, parameter=parameter)

    def _followed(self, schema: Any, base: str) -> tuple[dict[str, Any], str]:
        try:
            found, there = self.documents.followed(schema, base)
        except LookupError:
            return {}, base
        return as_object(found), there

    def _schema(self, one: DescribedParameter) -> tuple[Any, str]:
        """The schema, and the media type where the value is sent by one."""
        content = as_object(one.node.get("content"))
        if content:
            media = next(iter(content))
            return as_object(content[media]).get("schema", {}), media
        if "schema" in one.node:
            return one.node["schema"], ""
        return {key: one.node[key] for key in _SCHEMA_2 if key in one.node}, ""

    def _style(self, one: DescribedParameter, place: Place) -> tuple[str, bool]:
        if self.documents.version == "2.0":
            if one.node.get("type") != "array":
                return _STYLES[place], False
            way, explode = _FORMATS.get(as_text(one.node.get("collectionFormat")) or "csv", ("form", False))
            return (_STYLES[place], False) if place in ("path", "header") and way == "form" else (way, explode)
        style = as_text(one.node.get("style")) or _STYLES[place]
        explode = one.node.get("explode")
        return style, explode if isinstance(explode, bool) else style == "form"
