"""`$ref`s and their targets. Each source has its own `Resolve`; the one for pointers into one document is here.

It knows neither files nor networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast
from urllib.parse import unquote

# (ref, base) -> (canonical id, schema, its base); raises LookupError. A base names a document, "" the first.
Resolve = Callable[[str, str], tuple[str, Any, str]]

_CONTAINERS = frozenset(("schemas", "definitions", "$defs", "models", "responses", "parameters", "requestBodies"))


def local_resolve(document: Any) -> Resolve:
    """Pointers into this document: `#`, `#/$defs/Item`, and `#name` for a schema with that `$anchor`."""

    anchors: dict[str, Any] | None = None

    def resolve(ref: str, base: str) -> tuple[str, Any, str]:
        head, _, pointer = ref.partition("#")
        if head:
            raise LookupError(f"{ref} leads out of the schema")
        if pointer and not pointer.startswith("/"):
            nonlocal anchors
            anchors = anchors_of(document) if anchors is None else anchors
            if pointer not in anchors:
                raise LookupError(f"no schema has the anchor {pointer}")
            return f"#{pointer}", anchors[pointer], base
        parts = (unquote(part) for part in pointer.split("/")[1:])
        return f"#{pointer}", follow(document, parts, f"nothing at #{pointer}"), base

    return resolve


def follow(document: Any, parts: Iterable[str], missing: str) -> Any:
    """The value that the parts of a JSON pointer lead to. LookupError with the text `missing` where there is none."""
    found = document
    for part in parts:
        part = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
        if isinstance(found, dict) and part in found:
            found = cast("dict[str, Any]", found)[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(part)]
        else:
            raise LookupError(missing)
    return found


def anchors_of(document: Any) -> dict[str, Any]:
    """The schemas of a document that have an `$anchor`, by its name."""
    anchors: dict[str, Any] = {}
    todo: list[Any] = [document]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            node = cast("dict[str, Any]", value)
            for anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
                if isinstance(anchor, str):
                    anchors.setdefault(anchor, node)
            todo += node.values()
        elif isinstance(value, list):
            todo += cast("list[Any]", value)
    return anchors


def name_in(identity: str) -> str:
    """The name that a schema has by its place: `…#/components/schemas/issue` → `issue`; "" where it has none."""
    document, _, pointer = identity.partition("#")
    parts = [unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    if not parts:
        stem = document.rstrip("/").rpartition("/")[2]
        return stem.partition(".")[0] if pointer in ("", "/") else pointer
    if len(parts) > 1 and parts[-2] not in _CONTAINERS:
        return ""
    return parts[-1]
