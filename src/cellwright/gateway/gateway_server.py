"""A gateway as an MCP server: both tools, progress, cancelling, and questions to the user, in both protocol eras.

Before 2026-07-28 a question is a request to the client during the client's own request. Since then it is an answer: the
cell waits, and the client's next request carries on with it. It knows no transport.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellwright.errors import CellwrightError
from cellwright.gateway.cell_answers import encodable
from cellwright.gateway.client_cells import ClientCell, ClientQuestion
from cellwright.gateway.client_sessions import Client
from cellwright.gateway.gateway import Gateway
from cellwright.gateway.tool_definitions import definitions, wrong_arguments
from cellwright.model_texts import readable
from cellwright.short_texts import one_line

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext

    Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = "Search for operations, then write Python that calls them with `execute`."
ANSWER_S = 900.0  # a cell whose question is not answered within this time is ended


@dataclass(frozen=True, kw_only=True, slots=True)
class _PendingCell:
    """A cell that waits for answers in the client's next request."""

    key: Hashable
    cell: ClientCell
    questions: Mapping[str, ClientQuestion]
    timer: asyncio.TimerHandle


class GatewayServer:
    """The tools of one gateway. `ready` waits for the gateway: sources may still be opening when a client connects.

    `sessions`: a client without a session of the protocol may name one.
    """

    def __init__(self, ready: Callable[[], Awaitable[Gateway]], *, sessions: bool = False) -> None:
        self._ready = ready
        self._sessions = sessions
        self._pending: dict[str, _PendingCell] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def server(self) -> Server[Any]:
        from importlib.metadata import version

        from mcp.server import Server

        made: Server[Any] = Server(
            "cellwright",
            version=version("cellwright"),
            title="Cellwright gateway",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        return made

    async def _list(self, ctx: Context, params: Any) -> types.ListToolsResult:
        import mcp_types as types

        gateway = await self._ready()
        tools = definitions(gateway.sources, sessions=self._sessions)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])

    async def _call(self, ctx: Context, params: Any) -> types.CallToolResult | types.InputRequiredResult:
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS

        arguments: dict[str, Any] = params.arguments or {}
        wrong = wrong_arguments(params.name, arguments)
        if wrong and params.name not in ("search", "execute"):
            raise MCPError(code=INVALID_PARAMS, message=wrong)
        if wrong:
            return _failed(wrong)
        try:
            gateway = await self._ready()
            if params.name == "search":
                return await _search(gateway, arguments)
            return await self._execute(gateway, ctx, params, arguments)
        except CellwrightError as error:
            return _failed(one_line(str(error)))

    async def _execute(
        self, gateway: Gateway, ctx: Context, params: Any, arguments: Mapping[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        key = client_key(ctx, str(arguments.get("session", "")))
        if params.request_state is not None:
            cell = self._answered(key, params.request_state, params.input_responses or {})
            if cell is None:
                return _failed("this question is not open any more; run the code again")
        else:
            cell = ClientCell()
            cell.can_ask = _can_ask(ctx)
            if ctx.session.can_send_request:
                cell.asker = lambda question: _elicit(ctx, question)
            await gateway.refresh()
            cell.begin(gateway.sessions.run(key, arguments["code"], cell, client_of(ctx)))
        return await self._follow(gateway, ctx, key, cell)

    async def _follow(
        self, gateway: Gateway, ctx: Context, key: Hashable, cell: ClientCell
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Report progress until the cell is done, or asks what only the client's next request can answer."""
        sent = 0
        try:
            while not cell.done or not cell.lines.empty():
                line = await cell.lines.get()
                if line is not None:
                    sent += 1
                    await ctx.session.report_progress(sent, None, encodable(line))
                elif cell.asker is None and any(not question.sent for question in cell.questions):
                    return self._asked(key, cell)
        except BaseException:  # nobody will get its result
            self._end(cell)  # in a task of its own: this one is cancelled
            raise
        assert cell.task is not None
        if cell.task.cancelled():
            return _failed("the session was closed")
        number, outcome = cell.task.result()
        told = gateway.sessions.told(key, number, outcome)
        return _result(told.text, told.plain, failed=not told.plain["ok"])

    # questions whose answers come with the next request

    def _asked(self, key: Hashable, cell: ClientCell) -> types.InputRequiredResult:
        import mcp_types as types

        state = secrets.token_urlsafe(24)
        questions = {f"q{n}": one for n, one in enumerate(cell.questions, 1) if not one.sent}
        for question in questions.values():
            question.sent = True
        timer = asyncio.get_running_loop().call_later(ANSWER_S, self._give_up, state)
        self._pending[state] = _PendingCell(key=key, cell=cell, questions=questions, timer=timer)
        asked: Any = {}
        for name, question in questions.items():
            form = types.ElicitRequestFormParams(
                message=encodable(question.text), requested_schema=dict(question.schema)
            )
            asked[name] = types.ElicitRequest(params=form)
        return types.InputRequiredResult(input_requests=asked, request_state=state)

    def _answered(self, key: Hashable, state: str, answers: Mapping[str, Any]) -> ClientCell | None:
        """Give the answers to the cell that waits for them; None if this client has no such cell."""
        pending = self._pending.get(state)
        if pending is None or pending.key != key:
            return None
        del self._pending[state]
        pending.timer.cancel()
        for name, question in pending.questions.items():
            question.settle(_said(answers.get(name)))
        return pending.cell

    def _give_up(self, state: str) -> None:
        pending = self._pending.pop(state, None)
        if pending is not None:
            self._end(pending.cell)

    def _end(self, cell: ClientCell) -> None:
        ending = asyncio.ensure_future(cell.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End the cells that wait for answers."""
        for state in list(self._pending):
            self._pending[state].timer.cancel()
            self._give_up(state)
        if self._ending:
            await asyncio.wait(self._ending)


def client_key(ctx: Context, session: str) -> Hashable:
    """The key of the interpreter that a request is for.

    Over stdio there is one client; over HTTP each session has an interpreter. A client without a session is known by
    its token, or else by its own name, and may keep several interpreters apart by name.
    """
    if ctx.request is None:
        return "stdio"
    found = ctx.request.headers.get("mcp-session-id")
    if found is not None and ctx.session.can_send_request:  # else the transport has not checked whose it is
        return ("session", found)
    owner = client_of(ctx).owner
    if owner is not None:
        return ("client", owner, session)
    known = ctx.session.client_params
    return ("anonymous", known.client_info.name if known is not None else "", session)


def client_of(ctx: Context) -> Client:
    """The client that a request has proved to be from. For the policy its name is that of its token, or of the person
    for whom the token was made out.
    """
    user = ctx.request.scope.get("user") if ctx.request is not None else None
    if user is None:
        return Client()
    from mcp.server.auth.provider import principal_components

    name, issuer, person = principal_components(user.access_token)
    return Client(owner=(name, issuer, person), user=person or name)


def _can_ask(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)  # an empty capability means forms


async def _elicit(ctx: Context, question: ClientQuestion) -> None:
    from mcp.shared.exceptions import MCPError

    try:
        answer = await ctx.session.elicit_form(encodable(question.text), dict(question.schema), ctx.request_id)
        question.settle(_said(answer))
    except (MCPError, ValueError) as error:  # a malformed answer
        question.settle(f"the client could not ask: {one_line(str(error))[:200]}")


def _said(answer: Any) -> Mapping[str, Any] | None:
    return (answer.content or {}) if getattr(answer, "action", "") == "accept" else None


async def _search(gateway: Gateway, arguments: Mapping[str, Any]) -> types.CallToolResult:
    found = await gateway.search(arguments["query"], arguments.get("limit", 8))
    hits = [
        {"name": hit.name, "signature": hit.signature, "summary": readable(hit.summary), "note": readable(hit.note)}
        for hit in found.hits
    ]
    text = readable(found.text)
    return _result(text, {"found": hits, "text": text})


def _result(text: str, plain: dict[str, Any] | None, *, failed: bool = False) -> types.CallToolResult:
    import mcp_types as types

    content = [types.TextContent(type="text", text=encodable(text))]
    return types.CallToolResult(content=list(content), structured_content=encodable(plain), is_error=failed)


def _failed(text: str) -> types.CallToolResult:
    return _result(text, None, failed=True)
