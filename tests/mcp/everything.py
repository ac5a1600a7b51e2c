"""A server with one of everything, on the SDK: run as a program it speaks stdio; `hosting.py` puts it behind a port.

It knows nothing of Cellwright.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import mcp_types as types
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import BaseModel, Field

PIXEL = b"\x89PNG not really"


class Person(BaseModel):
    name: str
    age: int = 0
    tags: list[str] = Field(default_factory=list[str])


class Yes(BaseModel):
    sure: bool
    why: str = "because"


def _sure(question: str) -> Elicit[Yes]:
    return Elicit(question, Yes)


def _thought(question: str) -> Sample:
    content = types.TextContent(type="text", text=question)
    return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=50, system_prompt="Be brief.")


def _roots() -> ListRoots:
    return ListRoots()


def everything() -> MCPServer:
    server = MCPServer("everything", instructions="One of everything. For tests.")
    _plain(server)
    _content(server)
    _asking(server)
    _ending(server)
    _reading(server)
    return server


def _plain(server: MCPServer) -> None:
    @server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(name="get-person")
    def get_person(name: str, size: Literal["small", "large"] = "small") -> Person:
        """A person by name. Nothing else is known."""
        return Person(name=name, age=len(name), tags=[size])

    @server.tool(name="import", annotations=types.ToolAnnotations(destructive_hint=True, idempotent_hint=True))
    def keyword(person: Person, note: str | None = None) -> str:
        """Takes an object."""
        return f"{person.name}/{person.age}/{note}"

    @server.tool(structured_output=False)
    def echo(text: str) -> str:
        """Give the text back."""
        return text

    @server.tool(structured_output=False)
    def find(total: int = 2) -> str:
        """People as JSON in a text."""
        people = [{"id": n, "name": f"p{n}"} for n in range(total)]
        return json.dumps({"total": total, "people": people})

    @server.tool(structured_output=False)
    def environment() -> str:
        """All variables, as some servers tell them."""
        return "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))

    @server.tool(structured_output=False)
    def fail(text: str) -> str:
        """Fails."""
        raise ToolError(f"it is\nbroken: {text}")


def _content(server: MCPServer) -> None:
    @server.tool(structured_output=False)
    def picture() -> types.ImageContent:
        """One image."""
        import base64

        return types.ImageContent(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")

    @server.tool(structured_output=False)
    def several() -> list[Any]:
        """Text, a link and a resource."""
        return [
            types.TextContent(type="text", text="one"),
            types.ResourceLink(type="resource_link", uri="note://two", name="two"),
            types.EmbeddedResource(
                type="resource", resource=types.TextResourceContents(uri="note://three", text="three")
            ),
        ]

    @server.tool(structured_output=False)
    def nothing() -> None:
        """Gives nothing."""


def _asking(server: MCPServer) -> None:
    @server.tool(structured_output=False)
    def ask(question: str, answer: Annotated[ElicitationResult[Yes], Resolve(_sure)]) -> str:
        """Asks a person."""
        return f"{answer.action} {answer.data if answer.action == 'accept' else ''}".strip()

    @server.tool(structured_output=False)
    def think(question: str, reply: Annotated[types.CreateMessageResult, Resolve(_thought)]) -> str:
        """Asks a model."""
        said = reply.content.text if isinstance(reply.content, types.TextContent) else "no text"
        return f"{reply.model}: {said} ({reply.stop_reason})"

    @server.tool(structured_output=False)
    def look(roots: Annotated[types.ListRootsResult, Resolve(_roots)]) -> str:
        """Asks where it may look."""
        return " ".join(str(root.uri) for root in roots.roots)

    @server.tool(structured_output=False)
    async def sign_up(ctx: Context) -> str:
        """Wants a person to open a page."""
        page = types.ElicitRequestURLParams(message="sign up", url="https://sign.example/up", elicitation_id="1")
        raise UrlElicitationRequiredError([page])

    @server.tool(structured_output=False)
    async def work(steps: int, ctx: Context) -> str:
        """Tells of its progress, and logs."""
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await ctx.session.send_log_message("info", "worked", logger="work")  # pyright: ignore[reportDeprecated]
        print("on stderr", file=sys.stderr, flush=True)
        return "done"

    @server.tool(structured_output=False)
    async def grow(name: str, ctx: Context) -> str:
        """Adds a tool."""

        def new(x: int) -> int:
            """Came later."""
            return x * 2

        server.add_tool(new, name=name)
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        return "grown"


def _ending(server: MCPServer) -> None:
    count = {"hang": 0}

    @server.tool(structured_output=False)
    def die(code: int = 1) -> str:
        """Ends the server."""
        print("last words", file=sys.stderr, flush=True)
        os._exit(code)

    @server.tool(structured_output=False, annotations=types.ToolAnnotations(read_only_hint=True))
    def die_once(mark: str) -> str:
        """Ends the server where the file is not there yet."""
        if Path(mark).exists():
            return "alive"
        Path(mark).touch()
        os._exit(3)

    @server.tool(structured_output=False)
    async def hang(ctx: Context) -> str:
        """Never answers. Says that it has begun."""
        await ctx.report_progress(0, None, "begun")
        try:
            await asyncio.Event().wait()
        finally:
            count["hang"] += 1
        return ""

    @server.tool(structured_output=False)
    def hung() -> str:
        """How many hanging calls were cancelled."""
        return f"{count['hang']} cancelled"


def _reading(server: MCPServer) -> None:
    @server.resource("note://hello", mime_type="text/plain")
    def hello() -> str:
        """A greeting."""
        return "hello"

    @server.resource("note://raw", mime_type="application/octet-stream")
    def raw() -> bytes:
        """Bytes."""
        return b"\x00\x01"

    @server.resource("note://by/{author}/{number}", name="by-author", mime_type="text/plain")
    def by_author(author: str, number: str) -> str:
        """A note of somebody."""
        return f"{author} {number}"

    @server.prompt()
    def review(code: str, style: str = "kind") -> str:
        """Review code."""
        return f"Review {code} in a {style} way"

    @server.prompt()
    def talk() -> list[Message]:
        """Two who talk."""
        return [UserMessage("hi"), AssistantMessage("ho")]


if __name__ == "__main__":
    everything().run("stdio")
