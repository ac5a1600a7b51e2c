"""Results as values: content of the protocol as text, bytes and records. It knows no connection.

A result with an output schema is what the schema says. Without one, text is text, and text that is JSON is read.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types

MEDIA = {
    "type": "object",
    "description": "An image or a sound.",
    "properties": {"mime_type": {"type": "string"}, "data": {"type": "string", "format": "binary"}},
    "required": ["mime_type", "data"],
}
LINK = {
    "type": "object",
    "description": "A resource of the server, to be read with `resources.read(uri)`.",
    "properties": {
        "uri": {"type": "string"},
        "name": {"type": "string"},
        "description": {"type": "string"},
        "mime_type": {"type": "string"},
    },
    "required": ["uri", "name"],
}
RESOURCE = {
    "type": "object",
    "properties": {
        "uri": {"type": "string"},
        "name": {"type": "string"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "mime_type": {"type": "string"},
        "size": {"type": "integer"},
    },
    "required": ["uri", "name"],
}
_LONGEST_JSON = 8 << 20
_MADE_UP = ("Output", "DictModel", "Result")  # of a function's name, which is not theirs to give


def unwrapped(schema: Any) -> Any:
    """The schema inside of `{"result": …}`, which SDKs put round results that are no objects; None where it is not."""
    if not isinstance(schema, Mapping):
        return None
    node = cast("Mapping[str, Any]", schema)
    fields: Any = node.get("properties")
    inside: Mapping[str, Any] = cast("Mapping[str, Any]", fields) if isinstance(fields, Mapping) else {}
    if set(inside) != {"result"}:
        return None
    return inside["result"] if node.get("required") == ["result"] and node.get("type") == "object" else None


def titled(schema: Any) -> str:
    """What a schema calls itself, where that is the name of a class; not the names that SDKs make up."""
    title: Any = cast("Mapping[str, Any]", schema).get("title") if isinstance(schema, Mapping) else None
    fits = isinstance(title, str) and re.fullmatch(r"[A-Z][A-Za-z0-9]{1,40}", title) and not title.endswith(_MADE_UP)
    return str(title) if fits else ""


def parts_of(content: list[Any]) -> list[tuple[str, Any]]:
    """Each part as ("text", str), ("bytes", bytes), or ("Media" | "ResourceLink", fields)."""
    return [_part(one) for one in content]


def _part(one: Any) -> tuple[str, Any]:
    if isinstance(one, types.TextContent):
        return "text", one.text
    if isinstance(one, types.ImageContent | types.AudioContent):
        return "Media", {"mime_type": one.mime_type, "data": _bytes(one.data)}
    if isinstance(one, types.EmbeddedResource):
        return contents(one.resource)
    if isinstance(one, types.ResourceLink):
        return "ResourceLink", resource_fields(one)
    return "text", repr(one)


def contents(one: Any) -> tuple[str, Any]:
    """What a resource holds: text, or bytes."""
    return ("text", one.text) if isinstance(one, types.TextResourceContents) else ("bytes", _bytes(one.blob))


def resource_fields(one: Any) -> dict[str, Any]:
    found = {name: getattr(one, name, None) for name in ("uri", "name", "title", "description", "mime_type", "size")}
    return {name: str(value) if name == "uri" else value for name, value in found.items() if value is not None}


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):  # said to be base64 and is not: what came is better than nothing
        return data.encode()


def as_json(text: str) -> Any:
    """The object or array that a text is; the text itself where it is neither."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _LONGEST_JSON:
        return text
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found


def told(content: list[Any]) -> str:
    """Content as one text: what a tool says of its failure, or the messages of a prompt."""
    said: list[str] = []
    for kind, value in parts_of(content):
        if kind == "text":
            said.append(value)
        elif kind == "bytes":
            said.append(f"[{len(value)} bytes]")
        else:
            said.append(f"[{value.get('mime_type') or kind}{' ' + value['uri'] if 'uri' in value else ''}]")
    return "\n".join(said)


def messages(listed: list[Any]) -> str:
    """The messages of a prompt as one text; who speaks is said where they are several."""
    texts = [(one.role, told([one.content])) for one in listed]
    return texts[0][1] if len(texts) == 1 else "\n\n".join(f"{role}: {text}" for role, text in texts)
