"""A server with everything that the official conformance suite asks for: `python -m tests.interop.conformance_server`.

Its tools, resources and prompts have the suite's fixed names; what lies between them and the network is the gateway's.
It prints the URL that it listens on.
"""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from tests.interop import conformance_tools as tools
from tests.interop.conformance_content import IMAGE, embedded, image, text
from tests.interop.conformance_inputs import answered, asking_for

from cellwright.gateway.web import WebOptions, bound_socket, web_app

NAME = "cellwright-conformance"
Context = ServerRequestContext[Any, Any]

RESOURCES = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "Watched resource content",
}
TEMPLATE = "test://template/{id}/data"
PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


class Everything:
    """The handlers of the server, and the bus on which it tells of changes."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        changing = [
            types.Tool(name=name, description="Tells of a change.", input_schema={"type": "object"}) for name in CHANGES
        ]
        return types.ListToolsResult(tools=[*(tool.listed for tool in tools.TOOLS.values()), *changing])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> tools.Result:
        if event := CHANGES.get(params.name):
            await self.bus.publish(event)
            return tools.said("changed")
        return await tools.call(ctx, params)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        texts = [types.Resource(uri=uri, name=uri[7:], mime_type="text/plain") for uri in RESOURCES]
        binary = types.Resource(uri="test://static-binary", name="static-binary", mime_type="image/png")
        return types.ListResourcesResult(resources=[*texts, binary])

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri == "test://static-binary":
            blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE)
            return types.ReadResourceResult(contents=[blob])
        if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
            own = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
            words, kind = json.dumps(own), "application/json"
        elif uri in RESOURCES:
            words, kind = RESOURCES[uri], "text/plain"
        else:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Resource not found: {uri}", data={"uri": uri})
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=words)])

    async def list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:  # fmt: skip
        listed = [
            types.Prompt(
                name=name,
                description=name,
                arguments=[types.PromptArgument(name=each, required=True) for each in takes],
            )
            for name, takes in PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=listed)

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = params.arguments or {}
        content: list[types.ContentBlock]
        match params.name:
            case "test_simple_prompt":
                content = [text("This is a simple prompt for testing.")]
            case "test_prompt_with_arguments":
                content = [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")]
            case "test_prompt_with_embedded_resource":
                own = embedded(given.get("resourceUri", ""), "Embedded resource content for testing.")
                content = [own, text("Please process the embedded resource above.")]
            case "test_prompt_with_image":
                content = [image(), text("Please analyze the image above.")]
            case "test_input_required_result_prompt":
                context = answered(params, "user_context", "context")
                if context is None:
                    asked = asking_for("context", "What context should the prompt use?")
                    return types.InputRequiredResult(input_requests={"user_context": asked})
                content = [text(f"Use the following context: {context}")]
            case _:
                raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in content])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))

    async def nothing(self, ctx: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()


CHANGES = {"test_trigger_tool_change": ToolsListChanged(), "test_trigger_prompt_change": PromptsListChanged()}


def everything() -> Server[Any]:
    own = Everything()
    server: Server[Any] = Server(
        NAME,
        version="1.0",
        on_list_tools=own.list_tools,
        on_call_tool=own.call_tool,
        on_list_resources=own.list_resources,
        on_list_resource_templates=own.list_templates,
        on_read_resource=own.read_resource,
        on_subscribe_resource=own.nothing,
        on_unsubscribe_resource=own.nothing,
        on_subscriptions_listen=ListenHandler(own.bus),
        on_list_prompts=own.list_prompts,
        on_get_prompt=own.get_prompt,
        on_completion=own.complete,
        get_tool_input_schema=lambda name: tools.TOOLS[name].schema if name in tools.TOOLS else None,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, own.nothing)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


def main() -> None:
    async def nobody(key: object) -> None: ...

    web = WebOptions(port=0)
    socket = bound_socket(web)
    print(f"listening on http://127.0.0.1:{socket.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(web_app(everything(), web, nobody), log_level="warning")
    uvicorn.Server(config).run(sockets=[socket])


if __name__ == "__main__":
    main()
