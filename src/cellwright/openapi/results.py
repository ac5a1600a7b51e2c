"""What an operation gives: the media type and the schema of each good status, as a type and as readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cellwright.openapi.documents import Documents
from cellwright.openapi.payloads import chosen
from cellwright.openapi.plans import Response
from cellwright.openapi.reading import is_json, mapping, text, texts
from cellwright.schemas import Types

_EMPTY = ("204", "205", "304")
_MEMBERS = 3  # types of different statuses that are told


@dataclass(frozen=True, kw_only=True, slots=True)
class Good:
    """A good status as its description has it. `schema` is None where there is none."""

    status: str
    media: str
    schema: Any
    base: str
    link: bool = False  # it has a Link header


@dataclass(kw_only=True, slots=True)
class Results:
    """Reads the responses of one description."""

    documents: Documents
    types: Types

    def found(self, operation: dict[str, Any], base: str) -> list[Good]:
        """The good statuses, the likeliest first."""
        responses = {str(status).upper(): node for status, node in mapping(operation.get("responses")).items()}
        wanted = sorted(status for status in responses if status[:1] == "2")
        if not wanted and "DEFAULT" in responses:
            wanted = ["DEFAULT"]
        return [self._one(status, responses[status], base, operation) for status in wanted]

    def _one(self, status: str, node: Any, base: str, operation: dict[str, Any]) -> Good:
        name = "default" if status == "DEFAULT" else status
        try:
            followed, base = self.documents.followed(node, base)
        except LookupError:
            return Good(status=name, media="*/*", schema=None, base=base)
        held = mapping(followed)
        link = any(key.lower() == "link" for key in mapping(held.get("headers")))
        if self.documents.version == "2.0":
            media, schema = self._content_2(held, operation)
        else:
            content = mapping(held.get("content"))
            media = chosen(content)
            schema = mapping(content.get(media)).get("schema") if media else None
        if not media and status not in _EMPTY:
            media = "*/*"  # nothing is said; something may come all the same
        return Good(status=name, media=media, schema=schema, base=base, link=link)

    def _content_2(self, held: dict[str, Any], operation: dict[str, Any]) -> tuple[str, Any]:
        schema = held.get("schema")
        if schema is None:
            return "", None
        gives = texts(operation.get("produces")) or texts(self.documents.first.get("produces"))
        media = chosen(gives) or "application/json"
        if text(mapping(schema).get("type")) == "file" and is_json(media):
            media = "application/octet-stream"
        return media, schema

    def read(self, found: list[Good], hint: str, method: str) -> tuple[str, dict[str, Response]]:
        """The type of what comes, and the readings by status."""
        if method == "head":
            return "None", {one.status: Response() for one in found}
        spelled: list[str] = []
        responses: dict[str, Response] = {}
        for one in found:
            told, reading = self._spelled(one, hint)
            responses[one.status] = Response(media=one.media, reading=reading)
            if told not in spelled:
                spelled.append(told)
        return union(spelled), responses

    def _spelled(self, one: Good, hint: str) -> tuple[str, Any]:
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
