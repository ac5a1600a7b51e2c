"""Guest code reaches the hosts of the list by clients unchanged; each request is a call like any other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.guard.web import LOOPBACK, Web, answer, at_loopback, web

from cellwright import Agent, Limits, Network, Policy, PolicyRule, Runtime
from cellwright.errors import UsageError
from cellwright.guard import audit_records, read_policy
from cellwright.guard.session_authority import SessionAuthority
from cellwright.testing import ScriptedModel

AUTHORITY = SessionAuthority()
CLIENTS = {
    "urllib": "import urllib.request\nurllib.request.urlopen(URL).read()",
    "requests": "import requests\nrequests.get(URL).content",
    "httpx": "import httpx\nhttpx.get(URL).content",
    "httpx, async": "import httpx\nasync with httpx.AsyncClient() as c:\n    got = await c.get(URL)\ngot.content",
}


@pytest.fixture(scope="module")
async def network_warm(anyio_backend: str, venv: Path) -> AsyncIterator[None]:
    """Keeps the zygote of these guests alive."""
    async with Runtime(packages=venv, limits=Limits(memory_mb=512), network=["example.com"]):
        yield


@pytest.fixture
async def secure() -> AsyncIterator[Web]:
    tls = AUTHORITY.context("api.test")
    tls.sni_callback = None
    async with web(tls) as server:
        yield server


@pytest.fixture
def opened(secure: Web, tmp_path: Path, venv: Path, network_warm: None) -> Any:
    """`opened(**options)`: a runtime whose guests may reach the server below /ok/."""
    ca = tmp_path / "upstream.pem"
    ca.write_text(AUTHORITY.certificate)
    network = Network([at(secure, "/ok/*")], private=LOOPBACK, resolve=at_loopback, certificates=ca)
    known: dict[str, Any] = {"network": network, "packages": venv, "limits": Limits(memory_mb=512)}

    def runtime(**options: Any) -> Runtime:
        return Runtime(**{**known, **options})

    return runtime


def at(server: Web, path: str) -> str:
    return f"https://api.test:{server.port}{path}"


def code(client: str, url: str) -> str:
    return CLIENTS[client].replace("URL", repr(url))


@pytest.mark.parametrize("kept", [False, True], ids=["not kept", "kept"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_clients_work_unchanged_over_https_from_the_jail(
    client: str, kept: bool, secure: Web, opened: Any, tmp_path: Path
) -> None:
    store = {"store": f"sqlite:///{tmp_path}/s.db", "session": "s1"} if kept else {}
    async with opened(**store) as rt:
        outcome = await rt.execute(code(client, at(secure, "/ok/a?b=1")))
        assert outcome.unwrap() == b"hello"
        assert [call.name for call in outcome.calls] == ["network.fetch"]
        refused = await rt.execute(code(client, at(secure, "/no")))
    assert secure.requests[0].startswith(b"GET /ok/a?b=1 HTTP/1.1")
    assert len(secure.requests) == 1
    told = f"{refused.error} {refused.value}"
    assert "is not in network=[" in told or "403" in told


async def test_what_is_not_in_the_list_is_told_in_one_line(secure: Web, opened: Any) -> None:
    async with opened() as rt:
        for url, client in (("https://evil.test/", "requests"), ("http://169.254.169.254/", "httpx")):
            outcome = await rt.execute(code(client, url))
            told = f"{outcome.error} {outcome.value}"
            assert "is not in network=[" in told
            assert at(secure, "/ok/*") in told


async def test_other_sockets_stay_shut(opened: Any) -> None:
    tried = """
import socket, errno
def shut(*kind):
    try:
        socket.socket(*kind).close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "open"
unix, udp = shut(socket.AF_UNIX), shut(socket.AF_INET, socket.SOCK_DGRAM)
raw, v6 = shut(socket.AF_INET, socket.SOCK_RAW), shut(socket.AF_INET6)
netlink = shut(socket.AF_NETLINK, socket.SOCK_RAW)
other = socket.socket()
try:
    other.connect(("127.0.0.1", 22))
except OSError as error:
    port = errno.errorcode[error.errno]
try:
    socket.socket().bind(("127.0.0.1", 8000))
except OSError as error:
    bind = errno.errorcode[error.errno]
