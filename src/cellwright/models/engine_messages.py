"""Requests as the embedded engine reads them, and its chunks as replies. Knows the engine's JSON and no engine.

The model is small: given tools, it writes its calls as JSON in its text, fenced or bare, and seldom as its template
says. All of these forms are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, assert_never, cast

from cellwright.doors import Reply, Request
from cellwright.errors import ModelBusy, ModelRefused
from cellwright.messages import (
    AssistantMessage,
    Message,
    Piece,
    Tool,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)

MAX_TOKENS = 1024
"""How long a reply may get where the request does not say: a small model that repeats itself does so for ever."""

_AFTER_RESULTS = "If that is all the request needs, answer it in plain words; otherwise make the next call."
_NAME = re.compile(r'"name"\s*:\s*"([\w.-]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(.*)', re.DOTALL)
_OPENING = re.compile(r"(?:<tool_call>|```\w*|[\[{]|\s)+$")
_HELD_BACK = "{[`<"
_JSON = json.JSONDecoder(strict=False)  # newlines inside strings are what it writes most often


# --- a request ---


def to_body(request: Request) -> dict[str, Any]:
    """The engine's JSON. The same messages give the same bytes, so that the engine evaluates a prefix once."""
    generation = request.generation
    with_tools = bool(request.tools)
    messages = [{"role": "system", "content": request.instructions}] if request.instructions else []
    for message in request.messages:
        messages += _with_tools(message) if with_tools else _in_words(message)
    body: dict[str, Any] = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk after each piece of the prompt, at which it can be stopped
        "cache_prompt": True,
        "temperature": generation.temperature or 0.0,
        "max_tokens": generation.max_tokens or MAX_TOKENS,
        "stop": list(generation.stop),
    }
    if with_tools:
        body["tools"] = [_described(tool) for tool in request.tools]
    return body | dict(generation.extra)


def _described(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _with_tools(message: Message) -> list[dict[str, Any]]:
    match message:
        case AssistantMessage(text=text, calls=calls) if calls:
            return [{"role": "assistant", "content": text, "tool_calls": [_told(call) for call in calls]}]
        case ToolMessage(results=results):
            texts = [f"failed: {r.text}" if r.failed else r.text for r in results]
            told = [
                {"role": "tool", "tool_call_id": r.id, "name": r.name, "content": text}
                for r, text in zip(results, texts, strict=True)
            ]
            return [*told, {"role": "user", "content": _AFTER_RESULTS}]
        case UserMessage() | AssistantMessage():
            return _in_words(message)
        case _:
            assert_never(message)


def _told(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if _object(call.arguments) is not None else json.dumps({"malformed": call.arguments})
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _in_words(message: Message) -> list[dict[str, Any]]:
    """Calls and their results as text, for a request that offers no tools."""
    match message:
        case UserMessage(text=text):
            return [{"role": "user", "content": text}]
        case AssistantMessage(text=text, calls=calls):
            return [{"role": "assistant", "content": "\n\n".join([*filter(None, [text]), *map(_as_text, calls)])}]
        case ToolMessage(results=results):
            said = [f"`{r.name}` {'failed' if r.failed else 'returned'}:\n{r.text}" for r in results]
            return [{"role": "user", "content": "\n\n".join(said)}]
        case _:
            assert_never(message)


def _as_text(call: ToolCall) -> str:
    """Code as a fenced block, which is how this model is asked for it; another call as its JSON."""
    arguments = _object(call.arguments)
    if arguments is not None and list(arguments) == ["code"]:
        return f"```python\n{arguments['code']}\n```"
    return json.dumps({"name": call.name, "arguments": call.arguments if arguments is None else arguments})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


# --- a reply ---


class ReplyReader:
    """Takes the chunks of one reply and gives its pieces; at the end, the whole reply."""

    def __init__(self, request: Request) -> None:
        self._tools = frozenset(tool.name for tool in request.tools)
        self._before = sum(len(message.calls) for message in request.messages if isinstance(message, AssistantMessage))
        self._text = ""
        self._told = 0
        self._native: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._usage: Mapping[str, Any] = {}

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        """The pieces in a chunk. Raises an error that the engine reports."""
        if "error" in chunk:
            raise _failure(chunk["error"])
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices", ()):
            self._finish = choice.get("finish_reason") or self._finish
            delta = _mapping(choice.get("delta"))
            self._text += delta.get("content") or ""
            for told in delta.get("tool_calls") or ():
                call = self._native.setdefault(told.get("index", 0), {"name": "", "arguments": ""})
                for key in call:
                    call[key] += _mapping(told.get("function")).get(key) or ""
        if self._tools and self._text.lstrip()[:1] in _HELD_BACK:  # also of "": it may be a call
            return
        yield from self._rest()

    def _rest(self) -> Iterator[Piece]:
        if len(self._text) > self._told:
            yield Piece(text=self._text[self._told :])
            self._told = len(self._text)

    def end(self, model: str) -> tuple[Reply, list[Piece]]:
        """The whole reply, and the pieces of it that were held back."""
        native = [(call["name"], call["arguments"]) for call in self._native.values()]
        text, found = (self._text, native) if native or not self._tools else calls_in(self._text, self._tools)
        calls = tuple(
            ToolCall(id=f"call_{self._before + place}", name=name, arguments=arguments)
            for place, (name, arguments) in enumerate(found)
        )
        if calls:
            pieces = [Piece(text=c.arguments, kind="call", call=i, name=c.name) for i, c in enumerate(calls)]
            if text and not self._told:
                pieces.insert(0, Piece(text=text))
        else:
            pieces = list(self._rest())
        said = AssistantMessage(text=text, calls=calls)
        return Reply(message=said, usage=self._used(), model=model, cut=self._finish == "length"), pieces

    def _used(self) -> Usage:
        cached = _mapping(self._usage.get("prompt_tokens_details")).get("cached_tokens", 0)
        return Usage(
            requests=1,
            input_tokens=self._usage.get("prompt_tokens", 0),
            output_tokens=self._usage.get("completion_tokens", 0),
            cached_tokens=cached,
        )


def _mapping(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return value or {}


def calls_in(text: str, tools: Collection[str]) -> tuple[str, list[tuple[str, str]]]:
    """The text before the calls, and the calls: name and arguments as JSON text, or as they stand where malformed."""
    found: list[tuple[str, str]] = []
    first, at = len(text), text.find("{")
    while at >= 0:
        try:
            value, end = _JSON.raw_decode(text, at)
        except ValueError:
            value, end = None, at + 1
        if call := _call(value, tools):
            found.append(call)
            first = min(first, at)
        at = text.find("{", end)
    if not found and (match := _NAME.search(text)) and match[1] in tools:
        found, first = [(match[1], match[2].strip())], match.start()
    return (_OPENING.sub("", text[:first]).strip() if found else text), found


def _call(value: object, tools: Collection[str]) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, Any]", value)
    name, arguments = told.get("name"), told.get("arguments", told.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    if name not in tools and set(told) != {"name", "arguments"}:  # another name in just that form is a call too
        return None
    return name, json.dumps(arguments, ensure_ascii=False)


def _failure(error: Mapping[str, Any]) -> ModelBusy | ModelRefused:
    if error.get("type") == "exceed_context_size_error":
        return ModelRefused(
            f"the prompt has {error.get('n_prompt_tokens')} tokens and the embedded model's window is "
            f"{error.get('n_ctx')}: shorten it, or give EmbeddedModel a larger `window`"
        )
    words = f"the embedded model: {error.get('message', 'it says nothing more')}"
    return ModelBusy(words) if int(error.get("code", 500)) >= 500 else ModelRefused(words)
