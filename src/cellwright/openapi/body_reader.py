"""Bodies: of a request, which of its media types is sent, and its keys as arguments of their own; of a response, the
type of each successful status, and how it is read.

The `in: body` and `in: formData` of OpenAPI 2.0 are read as a body of 3.x.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cellwright.openapi.arguments import Argument
from cellwright.openapi.documents import Documents
from cellwright.openapi.name_words import argument_name
from cellwright.openapi.object_keys import ObjectKeys, keys_of, united
from cellwright.openapi.operation_plan import BodyPlan, ResponsePlan
from cellwright.openapi.parameter_reader import DescribedParameter
from cellwright.openapi.schema_collector import SchemaCollector
from cellwright.schemas import Types, as_object, as_text, as_texts, first_sentence, is_json

MOST_KEYS = 60  # a body with more is one argument
_FORM, _MULTIPART, _JSON = "application/x-www-form-urlencoded", "multipart/form-data", "application/json"
_DOC = 140


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedBody:
    """A body as its description has it."""

    media: str
    schema: Any
    base: str
    required: bool = False
    encoding: dict[str, Any]
    doc: str = ""


@dataclass(kw_only=True, slots=True)
class BodyReader:
    """Reads the bodies of one description."""

    documents: Documents
    types: Types
    collector: SchemaCollector

    def found(
        self, operation: dict[str, Any], parameters: list[DescribedParameter], base: str, notes: list[str]
    ) -> DescribedBody | None:
        if self.documents.version == "2.0":
            return self._found_2(operation, parameters)
        if "requestBody" not in operation:
            return None
        try:
            node, base = self.documents.followed(operation["requestBody"], base)
        except LookupError as wrong:
            notes.append(f"its body cannot be read: {wrong}")
            return DescribedBody(media=_JSON, schema={}, base=base, encoding={})
        held = as_object(node)
        content = as_object(held.get("content"))
        media = preferred_media(content)
        if not media:
            return None
        told = as_object(content[media])
        schema = as_object(told.get("schema"))
        if not held.get("required") and _is_nothing(schema):
            return None
        binary = schema.get("format") == "binary" or schema.get("type") == "file"
        return DescribedBody(
            media=_JSON if "*" in media and not binary else media,
            schema=told.get("schema", {}),
            base=base,
            required=held.get("required") is True,
            encoding=as_object(told.get("encoding")),
            doc=first_sentence(held.get("description"), _DOC),
        )

    def _found_2(self, operation: dict[str, Any], parameters: list[DescribedParameter]) -> DescribedBody | None:
        takes = as_texts(operation.get("consumes")) or as_texts(self.documents.first.get("consumes"))
        for one in parameters:
            if one.place == "body":
                media = preferred_media(takes) or _JSON
                media = _JSON if media in (_FORM, _MULTIPART) or "*" in media else media
                return DescribedBody(
                    media=media, schema=one.node.get("schema", {}), base=one.base, encoding={},
                    required=one.node.get("required") is True, doc=first_sentence(one.node.get("description"), _DOC),
                )  # fmt: skip
        fields = [one for one in parameters if one.place == "formData"]
        if not fields:
            return None
        files = any(one.node.get("type") == "file" for one in fields)
        media = _MULTIPART if files or (_MULTIPART in takes and _FORM not in takes) else _FORM
        schema = {
            "type": "object",
            "properties": {one.key: _plain(one.node) for one in fields},
            "required": [one.key for one in fields if one.node.get("required") is True],
        }
        several = {one.key: {"style": "form", "explode": one.node.get("collectionFormat") == "multi"}
                   for one in fields if one.node.get("type") == "array"}  # fmt: skip
        return DescribedBody(
            media=media, schema=schema, base=fields[0].base, encoding=several, required=bool(schema["required"])
        )

    def read(self, payload: DescribedBody, hint: str) -> tuple[list[Argument], BodyPlan]:
        """The arguments of a body, and how they make it."""
        schema = self.collector.kept(payload.schema, payload.base)
        kind = payload.media.partition(";")[0].strip().lower()
        has_keys = is_json(kind) or kind in (_FORM, _MULTIPART)
        keys = keys_of(self.documents, payload.schema, payload.base) if has_keys else ObjectKeys()
        keys = united(self.documents, keys) if keys.open else keys
        writable = {key: one for key, one in keys.found.items() if as_object(one[0]).get("readOnly") is not True}
        if not writable or keys.open or len(writable) > MOST_KEYS or keys.kind not in ("object", ""):
            return self._whole(payload, schema, hint)
        arguments: list[Argument] = []
        for key, (inner, base) in writable.items():
            spelled, doc = self.types.taken(inner, f"{hint} {key}", base), self._doc(inner, base)
            default = "" if payload.required and key in keys.required else "None"
            name = argument_name(key)
            arguments.append(Argument(name=name, key=key, place="body", type=spelled, default=default, doc=doc))
        body = BodyPlan(
            media=payload.media, required=payload.required, schema=schema, encoding=payload.encoding,
            fields={one.key: one.key for one in arguments},
        )  # fmt: skip
        return arguments, body

    def _whole(self, payload: DescribedBody, schema: Any, hint: str) -> tuple[list[Argument], BodyPlan]:
        kind = payload.media.partition(";")[0].lower()
        if is_json(kind) or kind in (_FORM, _MULTIPART):
            spelled = self.types.taken(payload.schema, f"{hint} body", payload.base)
            spelled = "dict[str, Any]" if kind in (_FORM, _MULTIPART) and spelled == "Any" else spelled
        else:
            spelled = "str" if _is_text(kind) else "bytes"
        default = "" if payload.required else "None"
        whole = Argument(name="body", key="body", place="body", type=spelled, default=default, doc=payload.doc)
        body = BodyPlan(
            media=payload.media, required=payload.required, whole="body", schema=schema, encoding=payload.encoding
        )
        return [whole], body

    def _doc(self, schema: Any, base: str) -> str:
        doc = as_object(schema).get("description")
        if doc is None and "$ref" in as_object(schema):
            try:
                doc = as_object(self.documents.followed(schema, base)[0]).get("description")
            except LookupError:
                doc = None
        return first_sentence(doc, _DOC)


def preferred_media(content: Iterable[str]) -> str:
    """The media type that is used: JSON first, then forms, then text, then any other."""
    ranked = sorted(content, key=_rank)  # stable: of two equal ones the first
    return ranked[0] if ranked else ""


def _rank(media: str) -> int:
    kind = media.partition(";")[0].strip().lower()
    if kind == _JSON:
        return 0 if ";" not in media else 1
    if is_json(kind):
        return 2 if "*" not in kind else 4
    if kind == _FORM:
        return 3
    return 5 if kind.startswith("multipart/") else 6 if _is_text(kind) else 7


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.endswith(("xml", "yaml", "json", "graphql", "javascript", "x-ndjson"))


def _is_nothing(schema: dict[str, Any]) -> bool:
    """Whether the schema is an object that allows no keys: Stripe's way to say that there is no body."""
    return schema.get("properties") == {} and not schema.get("additionalProperties") and "allOf" not in schema


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in node.items() if key not in ("name", "in", "required", "collectionFormat")}
    if as_text(kept.get("type")) == "file":
        kept |= {"type": "string", "format": "binary"}
    return kept


