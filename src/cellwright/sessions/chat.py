"""The turns of a session as messages for fine-tuning, in the form of OpenAI's chat: what the model saw, and said.

One object a turn, with the conversation as it stood at the turn's end: code in calls, observations in tool messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cellwright.journal import Story, is_undone, reply_in, request_in, requests_in
from cellwright.messages import Answered, Asked, Message, Said, Tool
from cellwright.store import Reading, Row, TurnRow


def chat(store: Reading, session: str) -> Iterator[dict[str, Any]]:
    """A line for each turn of the session that asked its model something; for a session without turns, one for all."""
    known = requests_in(Story(store, session).through("model"))
    own = requests_in(row for row in store.rows(session) if row.door == "model")
    turns = store.turns(session)
    if not turns and own:
        yield _line(session, TurnRow(number=1, task="", status="done"), known, max(own))
    for turn, following in zip(turns, [*turns[1:], None], strict=False):
        last = [n for n in own if n > turn.asked and (following is None or n <= following.asked)]
        if last:
            yield _line(session, turn, known, max(last))


def _line(session: str, turn: TurnRow, known: Mapping[int, Row], last: int) -> dict[str, Any]:
    request, _ = request_in(known, last)
    messages: list[dict[str, Any]] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    for message in (*request.messages, reply_in(known[last]).message):
        messages += _messages(message)
    status = "undone" if is_undone(turn) else turn.status  # a rewind took it back
    line: dict[str, Any] = {"messages": messages, "session": session, "turn": turn.number, "status": status}
    return line | ({"tools": _tools(request.tools)} if request.tools else {})


def _messages(message: Message) -> list[dict[str, Any]]:
    match message:
        case Asked(text=text):
            return [{"role": "user", "content": text}]
        case Said(text=text, calls=calls):
            told: dict[str, Any] = {"role": "assistant", "content": text or None if calls else text}
            made = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls
            ]
            return [told | ({"tool_calls": made} if made else {})]
        case Answered(results=results):
            return [{"role": "tool", "tool_call_id": one.id, "content": one.text} for one in results]


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]
