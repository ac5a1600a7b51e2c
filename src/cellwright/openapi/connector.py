"""`OpenAPI`: an API as scope, from its description. Operations are methods, objects records, long lists iterators.

Keys stay here. It knows how the parts work together; each of them knows its own.
"""

from __future__ import annotations

import asyncio
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cellwright.connectors import Redactor, make_root
from cellwright.errors import UpstreamMissing
from cellwright.openapi.api_client import ApiClient, HttpReply
from cellwright.openapi.api_request import build_request, path_arguments
from cellwright.openapi.compiled_api import CompiledApi
from cellwright.openapi.compiler import compile_openapi
from cellwright.openapi.learned_types import UNKNOWN, LearnedSurface, ResultSamples
from cellwright.openapi.operation_plan import Api, OperationPlan, SkippedPart
from cellwright.openapi.paged_items import ApiPage, PageStep, begin_paging
from cellwright.openapi.replies import response_of, result_of
from cellwright.openapi.request_sender import RequestSender, checked_base, idempotency_key
from cellwright.openapi.security import ApiSecurity, GivenCredentials
from cellwright.openapi.spec_content import origin
from cellwright.schemas import RecordPlan, Resolve, as_object, is_large, read
from cellwright.scope import Record, RecordMethod, UpstreamOperation, find_records_with, record_class
from cellwright.settings import Settings

if TYPE_CHECKING:
    import httpx2

LARGE = 256 * 1024  # bytes of an answer above which it is read beside the event loop
_EMPTY_WORDS = frozenset(
    "api apis rest the a an of for v service services web public http https json swagger openapi specification spec "
    "documentation reference server platform client version open core official s".split()
)
Source = str | Path | Mapping[str, Any]


