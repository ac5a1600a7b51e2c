"""The description of a small API, whose server a test is."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
ITEM = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer"},
        "name": TEXT,
        "class": TEXT,
        "maker": {"$ref": "#/components/schemas/Maker"},
    },
}
MAKER = {"type": "object", "properties": {"id": {"type": "integer"}, "city": TEXT}}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def gives(schema: Any, **headers: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema} if schema is not None else {}}
    return {"200": {"description": "", "content": content, **({"headers": headers} if headers else {})}}


def path(name: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def query(name: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": kind}}


def operation(name: str, responses: dict[str, Any], *parameters: Any, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "tags": ["items"], "parameters": list(parameters), "responses": responses, **more}


BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": TEXT, "tags": {"type": "array", "items": TEXT}},
            }
        }
    },
}
SHOP: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "The Shop API", "version": "1"},
    "servers": [{"url": "https://shop.example.com/v1"}],
    "components": {
        "schemas": {"Item": ITEM, "Maker": MAKER},
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
    "paths": {
        "/shops/{shop}/items": {
            "get": operation(
                "items/list",
                gives({"type": "array", "items": ref("Item")}, Link={"schema": TEXT}),
                path("shop"),
                query("page", "integer"),
                query("per_page", "integer"),
            ),
            "post": operation("items/create", gives(ref("Item")), path("shop"), requestBody=BODY),
        },
        "/shops/{shop}/items/{item_id}": {
            "get": operation("items/get", gives(ref("Item")), path("shop"), path("item_id", "integer")),
            "delete": operation("items/delete", {"204": {"description": ""}}, path("shop"), path("item_id", "integer")),
        },
        "/shops/{shop}/items/{item_id}/notes": {
            "get": operation(
                "items/notes", gives({"type": "array", "items": TEXT}), path("shop"), path("item_id", "integer")
            )
        },
        "/status": {"get": operation("items/status", gives(None))},
    },
}


def secured() -> dict[str, Any]:
    """The same where each call needs a key."""
    return {**SHOP, "security": [{"key": []}]}
