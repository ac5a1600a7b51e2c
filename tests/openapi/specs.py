"""Small descriptions, and what is compiled of them."""

from __future__ import annotations

from typing import Any

from tests.signatures import head_of as text_of

from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.compiler import compile_openapi

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def spec(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A description of version 3.0 unless `openapi` or `swagger` says another."""
    head = {} if "swagger" in more else {"openapi": more.pop("openapi", "3.0.3")}
    return {**head, "info": {"title": "Test", "version": "1"}, "paths": paths, **more}


def query(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema or TEXT, **more}


def gives(schema: Any, status: str = "200", **more: Any) -> dict[str, Any]:
    return {status: {"description": "", "content": {"application/json": {"schema": schema}}, **more}}


def takes(schema: Any, media: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"content": {media: {"schema": schema}}, **more}


def array(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


def thing(*required: str, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return {**made, "required": list(required)} if required else made


def compiled(description: Any) -> CompiledApi:
    return compile_openapi(description, name="test")


def compiled_operation(
    operation: dict[str, Any], url: str = "/things", method: str = "get", **more: Any
) -> CompiledApi:
    """A description of one operation, which is called `do`."""
    described = {"operationId": "things/do", "responses": {"204": {"description": ""}}, **operation}
    return compiled(spec({url: {method: described}}, **more))


def head_of(found: CompiledApi, path: str = "things.do") -> str:
    offered = found.find(path)
    assert offered is not None, [one.path for one in found.listed()]
    return text_of(offered.line)
