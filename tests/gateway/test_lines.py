"""What a client writes to stdin that is no message, and what code gives that no message can hold."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from tests.cells import PATIENCE_S
from tests.gateway.shops import Shop, connected, opened, run, text_of, yes

from cellwright.gateway.stdio_streams import StdinLines, StdoutWriter
from cellwright.guard import policy_from

pytestmark = pytest.mark.usefixtures("warm")
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
LONGEST = 2_000


async def answered(sent: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    """The messages in what a client sent, and the errors that the rest is answered with."""
    ours, theirs = socket.socketpair()
    heard, client = await asyncio.open_connection(sock=theirs)
    _unread, writer = await asyncio.open_connection(sock=ours)
    reader = asyncio.StreamReader(limit=LONGEST)
    reader.feed_data(sent)
    reader.feed_eof()
    messages = [line async for line in StdinLines(reader, StdoutWriter(writer))]
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_S):
        errors = [json.loads(line) for line in (await heard.read()).splitlines()]
    writer.close()
    client.close()
    return messages, errors


@pytest.mark.parametrize(
    ("line", "number", "said"),
    [
        (b"garbage", None, "Invalid JSON"),
        (b"\xff\xfe", None, "Invalid JSON"),
        (b"[" * 1_500, None, "Invalid JSON"),
        (b"[" + PING.strip() + b"]", None, "one at a time"),
        (b"null", None, "object"),
        (b'{"jsonrpc":"2.0","id":7}', 7, "required"),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a", "2.0"),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}', 7, "object"),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\\ud800"}}', 7, "Invalid JSON"),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, "Invalid JSON"),
        (b"x" * LONGEST * 3, None, "at most"),
        (b"x" * (LONGEST + 1), None, "at most"),
    ],
)
async def test_what_is_no_message_is_one_clear_error_and_the_next_is_read(line: bytes, number: Any, said: str) -> None:
    messages, errors = await answered(line + b"\n" + PING)
    assert messages == [PING.decode()]
    (error,) = errors
    assert error["id"] == number
    assert said in error["error"]["message"]


async def test_empty_lines_and_a_last_line_without_an_end_are_read() -> None:
    assert await answered(b"\n \r\n" + PING + PING.strip()) == ([PING.decode(), PING.decode().strip()], [])


HALF = [
    ('"\\ud800"', "value", "\\ud800"),
    ('{"\\ud800": ["\\udfff"]}', "value", {"\\ud800": ["\\udfff"]}),
    ('raise ValueError("\\ud800")', "error", "ValueError: \\ud800"),
    ('print("\\ud800")', "stdout", "\\ud800\n"),
]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_half_a_character_from_code_does_not_end_the_connection(era: str) -> None:
    heard: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    asked: list[str] = []
    policy = policy_from({"rules": [{"pattern": "shop.create", "action": "ask"}]}, "")

    def answer(message: str) -> Any:
        asked.append(message)
        return yes(message)

    async with connected(opened(shop=Shop()), era=era, policy=policy, answer=answer) as client:
        for code, where, found in HALF:
            told = await run(client, code, progress_callback=progress)
            assert found in told[where] if where == "error" else told[where] == found, code
        await run(client, 'shop.create("\\ud800")')
        assert (await run(client, "1 + 1"))["value"] == 2
    assert len(asked) == 1


async def test_a_very_long_query_is_cut() -> None:
    async with connected(opened(shop=Shop())) as client:
        found = await client.call_tool("search", {"query": f"shop.{'b' * 1_000_000}"})
    assert len(text_of(found)) < 5_000
