"""The body of a request: which of its media types is sent, and its keys as arguments of their own.

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
from cellwright.openapi.operation_plan import BodyPlan
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
        if not held.get("required") and _is_nothing(as_object(told.get("schema"))):
            return None
        return DescribedBody(
            media=_JSON if "*" in media and not _is_binary(as_object(told.get("schema"))) else media,
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
        keys = keys_of(self.documents, payload.schema, payload.base) if _has_keys(payload.media) else ObjectKeys()
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


def _has_keys(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return is_json(kind) or kind in (_FORM, _MULTIPART)


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.endswith(("xml", "yaml", "json", "graphql", "javascript", "x-ndjson"))


def _is_binary(schema: dict[str, Any]) -> bool:
    return schema.get("format") == "binary" or schema.get("type") == "file"


def _is_nothing(schema: dict[str, Any]) -> bool:
    """Whether the schema is an object that allows no keys: Stripe's way to say that there is no body."""
    return schema.get("properties") == {} and not schema.get("additionalProperties") and "allOf" not in schema


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in node.items() if key not in ("name", "in", "required", "collectionFormat")}
    if as_text(kept.get("type")) == "file":
        kept |= {"type": "string", "format": "binary"}
    return kept