class OpenAPI:
    """An API that is described by OpenAPI. Bind it in a scope, and close it at the end.

    >>> async with await OpenAPI.open("github.json", credentials="env:GITHUB_TOKEN") as github:
    ...     async with Runtime(scope={"github": github}) as rt:
    ...         await rt.execute("[i.title for i in github.issues.list_for_repo(owner='o', repo='r')]")
    """

    def __init__(
        self,
        name: str,
        compiled: CompiledApi,
        exchange: RequestSender,
        client: ApiClient,
        redactor: Redactor,
        samples: ResultSamples,
    ) -> None:
        self.name = name
        self._compiled = compiled
        self._exchange = exchange
        self._client = client
        self._redactor = redactor
        self._samples = samples
        self._plans: dict[str, OperationPlan] = {}
        self._records: dict[str, tuple[type[Record], RecordPlan]] = {}
        self.surface = LearnedSurface(compiled, self._samples)
        self.root = make_root(name, self.surface, self.call)
        find_records_with(name, self)

    @classmethod
    async def open(
        cls,
        source: Source,
        *,
        name: str | None = None,
        base_url: str | None = None,
        credentials: GivenCredentials = None,
        timeout_s: float = 30.0,
        headers: Mapping[str, str] | None = None,
        redirects: Sequence[str] = (),
        cache: bool = True,
        progress: Callable[[str], None] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> OpenAPI:
        """Read a description: a path, a URL, its text, or data. What was compiled before is only opened.

        name         what it is called in errors and in the names of its records; a tidy form of its title when left out
        base_url     where the API is, instead of the description's servers
        credentials  one key, or one for each security scheme: "env:NAME", "file:PATH", "command:…", or Secret("…")
        headers      sent along with every request
        redirects    servers of a private network, as "http://10.0.0.7:9000", to which a redirect may lead
        """
        base = checked_base(base_url)
        open_to = {origin(checked_base(url, "redirects")) for url in redirects}
        folder = Settings.from_environment().cache_dir / "openapi" if cache else None
        said = name or "openapi"
        compiled = await asyncio.to_thread(compile_openapi, source, name=said, cache=folder, progress=progress)
        try:
            named = name or tidy_name(compiled.api.title)
            redactor = Redactor()
            client = ApiClient(redactor, timeout_s=timeout_s, transport=transport, redirects=open_to)
            security = ApiSecurity(named, compiled.api, credentials, redactor)
            exchange = RequestSender(compiled.api, client, security, base_url=base)
            exchange.add_headers(headers or {}, redactor)
            samples = ResultSamples(folder / f"{compiled.key}.learned.json" if folder is not None else None)
            made = cls(named, compiled, exchange, client, redactor, samples)
        except BaseException:
            compiled.close()
            raise
        if progress is not None:
            for warning in security.warnings():
                progress(f"{named}: {warning}")
        return made

    async def __aenter__(self) -> OpenAPI:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connections. What was learned is kept."""
        await self._client.close()
        await asyncio.to_thread(self._samples.save)
        self._compiled.close()

    def __repr__(self) -> str:
        return f"<OpenAPI {self.name}: {len(self._compiled)} operations>"

    @property
    def api(self) -> Api:
        return self._compiled.api

    @property
    def skipped(self) -> tuple[SkippedPart, ...]:
        """What of the description could not be taken, or only in part."""
        return self._compiled.skipped

    def plain_tools(self) -> Iterator[dict[str, Any]]:
        """The operations as plain MCP tools, for comparison: name, description, inputSchema."""
        for offered in self.surface.listed():
            plan = self._compiled.plan(offered.path)
            if plan is not None:
                yield _plain_tool(offered, plan, self._compiled.resolve)

    # calls

    async def call(self, path: str, arguments: dict[str, Any]) -> Any:
        """Call the operation at a path of the surface: its result, or what iterates over a list that has pages."""
        plan = self._plan(path)
        title = f"{self.name}.{path}"
        if plan.pages is None:
            return (await self._page(title, plan, PageStep(arguments=arguments))).read
        return await begin_paging(title, plan, arguments, lambda step: self._page(title, plan, step))

    async def _page(self, title: str, plan: OperationPlan, step: PageStep) -> ApiPage:
        given = dict(step.arguments)
        key = idempotency_key(plan, given) if step.number == 1 else ""  # a further page is another request
        if is_large(given):
            request = await asyncio.to_thread(build_request, title, plan, given, self._compiled.resolve, key=key)
        else:
            request = build_request(title, plan, given, self._compiled.resolve, key=key)
        if step.url:
            reply = await self._exchange.follow(title, plan, request, step.url)
        else:
            reply = await self._exchange.send(title, plan, request)
        via = path_arguments(plan, given)
        if len(reply.body) > LARGE:
            page = await asyncio.to_thread(self._read, title, plan, reply, via)
        else:
            page = self._read(title, plan, reply, via)
        offered = self._compiled.find(plan.path) if plan.pages is None else None
        unknown = offered is not None and offered.line.gives in UNKNOWN
        if unknown and self._samples.add(plan.path, page.plain):
            await asyncio.to_thread(self._samples.save)
        return page

    def _read(self, title: str, plan: OperationPlan, reply: HttpReply, via: Mapping[str, Any]) -> ApiPage:
        plain = result_of(title, plan, reply, self._redactor)
        told = response_of(plan, reply.status)
        reading = (told.reading if told is not None else None) or self.surface.reading(plan.path)
        value = read(plain, reading, self._record, via) if reading else plain
        return ApiPage(plain=plain, read=value, link=reply.headers.get("link", ""), url=reply.url)

    def _plan(self, path: str) -> OperationPlan:
        plan = self._plans.get(path)
        if plan is None:
            plan = self._compiled.plan(path)
            if plan is None:
                raise UpstreamMissing(f"{self.name} has no operation {path!r:.100}")
            self._plans[path] = plan
        return plan

    # records

    def record(self, name: str) -> type[Record] | None:
        """The class of a schema's objects; None where the description has no such schema."""
        known = self._record(name)
        return None if known is None else known[0]

    def _record(self, name: str) -> tuple[type[Record], RecordPlan] | None:
        known = self._records.get(name)
        if known is None:
            plan = self.surface.record(name) or self._compiled.record(name)
            if plan is None:
                return None
            methods = self._methods(name)
            made = record_class(
                self.name, name, fields=plan.fields, doc=plan.doc, methods=methods, root=self.root if methods else None
            )
            known = self._records.setdefault(name, (made, plan))  # another thread may have been first
        return known

    def _methods(self, name: str) -> dict[str, RecordMethod]:
        table = self._compiled.methods(name)
        shape = self._compiled.shape(name) if table else None
        lines = {line.name: line for line in shape.lines if line.callable} if shape is not None else {}
        return {
            method: RecordMethod(
                path=told["path"],
                fill={argument: tuple(source) for argument, source in told["fill"].items()},
                signature=lines[method].signatures[0],
                doc=lines[method].doc,
            )
            for method, told in table.items()
            if method in lines
        }


def tidy_name(title: str) -> str:
    """A short name for an API by its title: "GitHub v3 REST API" → github."""
    words = re.findall(r"[A-Za-z0-9]+", title.partition(" + ")[0].replace("'s ", " "))
    words = [word.lower() for word in words if not re.fullmatch(r"[vV]?\d+((alpha|beta|rc)\d*)?", word)]
    kept = list(dict.fromkeys(word for word in words if word not in _EMPTY_WORDS)) or words
    made = "_".join(kept[:2])
    if not made:
        return "api"
    return made if made.isidentifier() and not keyword.iskeyword(made) else f"api_{made}"


_DEPTH = 40


def _plain_tool(offered: UpstreamOperation, plan: OperationPlan, resolve: Resolve) -> dict[str, Any]:
    """An operation as an MCP server would list it: its name, its words, and a JSON schema of all that it takes."""
    properties: dict[str, Any] = {p.name: p.schema if p.schema is not None else {} for p in plan.parameters}
    required = [p.name for p in plan.parameters if p.required]
    if plan.body is not None:
        schema = _object(plan.body.schema, resolve)
        known: dict[str, Any] = schema.get("properties") or {}
        needed: list[str] = schema.get("required") or []
        for name, key in plan.body.fields.items():
            properties[name] = known.get(key, {})
            required += [name] if key in needed else []
        if plan.body.whole:
            properties[plan.body.whole] = plan.body.schema if plan.body.schema is not None else {}
            required += [plan.body.whole] if plan.body.required else []
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    kept: dict[str, Any] = {}
    made = _local(made, resolve, kept)
    if kept:
        made["$defs"] = kept
    return {"name": offered.path.replace(".", "_"), "description": offered.line.doc, "inputSchema": made}


def _object(schema: Any, resolve: Resolve) -> dict[str, Any]:
    """The object that a body's schema is, past its `$ref`s."""
    for _ in range(_DEPTH):
        node = as_object(schema)
        if not isinstance(node.get("$ref"), str):
            return node
        try:
            schema = resolve(node["$ref"], "")[1]
        except LookupError:
            break
    return {}


def _local(value: Any, resolve: Resolve, kept: dict[str, Any]) -> Any:
    """The schema with its `$ref`s into `$defs`, which `kept` becomes."""
    if isinstance(value, list):
        return [_local(inner, resolve, kept) for inner in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    found = cast(dict[str, Any], value)
    ref = found.get("$ref")
    if not isinstance(ref, str):
        return {key: _local(inner, resolve, kept) for key, inner in found.items()}
    name = ref.rpartition("/")[2] or ref
    if name not in kept:
        kept[name] = {}  # before it is looked into: it may lead back here
        try:
            kept[name] = _local(resolve(ref, "")[1], resolve, kept)
        except (LookupError, RecursionError):
            pass
    return {**{key: inner for key, inner in found.items() if key != "$ref"}, "$ref": f"#/$defs/{name}"}
