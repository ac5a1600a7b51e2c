"""A plan carried out: arguments checked and sent, what comes back made a value. It knows no connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from mcp.client import Client
from mcp.shared.uri_template import UriTemplate

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamError, WrongArguments
from cellwright.mcp.book import Plan
from cellwright.mcp.calling import Caller, Send
from cellwright.mcp.failures import one_line
from cellwright.mcp.lessons import Lessons
from cellwright.mcp.listing import list_resources
from cellwright.mcp.outputs import as_json, contents, messages, parts_of, resource_fields, told
from cellwright.mcp.patience import Clock
from cellwright.mcp.records import Records
from cellwright.schemas import Types, is_large, jsonable, local_resolve, mismatch, read

OnProgress = Callable[[str, float, float | None, str | None], None]
"""(tool, progress, total, message)"""

TIMEOUT_S = 60.0


class Performer:
    """Does what plans say, at one server."""

    def __init__(self, name: str, caller: Caller, records: Records, lessons: Lessons, redactor: Redactor) -> None:
        self.timeout_s = TIMEOUT_S
        self.on_progress: OnProgress | None = None
        self._name = name
        self._caller = caller
        self._records = records
        self._lessons = lessons
        self._redactor = redactor

    async def perform(self, plan: Plan, arguments: dict[str, Any]) -> Any:
        title = f"{self._name}.{plan.path}"
        if is_large(arguments):
            given = await asyncio.to_thread(_given, title, plan, arguments)
        else:
            given = _given(title, plan, arguments)
        match plan.kind:
            case "tool":
                return self._value(title, plan, await self._tool(title, plan, given))
            case "list":
                found = await self._ask(title, plan, lambda client, _: list_resources(client))
                listed = [self._redactor.plain(resource_fields(one)) for one in found]
                return read(listed, ["list", plan.reading], self._records.of)
            case "read" | "template":
                uri = _uri(title, plan, given)
                got = await self._ask(title, plan, lambda client, _: client.read_resource(uri))
                return self._contents(title, uri, got.contents)
            case "prompt":
                got = await self._ask(title, plan, lambda client, _: client.get_prompt(plan.name, given))
                return self._redactor.text(messages(got.messages))

    async def _ask(self, title: str, plan: Plan, send: Send[Any]) -> Any:
        return await self._caller.ask(title, send, timeout_s=self.timeout_s, repeatable=plan.repeatable)

    async def _tool(self, title: str, plan: Plan, given: dict[str, Any]) -> Any:
        def sent(client: Client, clock: Clock) -> Any:
            async def told_progress(progress: float, total: float | None, message: str | None) -> None:
                clock.wind()
                if self.on_progress is not None:
                    self.on_progress(plan.path, progress, total, message)

            return client.call_tool(plan.name, given, progress_callback=told_progress)

        return await self._ask(title, plan, sent)

    def _value(self, title: str, plan: Plan, result: Any) -> Any:
        structured = self._redactor.plain(result.structured_content)
        if result.is_error:
            said = self._redactor.text(told(result.content))
            raise UpstreamError(
                f"{title}: {one_line(said) or 'it failed and does not say why'}", body=structured or said
            )
        if plan.output:
            if plan.wrapped and isinstance(structured, dict):
                structured = cast("dict[str, Any]", structured).get("result")
            return read(structured, plan.reading, self._records.of)
        if structured is not None:
            return self._learned(plan, structured)
        return self._unstructured(plan, result.content)

    def _unstructured(self, plan: Plan, content: list[Any]) -> Any:
        parts = [(kind, self._redactor.plain(value)) for kind, value in parts_of(content)]
        texts = [value for kind, value in parts if kind == "text"]
        if texts and len(texts) == len(parts) and not self._lessons.only_text(plan.lesson):
            found = [as_json(text) for text in texts]
            if not any(isinstance(one, str) for one in found):
                return self._learned(plan, found[0] if len(found) == 1 else found)
        if texts and len(parts) == 1:
            self._lessons.add(plan.lesson, texts[0])
        else:
            self._lessons.add_mixed(plan.lesson)
        values = [value if kind in ("text", "bytes") else self._record(kind, value) for kind, value in parts]
        return None if not values else values[0] if len(values) == 1 else values

    def _learned(self, plan: Plan, found: Any) -> Any:
        """JSON that no schema describes, as records of what was learned from this tool so far."""
        self._lessons.add(plan.lesson, found)
        if plan.reading is not None:
            return read(found, plan.reading, self._records.of)
        schema = self._lessons.schema(plan.lesson)
        if schema is None:
            return found
        types = Types(local_resolve(schema))
        _, reading = types.given(schema, f"{plan.path} result")
        self._records.add({name: one for name, one in types.records().items() if self._records.of(name) is None})
        return read(found, reading, self._records.of)

    def _record(self, name: str, fields: dict[str, Any]) -> Any:
        return read(fields, ["record", name], self._records.of)

    def _contents(self, title: str, uri: str, listed: list[Any]) -> Any:
        """Text or bytes. Several texts (a directory, say) are one below the other; what is mixed is a list."""
        if not listed:
            raise UpstreamError(f"{title}: there is nothing at {one_line(uri, 200)}")
        found = [self._redactor.plain(value) for _, value in map(contents, listed)]
        if len(found) == 1:
            return found[0]
        return "\n\n".join(found) if all(isinstance(one, str) for one in found) else found


def _given(title: str, plan: Plan, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their keys, as JSON, checked before anything is sent."""
    try:
        given = {plan.keys[name]: jsonable(value) for name, value in arguments.items()}
    except KeyError as error:
        raise WrongArguments(
            f"{title} takes no {error.args[0]!r}; it takes {', '.join(plan.keys) or 'nothing'}"
        ) from None
    except WrongArguments as error:
        raise WrongArguments(f"{title}: {error}") from None
    given = {key: value for key, value in given.items() if value is not None or key in plan.required}
    for key in plan.required:
        given.setdefault(key, None)  # whoever binds arguments leaves None out; here it must be there
    if plan.kind in ("prompt", "template", "read"):
        wrong = next((key for key, value in given.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise WrongArguments(f"{title}: {wrong} must be a text, and is {given[wrong]!r:.100}")
    elif plan.schema is not None:
        said = mismatch(given, plan.schema, local_resolve(plan.schema), where="")
        if said is not None:
            raise WrongArguments(f"{title}: {said.lstrip('.')}")
    return given


def _uri(title: str, plan: Plan, given: dict[str, Any]) -> str:
    if plan.kind == "read":
        return given["uri"]
    uri = UriTemplate.parse(plan.name).expand(given)
    if not uri:
        raise WrongArguments(f"{title}: {plan.name} is empty with these values")
    return uri
