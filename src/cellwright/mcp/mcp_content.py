"""The content of results as values: text, bytes and records. It knows no connection.

A result with an output schema is read by that schema. Without one, text that is JSON is read, other text stays text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

import mcp_types as types

from cellwright.schemas import as_object
from cellwright.schemas import as_text as text_of


def _schema(description: str, required: list[str], /, **types: str) -> dict[str, Any]:
    binary = {"type": "string", "format": "binary"}
    fields = {name: binary if kind == "binary" else {"type": kind} for name, kind in types.items()}
    about = {"description": description} if description else {}
    return {"type": "object", **about, "properties": fields, "required": required}


MEDIA = _schema("An image or a sound.", ["mime_type", "data"], mime_type="string", data="binary")
LINK = _schema(
    "A resource of the server, to be read with `resources.read(uri)`.",
    ["uri", "name"],
    uri="string", name="string", description="string", mime_type="string",
)  # fmt: skip
RESOURCE = _schema(
    "",
    ["uri", "name"],
    uri="string", name="string", title="string", description="string", mime_type="string", size="integer",
)  # fmt: skip
_LONGEST_JSON = 8 << 20
_MADE_UP = ("Output", "DictModel", "Result")  # endings of the titles that SDKs make from a function's name


def unwrapped(schema: Any) -> Any:
    """The schema inside `{"result": …}`, which SDKs put round results that are no objects; None for other schemas."""
    node = as_object(schema)
    fields = as_object(node.get("properties"))
    wraps = set(fields) == {"result"} and node.get("required") == ["result"] and node.get("type") == "object"
    return fields["result"] if wraps else None


def titled(schema: Any) -> str:
    """The title of a schema if it is the name of a class, and none that SDKs make up; else ""."""
    title = text_of(as_object(schema).get("title"))
    return title if re.fullmatch(r"[A-Z][A-Za-z0-9]{1,40}", title) and not title.endswith(_MADE_UP) else ""


def parts_of(content: list[Any]) -> Iterator[tuple[str, Any]]:
    """Each part as ("text", str), ("bytes", bytes), or ("Media" | "ResourceLink", fields)."""
    for part in content:
        match part:
            case types.TextContent():
                yield "text", part.text
            case types.ImageContent() | types.AudioContent():
                yield "Media", {"mime_type": part.mime_type, "data": _bytes(part.data)}
            case types.EmbeddedResource():
                yield contents(part.resource)
            case types.ResourceLink():
                yield "ResourceLink", resource_fields(part)
            case _:
                yield "text", repr(part)


def contents(one: Any) -> tuple[str, Any]:
    """The content of a resource: text, or bytes."""
    return ("text", one.text) if isinstance(one, types.TextResourceContents) else ("bytes", _bytes(one.blob))


def resource_fields(one: Any) -> dict[str, Any]:
    fields = {name: getattr(one, name, None) for name in ("uri", "name", "title", "description", "mime_type", "size")}
    return {name: str(value) if name == "uri" else value for name, value in fields.items() if value is not None}


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):  # the server calls it base64, and it is not: the text is better than nothing
        return data.encode()


def as_json(text: str) -> Any:
    """The JSON object or array in a text; the text itself if it holds neither."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _LONGEST_JSON:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_text(content: list[Any]) -> str:
    """Content as one text: the error of a tool, or a message of a prompt."""
    lines: list[str] = []
    for kind, value in parts_of(content):
        if kind == "text":
            lines.append(value)
        elif kind == "bytes":
            lines.append(f"[{len(value)} bytes]")
        else:
            lines.append(f"[{value.get('mime_type') or kind}{' ' + value['uri'] if 'uri' in value else ''}]")
    return "\n".join(lines)


def prompt_text(messages: list[Any]) -> str:
    """The messages of a prompt as one text; with their roles if they are several."""
    texts = [(message.role, as_text([message.content])) for message in messages]
    return texts[0][1] if len(texts) == 1 else "\n\n".join(f"{role}: {text}" for role, text in texts)
