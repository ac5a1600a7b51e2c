"""The tools that the official conformance suite calls: their names and what they answer are the suite's.

It knows nothing of transports. `TOOLS` is what a server lists; `call` runs one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from tests.interop import conformance_inputs as inputs
from tests.interop.conformance_content import AUDIO, embedded, image, text

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_LEVELS = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": _LEVELS},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": _LEVELS}},
    },
}
RESPONSE: dict[str, Any] = {
    "type": "object",
    "properties": {"response": {"type": "string", "description": "User's response"}},
    "required": ["response"],
}
WITH_KEYWORDS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool: what is listed of it, and what runs."""

    name: str
    doc: str
    run: Run
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    @property
    def listed(self) -> types.Tool:
        return types.Tool(name=self.name, description=self.doc, input_schema=self.schema)


def _fixed(*content: types.ContentBlock) -> Run:
    async def run(ctx: Context, params: types.CallToolRequestParams) -> Result:
        return types.CallToolResult(content=list(content))

    return run


def _taking(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def said(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


async def logging(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message(level="info", data=words, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]
    return said("Tool with logging executed successfully")


async def progress(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
    return said("Tool with progress executed successfully")


async def streaming(ctx: Context, params: types.CallToolRequestParams) -> Result:
    await ctx.session.report_progress(0, 1, "About to ask")
    return await inputs.elicitation(ctx, params)


async def sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    asked = types.SamplingMessage(role="user", content=text(str((params.arguments or {})["prompt"])))
    reply = await ctx.session.create_message(messages=[asked], max_tokens=100, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]
    return said(f"LLM response: {reply.content.text if reply.content.type == 'text' else reply.content.type}")


def _eliciting(schema: dict[str, Any], message: str | None = None) -> Run:
    async def run(ctx: Context, params: types.CallToolRequestParams) -> Result:
        asked = message or str((params.arguments or {})["message"])
        reply = await ctx.session.elicit_form(asked, schema, related_request_id=ctx.request_id)
        return said(f"User response: action={reply.action}, content={reply.content or {}}")

    return run


async def failing(ctx: Context, params: types.CallToolRequestParams) -> Result:
    told = text("This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[told], is_error=True)


async def needing_sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs a client that can sample",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return said("The client can sample.")


async def reconnecting(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    return said("Reconnection test completed")


async def region(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return said(f"region={(params.arguments or {}).get('region', '<none>')}")


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="test_simple_text",
            doc="One text.",
            run=_fixed(text("This is a simple text response for testing.")),
        ),
        Tool(name="test_image_content", doc="One image.", run=_fixed(image())),
        Tool(
            name="test_audio_content",
            doc="One sound.",
            run=_fixed(types.AudioContent(data=AUDIO, mime_type="audio/wav")),
        ),
        Tool(
            name="test_embedded_resource",
            doc="One embedded resource.",
            run=_fixed(embedded("test://embedded-resource", "This is an embedded resource content.")),
        ),
        Tool(
            name="test_multiple_content_types",
            doc="Text, an image and a resource.",
            run=_fixed(
                text("Multiple content types test:"),
                image(),
                embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
            ),
        ),
        Tool(name="test_tool_with_logging", doc="Logs while it runs.", run=logging),
        Tool(name="test_logging_tool", doc="Logs while it runs.", run=logging),
        Tool(name="test_tool_with_progress", doc="Tells how far it is.", run=progress),
        Tool(name="test_error_handling", doc="Fails.", run=failing),
        Tool(name="test_sampling", doc="Asks a model.", run=sampling, schema=_taking(prompt={"type": "string"})),
        Tool(
            name="test_elicitation",
            doc="Asks the user.",
            run=_eliciting(RESPONSE),
            schema=_taking(message={"type": "string"}),
        ),
        Tool(name="test_streaming_elicitation", doc="Asks the user, after progress.", run=streaming),
        Tool(
            name="test_elicitation_sep1034_defaults",
            doc="Asks the user, with defaults.",
            run=_eliciting(DEFAULTS, "Please provide user information"),
        ),
        Tool(
            name="test_elicitation_sep1330_enums",
            doc="Asks the user, with choices.",
            run=_eliciting(ENUMS, "Please select"),
        ),
        Tool(
            name="json_schema_2020_12_tool",
            doc="Has a schema with many keywords.",
            run=_fixed(text("json_schema_2020_12_tool")),
            schema=WITH_KEYWORDS,
        ),
        Tool(name="test_reconnection", doc="Closes its stream.", run=reconnecting),
        Tool(name="test_missing_capability", doc="Needs sampling.", run=needing_sampling),
        Tool(
            name="test_x_mcp_header",
            doc="Its argument is mirrored in a header.",
            run=region,
            schema={"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
        ),
        *(Tool(name=name, doc="Needs input of the user.", run=run) for name, run in inputs.ROUNDS.items()),
    )
}


async def call(ctx: Context, params: types.CallToolRequestParams) -> Result:
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
    return await tool.run(ctx, params)
