"""The operations of an API as plain MCP tools, as a server would list them to a model: for comparison only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from cellwright.openapi.operation_plan import OperationPlan
from cellwright.schemas import Resolve, as_object
from cellwright.scope import UpstreamOperation

_DEPTH = 40


def tool(offered: UpstreamOperation, plan: OperationPlan, resolve: Resolve) -> dict[str, Any]:
    """One operation: its name, its words, and a JSON schema of all that it takes, with the schemas that this needs."""
    properties: dict[str, Any] = {p.name: p.schema if p.schema is not None else {} for p in plan.parameters}
    required = [p.name for p in plan.parameters if p.required]
    if plan.body is not None:
        schema = _object(plan.body.schema, resolve)
        known: dict[str, Any] = schema.get("properties") or {}
        needed: list[str] = schema.get("required") or []
        for name, key in plan.body.fields.items():
            properties[name] = known.get(key, {})
            required += [name] if key in needed else []
        if plan.body.whole:
            properties[plan.body.whole] = plan.body.schema if plan.body.schema is not None else {}
            required += [plan.body.whole] if plan.body.required else []
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    kept: dict[str, Any] = {}
    made = _local(made, resolve, kept)
    if kept:
        made["$defs"] = kept
    return {"name": offered.path.replace(".", "_"), "description": offered.line.doc, "inputSchema": made}


def _object(schema: Any, resolve: Resolve) -> dict[str, Any]:
    """The object that a body's schema is, past its `$ref`s."""
    for _ in range(_DEPTH):
        node = as_object(schema)
        if not isinstance(node.get("$ref"), str):
            return node
        try:
            schema = resolve(node["$ref"], "")[1]
        except LookupError:
            break
    return {}


def _local(value: Any, resolve: Resolve, kept: dict[str, Any]) -> Any:
    """The schema with its `$ref`s into `$defs`, which `kept` becomes."""
    if isinstance(value, list):
        return [_local(inner, resolve, kept) for inner in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    found = cast(dict[str, Any], value)
    ref = found.get("$ref")
    if not isinstance(ref, str):
        return {key: _local(inner, resolve, kept) for key, inner in found.items()}
    name = ref.rpartition("/")[2] or ref
    if name not in kept:
        kept[name] = {}  # before it is looked into: it may lead back here
        try:
            kept[name] = _local(resolve(ref, "")[1], resolve, kept)
        except (LookupError, RecursionError):
            pass
    return {**{key: inner for key, inner in found.items() if key != "$ref"}, "$ref": f"#/$defs/{name}"}


def plain_tools(
    pairs: Iterator[tuple[UpstreamOperation, OperationPlan | None]], resolve: Resolve
) -> Iterator[dict[str, Any]]:
    for offered, plan in pairs:
        if plan is not None:
            yield tool(offered, plan, resolve)
