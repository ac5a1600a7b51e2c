"""Servers at one port that repeat what they were asked: an API, a model's provider, MCP behind a token, else 404."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tests.guard.canaries import Canaries


def _tools() -> MCPServer:
    server = MCPServer("far", instructions="Repeats.")

    @server.tool()
    def whoami(ctx: Context[Any, Any]) -> str:
        """What it was asked with."""
        return f"asked with {_headers(ctx)}"

    @server.tool()
    def stumble(ctx: Context[Any, Any]) -> str:
        """Fail with what it was asked with."""
        raise ToolError(f"asked with {_headers(ctx)}")

    return server


def _headers(ctx: Context[Any, Any]) -> dict[str, str]:
    asked: Any = ctx.request_context.request
    return {**asked.headers, "url": str(asked.url)}


class EchoingUpstream:
    """An app for `hosted`. `base` is where it will be."""

    def __init__(self, keys: Canaries, base: str) -> None:
        self._keys = keys
        self._base = base
        self._tools = _tools().streamable_http_app()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._tools(scope, receive, send)
            return
        request = Request(scope, receive)
        if scope["path"] == "/mcp" and self._is_known(request.headers.get("authorization", "")):
            await self._tools(scope, receive, send)
        else:
            await (await self._answer(request))(scope, receive, send)

    def _is_known(self, sent: str) -> bool:
        return sent in (f"Bearer {self._keys['mcp bearer']}", f"Bearer {self._keys['oauth token']}")

    async def _answer(self, request: Request) -> Response:
        repeated = {"error": {"message": f"asked with {dict(request.headers)}"}, "url": str(request.url)}
        match request.url.path.split("/")[1:]:
            case ["echo", _, status]:
                return JSONResponse(repeated, int(status), {"X-Repeated": str(request.headers.get("authorization"))})
            case ["llm", *_]:
                return JSONResponse(repeated, 401)
            case ["mcp"]:
                return Response(status_code=401)
            case [".well-known", "oauth-protected-resource", *_]:
                return JSONResponse({"resource": f"{self._base}/mcp", "authorization_servers": [self._base]})
            case [".well-known", "oauth-authorization-server", *_]:
                return JSONResponse(
                    {
                        "issuer": self._base,
                        "token_endpoint": f"{self._base}/token",
                        "authorization_endpoint": f"{self._base}/authorize",
                        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                        "response_types_supported": ["code"],
                        "code_challenge_methods_supported": ["S256"],
                    }
                )
            case ["token"]:
                return JSONResponse(
                    {"access_token": self._keys["oauth token"], "token_type": "Bearer", "expires_in": 3600}
                )
            case _:
                return Response("there is no such thing", 404)
