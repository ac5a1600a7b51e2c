"""Tools that need input of the client's user, in rounds (2026-07-28): the names and the questions are the suite's.

A round ends with an `InputRequiredResult`; the client answers it by calling again. What the server must remember goes
with it as `request_state`, which the SDK seals.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server import ServerRequestContext
from tests.interop.conformance_content import text

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]
OK: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def asking(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def asking_for(key: str, message: str) -> types.ElicitRequest:
    schema = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
    return asking(message, schema)


def asking_a_model(words: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=50))


def answered(params: types.CallToolRequestParams | types.GetPromptRequestParams, key: str, name: str) -> str | None:
    """What the user wrote into a form; None when that was not answered."""
    reply = (params.input_responses or {}).get(key)
    if not isinstance(reply, types.ElicitResult) or not reply.content:
        return None
    return str(reply.content.get(name))


def said(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


async def elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if name := answered(params, "user_name", "name"):
        return said(f"Hello, {name}!")
    return types.InputRequiredResult(input_requests={"user_name": asking_for("name", "What is your name?")})


async def sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    reply = (params.input_responses or {}).get("capital_question")
    if isinstance(reply, types.CreateMessageResult) and reply.content.type == "text":
        return said(f"Model said: {reply.content.text}")
    asked = asking_a_model("What is the capital of France?")
    return types.InputRequiredResult(input_requests={"capital_question": asked})


async def list_roots(ctx: Context, params: types.CallToolRequestParams) -> Result:
    reply = (params.input_responses or {}).get("client_roots")
    if isinstance(reply, types.ListRootsResult):
        return said(f"Client exposed {len(reply.roots)} root(s).")
    return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})


async def request_state(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if "confirm" in (params.input_responses or {}) and params.request_state == "nonce":
        return said("state-ok: confirmation received")
    return types.InputRequiredResult(
        input_requests={"confirm": asking("Please confirm", OK)}, request_state="nonce"
    )  # fmt: skip


async def tampered_state(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.request_state is not None:
        return said(f"state-ok: {params.request_state}")
    return types.InputRequiredResult(
        input_requests={"confirm": asking("Please confirm", OK)}, request_state="first"
    )  # fmt: skip


async def multiple_inputs(ctx: Context, params: types.CallToolRequestParams) -> Result:
    wanted: dict[str, types.InputRequest] = {
        "user_name": asking_for("name", "What is your name?"),
        "greeting": asking_a_model("Generate a greeting"),
        "client_roots": types.ListRootsRequest(),
    }
    if wanted.keys() <= (params.input_responses or {}).keys():
        return said("All inputs received.")
    return types.InputRequiredResult(input_requests=wanted, request_state="multiple")


async def multi_round(ctx: Context, params: types.CallToolRequestParams) -> Result:
    known: dict[str, Any] = json.loads(params.request_state) if params.request_state else {}
    if name := answered(params, "step1", "name"):
        known["name"] = name
    color = answered(params, "step2", "color")
    if "name" in known and color:
        return said(f"{known['name']} likes {color}.")
    if "name" in known:
        asked = {"step2": asking_for("color", "Step 2: What is your favorite color?")}
    else:
        asked = {"step1": asking_for("name", "Step 1: What is your name?")}
    return types.InputRequiredResult(input_requests={**asked}, request_state=json.dumps({"round": len(known), **known}))


async def capabilities(ctx: Context, params: types.CallToolRequestParams) -> Result:
    able = ctx.session.client_capabilities
    wanted: dict[str, types.InputRequest] = {}
    if able is None or able.sampling is not None:
        wanted["sample"] = asking_a_model("Say hello")
    if able is None or able.elicitation is not None:
        wanted["ask"] = asking_for("name", "What is your name?")
    return types.InputRequiredResult(input_requests=wanted, request_state="by capability")


ROUNDS: dict[str, Run] = {
    f"test_input_required_result_{run.__name__}": run
    for run in (
        elicitation,
        sampling,
        list_roots,
        request_state,
        tampered_state,
        multiple_inputs,
        multi_round,
        capabilities,
    )
}
