"""Carries out plans: checks the arguments, sends the request, reads the result as a value. It knows no connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from mcp.client import Client
from mcp.shared.uri_template import UriTemplate

from cellwright.connectors import Redactor
from cellwright.errors import UpstreamError, WrongArguments
from cellwright.mcp.learned_results import LearnedResults
from cellwright.mcp.mcp_caller import CallClock, McpCaller, Send
from cellwright.mcp.mcp_content import as_json, as_text, contents, parts_of, prompt_text, resource_fields
from cellwright.mcp.sdk_errors import one_line
from cellwright.mcp.server_inventory import list_resources
from cellwright.mcp.server_surface import McpPlan
from cellwright.schemas import RecordPlan, Types, is_large, jsonable, local_resolve, mismatch, read
from cellwright.scope import Record, find_records_with, record_class

OnProgress = Callable[[str, float, float | None, str | None], None]
"""(tool, progress, total, message)"""

TIMEOUT_S = 60.0


class RecordClasses:
    """The record classes of one server by name, made when the first object of each comes.

    A class is found again by its name after a resume. A plan that changed makes another class of the same name.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._plans: dict[str, RecordPlan] = {}
        self._classes: dict[str, tuple[type[Record], RecordPlan]] = {}
        find_records_with(source, self)

    def add(self, plans: Mapping[str, RecordPlan]) -> None:
        self._plans.update(plans)

    def of(self, name: str) -> tuple[type[Record], RecordPlan] | None:
        plan = self._plans.get(name)
        if plan is None:
            return None
        if name not in self._classes or self._classes[name][1] != plan:
            self._classes[name] = (record_class(self._source, name, fields=plan.fields, doc=plan.doc), plan)
        return self._classes[name]

    def record(self, name: str) -> type[Record] | None:
        entry = self.of(name)
        return None if entry is None else entry[0]


class PlanRunner:
    """Carries out the plans of one server."""

    def __init__(
        self, name: str, caller: McpCaller, records: RecordClasses, learned: LearnedResults, redactor: Redactor
    ) -> None:
        self.timeout_s = TIMEOUT_S
        self.on_progress: OnProgress | None = None
        self._name = name
        self._caller = caller
        self._records = records
        self._learned = learned
        self._redactor = redactor

    async def run(self, plan: McpPlan, arguments: dict[str, Any]) -> Any:
        title = f"{self._name}.{plan.path}"
        large = is_large(arguments)
        given = await asyncio.to_thread(_checked, title, plan, arguments) if large else _checked(title, plan, arguments)
        match plan.kind:
            case "tool":
                return self._value(title, plan, await self._tool(title, plan, given))
            case "list":
                resources = await self._ask(title, plan, lambda client, _: list_resources(client))
                fields = [self._redactor.plain(resource_fields(resource)) for resource in resources]
                return read(fields, ["list", plan.reading], self._records.of)
            case "read" | "template":
                uri = _uri(title, plan, given)
                got = await self._ask(title, plan, lambda client, _: client.read_resource(uri))
                return self._contents(title, uri, got.contents)
            case "prompt":
                got = await self._ask(title, plan, lambda client, _: client.get_prompt(plan.name, given))
                return self._redactor.text(prompt_text(got.messages))

    async def _ask(self, title: str, plan: McpPlan, send: Send[Any]) -> Any:
        return await self._caller.ask(title, send, timeout_s=self.timeout_s, repeatable=plan.repeatable)

    async def _tool(self, title: str, plan: McpPlan, given: dict[str, Any]) -> Any:
        def send(client: Client, clock: CallClock) -> Any:
            async def report(progress: float, total: float | None, message: str | None) -> None:
                clock.restart()
                if self.on_progress is not None:
                    self.on_progress(plan.path, progress, total, message)

            return client.call_tool(plan.name, given, progress_callback=report)

        return await self._ask(title, plan, send)

    def _value(self, title: str, plan: McpPlan, result: Any) -> Any:
        structured = self._redactor.plain(result.structured_content)
        if result.is_error:
            text = self._redactor.text(as_text(result.content))
            raise UpstreamError(
                f"{title}: {one_line(text) or 'it failed and does not say why'}", body=structured or text
            )
        if plan.output:
            if plan.wrapped and isinstance(structured, dict):
                structured = cast("dict[str, Any]", structured).get("result")
            return read(structured, plan.reading, self._records.of)
        if structured is not None:
            return self._typed(plan, structured)
        return self._unstructured(plan, result.content)

    def _unstructured(self, plan: McpPlan, content: list[Any]) -> Any:
        parts = [(kind, self._redactor.plain(value)) for kind, value in parts_of(content)]
        texts = [value for kind, value in parts if kind == "text"]
        if texts and len(texts) == len(parts) and not self._learned.only_text(plan.learned):
            values = [as_json(text) for text in texts]
            if not any(isinstance(value, str) for value in values):
                return self._typed(plan, values[0] if len(values) == 1 else values)
        if texts and len(parts) == 1:
            self._learned.add(plan.learned, texts[0])
        else:
            self._learned.add_mixed(plan.learned)
        values = [
            value if kind in ("text", "bytes") else read(value, ["record", kind], self._records.of)
            for kind, value in parts
        ]
        return None if not values else values[0] if len(values) == 1 else values

    def _typed(self, plan: McpPlan, value: Any) -> Any:
        """JSON that no schema describes, as records of the types that were learned from this tool so far."""
        self._learned.add(plan.learned, value)
        if plan.reading is not None:
            return read(value, plan.reading, self._records.of)
        schema = self._learned.schema(plan.learned)
        if schema is None:
            return value
        types = Types(local_resolve(schema))
        _, reading = types.given(schema, f"{plan.path} result")
        self._records.add({name: one for name, one in types.records().items() if self._records.of(name) is None})
        return read(value, reading, self._records.of)

    def _contents(self, title: str, uri: str, listed: list[Any]) -> Any:
        """Text or bytes. Several texts (of a directory, say) are joined; texts and bytes together are a list."""
        if not listed:
            raise UpstreamError(f"{title}: there is nothing at {one_line(uri, 200)}")
        values = [self._redactor.plain(value) for _, value in map(contents, listed)]
        if len(values) == 1:
            return values[0]
        return "\n\n".join(values) if all(isinstance(value, str) for value in values) else values


def _checked(title: str, plan: McpPlan, arguments: dict[str, Any]) -> dict[str, Any]:
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
        given.setdefault(key, None)  # binding leaves out None, but this schema wants it
    if plan.kind in ("prompt", "template", "read"):
        wrong = next((key for key, value in given.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise WrongArguments(f"{title}: {wrong} must be a text, and is {given[wrong]!r:.100}")
    elif plan.schema is not None:
        wrong = mismatch(given, plan.schema, local_resolve(plan.schema), where="")
        if wrong is not None:
            raise WrongArguments(f"{title}: {wrong.lstrip('.')}")
    return given


def _uri(title: str, plan: McpPlan, given: dict[str, Any]) -> str:
    if plan.kind == "read":
        return given["uri"]
    uri = UriTemplate.parse(plan.name).expand(given)
    if not uri:
        raise WrongArguments(f"{title}: {plan.name} is empty with these values")
    return uri
