"""The results of an operation: media type and schema of each successful status, as a type and as readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cellwright.openapi.body_reader import preferred_media
from cellwright.openapi.documents import Documents
from cellwright.openapi.operation_plan import ResponsePlan
from cellwright.schemas import Types, as_object, as_text, as_texts, is_json

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
