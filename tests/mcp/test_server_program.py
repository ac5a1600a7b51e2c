from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import UpstreamError, UpstreamGone, UsageError
from cellwright.mcp import MCP

TINY = str(Path(__file__).with_name("tiny.py"))


async def tiny(how: str = "good", **options: Any) -> MCP:
    return await MCP.open([sys.executable, "-S", TINY, how], name="tiny", cache=False, **options)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_program_is_called_and_ends_with_the_connection() -> None:
    async with await tiny() as server:
        pid = int(await server.call("pid", {}))
        assert alive(pid)
    assert not alive(pid)
    with pytest.raises(UpstreamGone, match="tiny is closed"):
        await server.call("pid", {})


async def test_a_program_that_does_not_want_to_end_is_killed() -> None:
    async with await tiny("stays") as server:
        pid = int(await server.call("pid", {}))
    assert not alive(pid)


async def test_a_crashed_program_is_started_again_on_the_next_call_and_said() -> None:
    said: list[str] = []
    async with await tiny(on_change=said.append) as server:
        with pytest.raises(
            UpstreamGone, match=r"^tiny\.end: tiny ended \(exit 4\) while this ran; it may have happened"
        ):
            await server.call("end", {})
        assert not said
        assert int(await server.call("pid", {})) > 0
        assert said == ["tiny ended (exit 4) and was started again"]


async def test_calls_that_come_at_once_after_a_crash_start_one_program() -> None:
    async with await tiny() as server:
        with pytest.raises(UpstreamGone):
            await server.call("end", {})
        assert len({await one for one in [asyncio.create_task(server.call("pid", {})) for _ in range(5)]}) == 1


async def test_what_may_be_done_twice_is_sent_again_after_a_crash(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with await tiny() as server:
        assert int(await server.call("end_safely", {"marks": str(marks)})) > 0
    assert marks.read_text() == "xx"


async def test_a_program_that_keeps_crashing_is_left_alone() -> None:
    async with await tiny() as server:
        for _ in range(4):
            with pytest.raises(UpstreamGone, match="may have happened"):
                await server.call("end", {})
        with pytest.raises(UpstreamGone, match=r"ended \(exit 4\); it was started again 3 times within 60 s"):
            await server.call("pid", {})


async def test_half_an_answer_is_no_answer() -> None:
    async with await tiny("cut") as server:
        with pytest.raises(UpstreamGone, match=r"ended \(exit 0\) while this ran"):
            await server.call("pid", {})


async def test_prints_of_a_server_are_log_lines_and_cost_nothing() -> None:
    lines: list[str] = []
    async with await tiny("noisy", on_log=lines.append) as server:
        assert int(await server.call("pid", {})) > 0
    assert lines[0] == "tiny: Welcome to this server!"
    assert "tiny: thinking about tools/call" in lines


async def test_a_program_that_ends_at_once_is_told_with_its_last_words() -> None:
    with pytest.raises(UpstreamGone, match=r"ended \(exit 1\); its last words: cannot find my configuration"):
        await tiny("dies")


async def test_a_program_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UpstreamGone, match=r"^nothing \(no-such-program-here\): .*is not installed here$"):
        await MCP.open("no-such-program-here", name="nothing", cache=False)


async def test_a_directory_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UpstreamGone, match=r"its directory .*/none is not there$"):
        await tiny(cwd=str(tmp_path / "none"))


async def test_a_listener_that_fails_does_not_cost_the_server() -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(str(context["exception"])))

    def listener(line: str) -> None:
        raise ValueError(line)

    async with await tiny("noisy", on_log=listener) as server:
        assert int(await server.call("pid", {})) > 0
    assert told[0] == "tiny: Welcome to this server!"


async def test_a_command_line_that_cannot_be_read_is_a_wrong_use() -> None:
    with pytest.raises(UsageError, match="is no command line"):
        await MCP.open("run 'this", cache=False)
    with pytest.raises(UsageError, match="an empty command"):
        await MCP.open("", cache=False)


async def test_a_program_that_never_answers_is_given_up_and_ended() -> None:
    with pytest.raises(UpstreamGone, match=r"was not ready within 0\.3 s"):
        await tiny("mute", start_timeout_s=0.3)


async def test_a_result_that_breaks_its_own_schema_is_one_line_and_the_rest_works() -> None:
    async with await tiny() as server:
        with pytest.raises(
            UpstreamError, match=r"^tiny\.strange: the call was made, and its result .*'a' is a required"
        ):
            await server.call("strange", {})
        assert int(await server.call("pid", {})) > 0


async def test_strange_parameters_get_names_that_code_can_write() -> None:
    async with await tiny() as server:
        found = server.surface.find("odd")
        assert found is not None
        assert [one.name for one in found.line.parameters] == ["self_value", "class_", "a_b"]
        given = {"self_value": 1, "class_": [2], "a_b": 3}
        assert dict(await server.call("odd", given)) == {"self": 1, "class": [2], "a b": 3}


async def test_a_malformed_tool_is_left_out_and_said_and_the_others_work() -> None:
    async with await tiny() as server:
        assert len(server.skipped) == 1
        assert server.skipped[0].startswith("'broken': inputSchema")
        assert server.surface.find("broken") is None
        assert int(await server.call("pid", {})) > 0


async def test_a_program_sees_a_minimal_environment_and_what_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOST_ONLY_KEY", "not-for-servers")
    code = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    told = {'protocolVersion': '2025-06-18', 'capabilities': {}}\n"
        "    told['serverInfo'] = {'name': 'x', 'version': '1'}\n"
        "    told['instructions'] = os.getcwd() + ' ' + ' '.join(sorted(os.environ))\n"
        "    known = asked.get('method') == 'initialize'\n"
        "    answer = {'result': told} if known else {'error': {'code': -32601, 'message': 'no'}}\n"
        "    if 'id' in asked: print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n"
    )
    words = [sys.executable, "-S", "-c", code]
    async with await MCP.open(words, env={"GIVEN": "1"}, cwd=str(tmp_path), cache=False) as server:
        where, *names = server.instructions.split()
        assert where == str(tmp_path)
        assert "GIVEN" in names
        assert "PATH" in names
        assert "HOST_ONLY_KEY" not in names
