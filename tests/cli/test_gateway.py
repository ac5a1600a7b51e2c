"""`cellwright gateway` as clients and people run it: a process that speaks MCP, and commands around it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.cells import PATIENCE_S
from tests.cli.firm import cellwright, environment, fill, one_after_another, started

pytestmark = pytest.mark.slow  # each starts a gateway; `tests/gateway` has its parts


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return fill(tmp_path)


def parameters(here: Path, *args: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "cellwright", "gateway", *args], cwd=here, env=environment(here)
    )


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_client_over_stdio_searches_and_runs_code(here: Path, era: str) -> None:
    noisy = here / "noisy.py"
    noisy.write_text("print('printed while it is imported')\nfrom shop import crm\n")
    async with Client(parameters(here, "--python", "noisy:crm", "--check", "off"), mode=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "execute"]
        await client.call_tool("execute", {"code": "people = crm.contacts('Oslo')"})
        done = await client.call_tool("execute", {"code": "[p.name for p in people]"})
        found = await client.call_tool("search", {"query": "send a letter"})
    assert done.structured_content is not None
    assert done.structured_content["value"] == ["Ada", "Bo"]
    assert found.structured_content is not None
    assert found.structured_content["found"][0]["name"] == "crm.write"


async def test_a_client_over_http_with_its_token_gets_in(here: Path) -> None:
    (here / "tokens").write_text("ann: a-token-of-ann-0123\n")
    args = ["gateway", "--python", "shop:crm", "--check", "off", "--http", "127.0.0.1:0", "--token-file", "tokens"]
    running = started(*args, cwd=here)
    with running:
        assert running.stderr is not None
        address = next(line.split()[-1] for line in running.stderr if "serving" in line)
        async with httpx2.AsyncClient(headers={"authorization": "Bearer a-token-of-ann-0123"}, trust_env=False) as http:
            async with Client(streamable_http_client(address, http_client=http)) as client:
                done = await client.call_tool("execute", {"code": "len(crm.contacts())"})
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            assert (await stranger.post(address, json={})).status_code == 401
        running.terminate()
        _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 143
    assert "Traceback" not in said
    assert done.structured_content is not None
    assert done.structured_content["value"] == 3


async def test_a_client_cannot_say_that_it_comes_from_elsewhere_to_be_counted_anew(here: Path) -> None:
    args = ["gateway", "--python", "shop:crm", "--check", "off", "--http", "127.0.0.1:0", "--rate", "2/h"]
    with started(*args, cwd=here) as running:
        assert running.stderr is not None
        address = next(line.split()[-1] for line in running.stderr if "serving" in line)
        async with httpx2.AsyncClient(trust_env=False) as http:
            claims = [{"x-forwarded-for": f"192.0.2.{number}"} for number in range(3)]
            codes = [(await http.post(address, json={}, headers=claim)).status_code for claim in claims]
        running.terminate()
        running.communicate(timeout=PATIENCE_S)
    assert codes[2] == 429
    assert 429 not in codes[:2]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_while_it_waits_for_its_client(here: Path, sent: signal.Signals, code: int) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "cellwright", "gateway", "--python", "shop:crm", "--check", "off"],
        cwd=here, env=environment(here), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with running:
        assert running.stderr is not None
        assert any("serving" in line for line in running.stderr)
        running.send_signal(sent)
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == code
    assert out == ""
    assert "Traceback" not in err


def test_with_nothing_to_serve_it_ends_at_once(here: Path) -> None:
    done = cellwright("gateway", "--python", "shop:none", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "cellwright: no source could be opened"
    assert "Traceback" not in done.stderr


def test_over_http_it_ends_at_once_where_no_interpreter_can_be_opened(here: Path) -> None:
    (here / "tokens").write_text("ann: a-token-of-ann-0123\n")
    serving = ["--python", "shop:crm", "--check", "off", "--http", "127.0.0.1:0", "--token-file", "tokens"]
    done = cellwright("gateway", *serving, "--packages", str(here / "gone"), cwd=here)
    assert done.returncode in (2, 4)
    assert str(here / "gone") in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_one_clear_line_each(here: Path) -> None:
    (here / "p.toml").write_text("default = 'x'\n")
    crm = ["gateway", "--python", "shop:crm"]
    lines = {
        "there is nothing to serve": ["gateway"],
        "--timeout soon: give a time": [*crm, "--timeout", "soon"],
        "--idle 0s: give a time": [*crm, "--idle", "0s"],
        "--max-tokens 5: give at least 200": [*crm, "--max-tokens", "5"],
        "--sessions 0: give at least 1": [*crm, "--sessions", "0"],
        "--memory-mb": [*crm, "--memory-mb", "0"],
        "default: action is 'x'": [*crm, "--policy", "p.toml"],
        "--dir nowhere: No such file": [*crm, "--dir", "nowhere"],
        "its password would be written": ["gateway", "install", "cursor", "--mcp", "https://ann:hunter2@h.example/mcp"],
        "its key would be written": ["gateway", "install", "cursor", "--mcp", "x=npx -y server --api-key hunter2"],
        "h.example/mcp: its password": ["gateway", "install", "cursor", "--mcp", "https://h.example/mcp?token=hunter2"],
        "a key would be written": [
            *["gateway", "install", "cursor", "--mcp", "x=https://h.example/mcp"],
            *["--header", "x=Thing: sk-proj-hunter20123456"],
        ],
        "a client starts this over stdio": ["gateway", "install", "cursor", *crm[1:], "--http", "0"],
        "--rate is for --http": [*crm, "--rate", "1/s"],
        "--rate often: give a number": [*crm, "--http", "0", "--rate", "often"],
        "--http here: give HOST:PORT": [*crm, "--http", "here"],
        "File name too long": [*crm, "--http", "0", "--token-file", "x" * 300],
        "say --no-auth": [*crm, "--http", "0.0.0.0:0"],
        "there is no client 'emacs'": ["gateway", "install", "emacs", "--python", "shop:crm"],
        "'spec.json' is no option": ["gateway", "inspect", "spec.json"],
        "No such option: --opanapi": ["gateway", "inspect", "--opanapi", "x"],
        "nobody can be asked here": ["gateway", "install", "cursor", "--python", "shop:crm", "--file", "c.json"],
        "give --credential a=env:NAME": [
            "gateway", "install", "cursor", "--openapi", "a=x.json", "--header", "a=Authorization: Bearer hunter2",
        ],
    }  # fmt: skip
    for (said, args), (code, _, err) in zip(
        lines.items(), one_after_another(list(lines.values()), cwd=here), strict=True
    ):
        assert code == 2, (args, err)
        assert said in err, (args, err)
        assert len(err.splitlines()) == 1, (args, err)
        assert "hunter2" not in err


def test_install_writes_the_clients_file_and_prints_it(here: Path) -> None:
    printed, written = one_after_another(
        [
            ["gateway", "install", "cursor", "--python", "shop:crm", "--print"],
            ["gateway", "install", "cursor", "--python", "shop:crm", "--file", "c.json", "--yes", "--name", "mine"],
        ],
        cwd=here,
    )
    args = json.loads(printed[1])["mcpServers"]["cellwright"]["args"]
    assert args[-5:] == ["gateway", "--python", "shop:crm", "--dir", str(here)]
    assert written[0] == 0, written
    assert '+    "mine": {' in written[1]
    assert json.loads((here / "c.json").read_text())["mcpServers"]["mine"]["args"][-4:] == args[-4:]


def test_inspect_tells_what_would_be_exposed_and_in_how_many_tokens(here: Path) -> None:
    told, picture = one_after_another(
        [
            ["gateway", "inspect", "--python", "shop:crm", "--python", "shop:none", "--json"],
            ["gateway", "inspect", "--python", "shop:crm"],
        ],
        cwd=here,
    )
    found = json.loads(told[1])
    assert found["sources"][0]["name"] == "crm"
    assert found["sources"][0]["operations"] == 2
    assert 0 < found["tools"]["tokens"] <= 1_000
    assert found["failed"][0]["source"] == "shop:none"
    assert "this gateway" in picture[1]
    assert "\x1b" not in picture[1]
