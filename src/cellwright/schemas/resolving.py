"""`$ref`: where it leads. A source brings its own `Resolve`; here is the one for pointers into one document.

It knows neither files nor networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote

# (ref, base) -> (canonical id, schema, its base); raises LookupError. A base names a document, "" the first.
Resolve = Callable[[str, str], tuple[str, Any, str]]

_CONTAINERS = frozenset(("schemas", "definitions", "$defs", "models", "responses", "parameters", "requestBodies"))


def local_resolve(document: Any) -> Resolve:
    """Pointers into this document: `#`, `#/$defs/Item`, and `#name` for a schema with that `$anchor`."""

    anchors: dict[str, Any] = {}  # found so far: a value may lead to one many times

    def resolve(ref: str, base: str) -> tuple[str, Any, str]:
        head, _, pointer = ref.partition("#")
        if head:
            raise LookupError(f"{ref} leads out of the schema")
        if pointer and not pointer.startswith("/"):
            if pointer not in anchors:
                anchors[pointer] = _anchored(document, pointer)
            return f"#{pointer}", anchors[pointer], base
        return f"#{pointer}", follow(document, pointer), base

    return resolve


def follow(document: Any, pointer: str) -> Any:
    """What a JSON pointer leads to in a document."""
    found = document
    for part in pointer_parts(pointer):
        if isinstance(found, dict) and part in found:
            found = cast("dict[str, Any]", found)[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(part)]
        else:
            raise LookupError(f"nothing at #{pointer}")
    return found


def pointer_parts(pointer: str) -> list[str]:
    return [unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _anchored(document: Any, anchor: str) -> Any:
    todo: list[Any] = [document]
    while todo:
        found = todo.pop()
        if isinstance(found, dict):
            node = cast("dict[str, Any]", found)
            if anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
                return node
            todo += node.values()
        elif isinstance(found, list):
            todo += cast("list[Any]", found)
    raise LookupError(f"no schema has the anchor {anchor}")


def name_in(identity: str) -> str:
    """The name that a schema has by its place: `…#/components/schemas/issue` → `issue`; "" where it has none."""
    document, _, pointer = identity.partition("#")
    parts = pointer_parts(pointer)
    if not parts:
        stem = document.rstrip("/").rpartition("/")[2]
        return stem.partition(".")[0] if pointer in ("", "/") else pointer
    if len(parts) > 1 and parts[-2] not in _CONTAINERS:
        return ""
    return parts[-1]