_EMPTY = ("204", "205", "304")
_MEMBERS = 3  # types of different statuses that are told


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribedResponse:
    """A successful status as it is described. `schema` is None where there is none."""

    status: str
    media: str
    schema: Any
    base: str
    link: bool = False  # it has a Link header


@dataclass(kw_only=True, slots=True)
class ResponseReader:
    """Reads the responses of one description."""

    documents: Documents
    types: Types

    def found(self, operation: dict[str, Any], base: str) -> list[DescribedResponse]:
        """The successful statuses, the most likely first."""
        responses = {str(status).upper(): node for status, node in as_object(operation.get("responses")).items()}
        wanted = sorted(status for status in responses if status[:1] == "2")
        if not wanted and "DEFAULT" in responses:
            wanted = ["DEFAULT"]
        return [self._one(status, responses[status], base, operation) for status in wanted]

    def _one(self, status: str, node: Any, base: str, operation: dict[str, Any]) -> DescribedResponse:
        name = "default" if status == "DEFAULT" else status
        try:
            followed, base = self.documents.followed(node, base)
        except LookupError:
            return DescribedResponse(status=name, media="*/*", schema=None, base=base)
        held = as_object(followed)
        link = any(key.lower() == "link" for key in as_object(held.get("headers")))
        if self.documents.version == "2.0":
            media, schema = self._content_2(held, operation)
        else:
            content = as_object(held.get("content"))
            media = preferred_media(content)
            schema = as_object(content.get(media)).get("schema") if media else None
        if not media and status not in _EMPTY:
            media = "*/*"  # not described; a body may come nevertheless
        return DescribedResponse(status=name, media=media, schema=schema, base=base, link=link)

    def _content_2(self, held: dict[str, Any], operation: dict[str, Any]) -> tuple[str, Any]:
        schema = held.get("schema")
        if schema is None:
            return "", None
        gives = as_texts(operation.get("produces")) or as_texts(self.documents.first.get("produces"))
        media = preferred_media(gives) or "application/json"
        if as_text(as_object(schema).get("type")) == "file" and is_json(media):
            media = "application/octet-stream"
        return media, schema

    def read(self, found: list[DescribedResponse], hint: str, method: str) -> tuple[str, dict[str, ResponsePlan]]:
        """The type of the result, and the readings by status."""
        if method == "head":
            return "None", {one.status: ResponsePlan() for one in found}
        spelled: list[str] = []
        responses: dict[str, ResponsePlan] = {}
        for one in found:
            told, reading = self._spelled(one, hint)
            responses[one.status] = ResponsePlan(media=one.media, reading=reading)
            if told not in spelled:
                spelled.append(told)
        return union(spelled), responses

    def _spelled(self, one: DescribedResponse, hint: str) -> tuple[str, Any]:
        if not one.media:
            return "None", None
        if one.schema is not None and is_json(one.media):
            return self.types.given(one.schema, f"{hint} result", one.base)
        if is_json(one.media):
            return "Any", None
        kind = one.media.partition(";")[0].lower()
        is_text = kind.startswith("text/") or kind.endswith(("xml", "yaml", "javascript", "ndjson"))
        return ("str" if is_text else "bytes"), None


def union(spelled: list[str]) -> str:
    """The types of several statuses as one."""
    told = [one for one in spelled if one != "None"]
    if not told:
        return "None" if spelled else "Any"
    if "Any" in told or len(told) > _MEMBERS:
        return told[0] if told[0] != "Any" and "Any" not in told else "Any"
    members = list(dict.fromkeys(part for one in told for part in _members(one)))
    if "None" in spelled and "None" not in members:
        members.append("None")
    return " | ".join(members)


def _members(spelled: str) -> list[str]:
    """The members of a union's text, those inside of brackets left together."""
    found: list[str] = []
    depth, start = 0, 0
    for at, sign in enumerate(spelled):
        depth += (sign in "[(") - (sign in "])")
        if sign == "|" and depth == 0:
            found.append(spelled[start:at].strip())
            start = at + 1
    return [*found, spelled[start:].strip()]
