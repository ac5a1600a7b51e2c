"""Sent again only where that does no harm. The server counts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.openapi.calls import Calls
from tests.openapi.upstream import Upstream, reply

from cellwright.errors import UpstreamError, UpstreamGone
from cellwright.openapi.operation_plan import ParameterPlan

OK = reply({"ok": True})
CUT = reply({"ok": True})[:-5]  # the body ends before its length
KEY = ParameterPlan(name="idempotency_key", key="Idempotency-Key", place="header", style="simple")


async def count(api: Upstream, call: Calls, method: str, **more: Any) -> int:
    try:
        await call(method, **more)
    except (UpstreamError, UpstreamGone):
        pass
    return len(api.asked)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_server_that_asks_for_another_attempt_gets_it(api: Upstream, method: str, status: int) -> None:
    api.on("/x", reply({}, status, retry_after="7"), OK)
    call = Calls(api)
    assert await call(method) == {"ok": True}
    assert call.waited == [7.5]


async def test_a_date_says_how_long_to_wait(api: Upstream) -> None:
    api.on("/x", reply({}, 429, retry_after="Sun, 09 Sep 2001 01:46:50 GMT"), OK)
    call = Calls(api)
    await call()
    assert call.waited == [10.5]


@pytest.mark.parametrize("wish", ["3600", "Sun, 09 Sep 2001 03:46:40 GMT"])
async def test_a_server_that_wants_an_hour_is_not_waited_for(api: Upstream, wish: str) -> None:
    api.on("/x", reply({"message": "slow down"}, 429, retry_after=wish), OK)
    call = Calls(api)
    with pytest.raises(UpstreamError, match="429 Too Many Requests: slow down"):
        await call()
    assert (len(api.asked), call.waited) == (1, [])


@pytest.mark.parametrize("wish", ["soon", "-5", "9" * 400, "٣"])
async def test_a_wish_that_cannot_be_read_is_none(api: Upstream, wish: str) -> None:
    api.on("/x", reply({}, 429, retry_after=wish), OK)
    assert await count(api, Calls(api), "POST") == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(("method", "times"), [("GET", 2), ("PUT", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
async def test_without_a_word_only_what_is_idempotent_is_sent_again(
    api: Upstream, status: int, method: str, times: int
) -> None:
    api.on("/x", reply({}, status), OK)
    assert await count(api, Calls(api), method) == times


@pytest.mark.parametrize("broken", [b"", CUT, b"HTTP/1.1 2"], ids=["nothing", "half a body", "half a line"])
@pytest.mark.parametrize(("method", "times"), [("GET", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
async def test_a_connection_that_breaks_off_is_tried_again_where_that_does_no_harm(
    api: Upstream, broken: bytes, method: str, times: int
) -> None:
    api.on("/x", broken, OK)
    assert await count(api, Calls(api), method) == times


@pytest.mark.parametrize("broken", [b"", CUT])
async def test_a_post_that_broke_off_says_that_it_may_have_happened(api: Upstream, broken: bytes) -> None:
    api.on("/x", broken, OK)
    with pytest.raises(UpstreamGone, match=r"broke off .*; it may have happened, so look before you call it again"):
        await Calls(api)("POST")


async def test_a_post_with_an_idempotency_key_is_sent_again_with_the_same_one(api: Upstream) -> None:
    api.on("/x", b"", reply({}, 502), OK)
    assert await Calls(api)("POST", parameters=(KEY,)) == {"ok": True}
    keys = [asked.headers["idempotency-key"] for asked in api.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500, 501])
async def test_an_answer_that_says_no_is_not_asked_for_again(api: Upstream, status: int) -> None:
    api.on("/x", reply({}, status), OK)
    assert await count(api, Calls(api), "GET") == 1


async def test_attempts_are_bounded_and_grow_apart(api: Upstream) -> None:
    api.on("/x", reply({"message": "busy"}, 503))
    call = Calls(api)
    with pytest.raises(UpstreamError, match="503 Service Unavailable: busy"):
        await call()
    assert (len(api.asked), call.waited) == (4, [0.5, 1.0, 2.0])


async def test_the_whole_wait_is_bounded(api: Upstream) -> None:
    api.on("/x", reply({}, 429, retry_after="25"))
    call = Calls(api)
    with pytest.raises(UpstreamError):
        await call()
    assert call.waited == [25.5, 26.0]
