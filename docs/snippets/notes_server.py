"""An MCP server on the official SDK, for the snippets: it keeps notes, and asks before it burns them."""

import json
import os
from typing import Annotated

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("notes", instructions="Short notes of the household.")
notes = ["buy tea", "water the fern"]
READS = ToolAnnotations(read_only_hint=True)


class Note(BaseModel):
    number: int
    text: str


class Sure(BaseModel):
    sure: bool


def question() -> Elicit[Sure]:
    return Elicit(f"Burn all {len(notes)} notes?", Sure)


@server.tool(name="add-note")
def add_note(text: str) -> Note:
    """Keep a note."""
    notes.append(text)
    return Note(number=len(notes), text=text)


@server.tool(annotations=READS, structured_output=False)
def find(word: str) -> str:
    """Notes with a word in them, as JSON in a text: it declares no output schema."""
    return json.dumps([{"number": n, "text": note} for n, note in enumerate(notes, 1) if word in note])


@server.tool()
def burn(answer: Annotated[ElicitationResult[Sure], Resolve(question)]) -> int:
    """Burn all notes. Asks first."""
    sure = answer.action == "accept" and answer.data.sure
    burnt = len(notes) if sure else 0
    notes[:] = [] if sure else notes
    return burnt


@server.tool()
def stumble() -> str:
    """Ends the server in the middle of the call."""
    os._exit(3)


@server.resource("note://{number}", name="note", mime_type="text/plain")
def note(number: str) -> str:
    """One note."""
    return notes[int(number) - 1]


@server.prompt()
def summary(style: str = "short") -> str:
    """Ask for a summary."""
    return f"Write a {style} summary of: {'; '.join(notes)}"


if __name__ == "__main__":
    server.run("stdio")