[unix, udp, raw, v6, netlink, bind, port in ("EACCES", "ECONNREFUSED")]
"""
    async with opened() as rt:
        assert (await rt.execute(tried)).unwrap() == ["EACCES"] * 5 + ["EPERM", True]


async def test_a_request_is_repeated_from_the_journal_and_not_made_again(
    secure: Web, opened: Any, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    url = at(secure, "/ok/n")
    secure.respond = lambda head: answer(b"%d" % len(secure.requests))
    again = f"requests.get({url!r}).content"
    async with opened(store=store, session="s1") as rt:
        assert (await rt.execute(f"import requests\nfirst = {again}")).ok
        assert (await rt.execute(f"second = {again}\n[first, second]")).unwrap() == [b"1", b"2"]
    known = opened()._options
    options: dict[str, Any] = {"network": known.network.options, "packages": known.packages, "limits": known.limits}
    async with Runtime.resume("s1", store=store, **options) as rt:
        assert (await rt.execute("[first, second]")).unwrap() == [b"1", b"2"]
        assert len(secure.requests) == 2
        assert (await rt.execute(again)).unwrap() == b"3"


async def test_requests_are_in_the_audit_and_under_the_policy(secure: Web, opened: Any, tmp_path: Path) -> None:
    policy = Policy(rules=(PolicyRule(operation="network.*", arguments={"url": "*/ok/secret*"}, action="deny"),))
    async with opened(policy=policy, audit=tmp_path / "audit") as rt:
        await rt.execute(code("urllib", at(secure, "/ok/a")))
        denied = await rt.execute(code("urllib", at(secure, "/ok/secret")))
        other = await rt.execute(code("urllib", "https://evil.test/x"))
    assert "403" in str(denied.error)
    assert "denied by the policy" in str(denied.error)
    assert "evil.test is not in network=" in str(other.error)
    lines = [
        line for line in audit_records(tmp_path / "audit") if str(line.get("operation", "")).startswith("network.")
    ]
    told = [(line["event"], line["operation"]) for line in lines]
    assert told == [("read", "network.fetch"), ("denied", "network.fetch"), ("read", "network.fetch")]
    assert "/ok/secret" in lines[1]["arguments"]
    assert "evil.test" in lines[2]["arguments"]


async def test_answers_are_outsiders_words_and_a_writing_request_waits_for_a_person(secure: Web, opened: Any) -> None:
    asked: list[str] = []

    def person(wanted: Any) -> bool:
        asked.append(f"{wanted.name}{wanted.arguments} {wanted.why}")
        return False

    async with opened(approve=person) as rt:
        first = await rt.execute(f"import requests\nrequests.post({at(secure, '/ok/p')!r}, data='x').status_code")
        await rt.execute(f"requests.get({at(secure, '/ok/a')!r})")
        second = await rt.execute(f"r = requests.post({at(secure, '/ok/p')!r}, data='x')\nr.status_code, r.text")
    assert first.unwrap() == 200
    assert second.unwrap()[0] == 403
    assert "was denied" in second.unwrap()[1]
    assert len(asked) == 1
    assert "network.send('POST'" in asked[0]
    assert "nobody asked for it" in asked[0]


async def test_without_network_a_guest_has_none_and_landlock_gives_none(opened: Any) -> None:
    async with Runtime() as rt:
        outcome = await rt.execute("import socket\nsocket.socket()")
        assert "PermissionError" in str(outcome.error)
        assert "network" not in [name for name, _ in rt.scope.names()]
    with pytest.raises((UsageError, Exception), match=r"gives guests no network|does not give"):
        async with Runtime(sandbox="landlock", network=["example.com"]):
            pass


async def test_an_agent_is_told_what_it_may_reach_and_reaches_it(secure: Web, opened: Any) -> None:
    known = opened()._options
    options: dict[str, Any] = {"packages": known.packages, "limits": known.limits, "network": known.network.options}
    seen: list[Any] = []

    def reply(request: Any) -> str:
        seen.append(request)
        if len(seen) == 1:
            url = at(secure, "/ok/a")
            return f"```python\nimport urllib.request\ndone(urllib.request.urlopen({url!r}).read().decode())\n```"
        return "?"

    agent = Agent(ScriptedModel(reply, reply), mode="code", **options)
    assert (await agent.run("What does it say?")).value == "hello"
    assert f"reach {at(secure, '/ok/*')} and nothing else" in seen[0].instructions
    assert "without network" not in seen[0].instructions


def test_a_policy_file_has_the_network(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"network": {"hosts": ["api.example.com"], "body_mb": 1}}))
    network = read_policy(file).network
    assert network is not None
    assert (list(network.hosts), network.body_mb) == (["api.example.com"], 1)
    assert "network" in dict(Runtime(policy=file).scope.names())
    assert "network" not in dict(Runtime(policy=file, network=[]).scope.names())
    file.write_text('{"network": {"host": ["a.example"]}}')
    with pytest.raises(UsageError, match="network knows no 'host'; it has `hosts`"):
        read_policy(file)


def test_a_scope_that_has_the_name_already_is_told() -> None:
    with pytest.raises(UsageError, match="network= binds the name 'network', which this scope has already"):
        Runtime({"network": object()}, network=["a.example"])


async def test_a_fork_has_a_network_of_its_own(secure: Web, opened: Any, tmp_path: Path) -> None:
    async with opened(store=f"sqlite:///{tmp_path}/s.db", session="s1") as rt:
        async with await rt.fork(session="s2") as branch:
            assert (await branch.execute(code("urllib", at(secure, "/ok/b")))).unwrap() == b"hello"
        assert (await rt.execute(code("urllib", at(secure, "/ok/a")))).unwrap() == b"hello"
