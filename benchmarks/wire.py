"""A provider on the loopback: gives scripted replies in the wire format that is asked for, and keeps what it was sent.

Anthropic's Messages, OpenAI's Chat Completions and Responses, whole or streamed. Knows no agent and no model layer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

JSON_TYPE, EVENTS_TYPE = "application/json", "text/event-stream"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One reply: text, or calls of functions with their arguments."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()

    def told(self) -> str:
        """What the model has to write for it: no ids, nothing that the provider adds."""
        return "\n".join([self.text] * bool(self.text) + [f"{name}{written(given)}" for name, given in self.calls])


def written(arguments: dict[str, Any]) -> str:
    """Arguments as models write them."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


class Wire:
    """An async context manager. `bodies` are the requests' as they came, `url` is where it listens."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.bodies: list[bytes] = []
        self.url = ""
        self._lines = tuple(lines)
        self._served: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Wire:
        self._served = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._served.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._served is not None
        self._served.close()
        served = dict(self._open)
        for writer in served.values():
            writer.close()
        await asyncio.gather(*(task for task in served if task is not None))

    @property
    def left(self) -> int:
        """How many replies nobody has asked for."""
        return len(self._lines) - len(self.bodies)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[asyncio.current_task()] = writer
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path, length = _head(head.decode("latin-1"))
                body = await reader.readexactly(length)
                status, kind, answer = self._answer(path, body)
                said = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n"
                writer.write(said.encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone, as it may
        finally:
            del self._open[asyncio.current_task()]
            writer.close()

    def _answer(self, path: str, body: bytes) -> tuple[str, str, bytes]:
        self.bodies.append(body)
        number = len(self.bodies)
        shape = next((made for end, made in SHAPES.items() if path.endswith(end)), None)
        if shape is None or number > len(self._lines):
            why = f"no reply for request {number} to {path}: {len(self._lines)} are scripted"
            return "400 Bad Request", JSON_TYPE, json.dumps({"error": {"message": why}}).encode()
        whole, events = shape
        if json.loads(body).get("stream"):
            return "200 OK", EVENTS_TYPE, "".join(events(self._lines[number - 1], number)).encode()
        return "200 OK", JSON_TYPE, json.dumps(whole(self._lines[number - 1], number)).encode()


def _head(text: str) -> tuple[str, int]:
    first, *rest = text.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return first.split()[1].partition("?")[0], int(headers.get("content-length", 0))


def _event(what: dict[str, Any], name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(what)}\n\n"


def _messages(line: Line, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": line.text}] if line.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{number:03}{i:03}", "name": name, "input": given}
        for i, (name, given) in enumerate(line.calls)
    ]
    return {
        "id": f"msg_{number:03}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": "tool_use" if line.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _messages_events(line: Line, number: int) -> Iterator[str]:
    whole = _messages(line, number)
    yield _event({"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}, "message_start")
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            delta = {"type": "text_delta", "text": block["text"]}
            block["text"] = ""
        else:
            delta = {"type": "input_json_delta", "partial_json": written(block["input"])}
            block["input"] = {}
        start = {"type": "content_block_start", "index": index, "content_block": block}
        yield _event(start, "content_block_start")
        yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _chat_calls(line: Line, number: int) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{number:03}{i:03}", "type": "function", "function": {"name": name, "arguments": written(given)}}
        for i, (name, given) in enumerate(line.calls)
    ]


def _chat(line: Line, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": line.text or None}
    if line.calls:
        message["tool_calls"] = _chat_calls(line, number)
    ending = "tool_calls" if line.calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": ending, "logprobs": None}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def _chat_events(line: Line, number: int) -> Iterator[str]:
    calls = [{"index": i} | made for i, made in enumerate(_chat_calls(line, number))]
    delta = {"role": "assistant", "content": line.text or None} | ({"tool_calls": calls} if calls else {})
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    for part, ending in ((delta, None), ({}, "tool_calls" if calls else "stop")):
        yield _event(base | {"choices": [{"index": 0, "delta": part, "finish_reason": ending}]})
    yield "data: [DONE]\n\n"


def _response(line: Line, number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if line.text:
        text: dict[str, Any] = {"type": "output_text", "text": line.text, "annotations": []}
        output.append(
            {"id": f"m_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        )
    output += [
        {
            "id": f"fc_{number:03}{i:03}",
            "call_id": f"call_{number:03}{i:03}",
            "type": "function_call",
            "status": "completed",
            "name": name,
            "arguments": written(given),
        }
        for i, (name, given) in enumerate(line.calls)
    ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _response_events(line: Line, number: int) -> Iterator[str]:
    whole = _response(line, number)
    count = 0

    def event(kind: str, **what: Any) -> str:
        nonlocal count
        count += 1
        return _event({"type": kind, "sequence_number": count} | what, kind)

    yield event("response.created", response=whole | {"output": [], "status": "in_progress"})
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            empty: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.output_item.added", output_index=index, item=item | {"content": []})
            yield event("response.content_part.added", content_index=0, part=empty, **place)
            yield event("response.output_text.delta", content_index=0, delta=text, logprobs=[], **place)
        else:
            yield event("response.output_item.added", output_index=index, item=item | {"arguments": ""})
            yield event("response.function_call_arguments.delta", delta=item["arguments"], **place)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole)


SHAPES = {
    "/messages": (_messages, _messages_events),
    "/chat/completions": (_chat, _chat_events),
    "/responses": (_response, _response_events),
}
