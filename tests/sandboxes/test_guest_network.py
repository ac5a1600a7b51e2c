"""A guest with a network has one listener to connect to, which the host answers, and nothing else."""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENCE_S, eventually
from tests.sandboxes.guest_networks import CERTIFICATE, Echo, Host, networked
from tests.sandboxes.jails import PLAN, PYTHON, landlock_sandbox, started, told
from tests.sandboxes.refusing import CONTAINER_CAPABILITIES, EVERY_CAPABILITY, refusing

from cellwright import Limits, Runtime
from cellwright.errors import CallLimit, GuestGone, IsolationMissing, UsageError
from cellwright.runtime import replay
from cellwright.sandboxes import Environment, Opening, ProcessSandbox, Workspace
from cellwright.scope import Scope, ScopeHost
from cellwright.store import MemoryStore
from cellwright_guest.wire import Packed

pytestmark = [pytest.mark.anyio, pytest.mark.needs_layers("net", "mount")]

SITE = Path(sys.prefix, "lib", f"python3.{sys.version_info[1]}", "site-packages")
PACKAGES = Environment(python=PYTHON, site=(SITE,))
URL = "http://api.example.com/a"
SAID = f"GET {URL}"
CLIENTS = {
    "urllib": f"import urllib.request\nurllib.request.urlopen('{URL}').read().decode()",
    "requests": f"import requests\nrequests.get('{URL}', timeout=10).text",
    "httpx": f"import httpx\nhttpx.get('{URL}').text",
    "httpx async": f"import httpx\nasync with httpx.AsyncClient() as c:\n    r = await c.get('{URL}')\nr.text",
    "aiohttp": f"import aiohttp\nasync with aiohttp.ClientSession(trust_env=True) as s, s.get('{URL}') as r:\n"
    "    text = await r.text()\ntext",
}
TRIED = """
import errno, os, socket
def tried(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return 'done'
def connect(host, port):
    with socket.socket() as line:
        line.settimeout(5)
        line.connect((host, port))
"""


async def values(interpreter: Any, *cells: str) -> list[Any]:
    return [(await interpreter.run(number, code)).unwrap() for number, code in enumerate(cells, 1)]


async def test_clients_of_http_reach_the_host_and_each_request_is_a_call_of_the_cell() -> None:
    async with networked(environment=PACKAGES) as guest:
        for number, (name, code) in enumerate(CLIENTS.items(), 1):
            outcome = await guest.run(number, code)
            assert (name, outcome.unwrap(), [call.name for call in outcome.calls]) == (name, SAID, ["echo.said"])


async def test_requests_of_tasks_and_threads_go_on_while_another_thread_waits_for_the_host() -> None:
    code = """
import asyncio, httpx
async def gate():
    await echo.wait()
async def many():
    async with httpx.AsyncClient() as client:
        waits = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(gate())))
        texts = await asyncio.gather(*(client.get(f'http://x/{i}') for i in range(5)))
        await client.get('http://x/open')
        await waits
    return [text.text[-1] for text in texts]
await many()
"""
    async with networked(environment=PACKAGES) as guest:
        assert await values(guest, code) == [["0", "1", "2", "3", "4"]]


async def test_the_environment_names_the_proxy_and_the_certificate() -> None:
    code = "import os\n(dict(os.environ), open(os.environ['SSL_CERT_FILE']).read())"
    async with networked() as guest:
        [(environ, certificate)] = await values(guest, code)
    proxies = {environ[name] for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    trust = {
        environ[name]
        for name in environ
        if name.startswith(("SSL_", "REQUESTS_", "CURL_", "PIP_", "GIT_", "NODE_EXTRA"))
    }
    assert (proxies, environ["NO_PROXY"], environ["no_proxy"]) == ({"http://127.0.0.1:3128"}, "", "")
    assert (trust, certificate) == ({"/etc/cellwright/authority.pem"}, CERTIFICATE)


async def test_the_certificate_cannot_be_changed() -> None:
    code = f"""{TRIED}
path = os.environ['SSL_CERT_FILE']
[tried(action) for action in (
    lambda: open(path, 'w'), lambda: os.unlink(path), lambda: os.chmod(path, 0o777), lambda: os.rename(path, '/tmp/x'),
    lambda: open('/etc/cellwright/x', 'w'), lambda: os.rename('/etc/cellwright', '/etc/x'))]"""
    async with networked() as guest:
        [errors] = await values(guest, code)
    assert set(errors) <= {"EACCES", "EROFS", "EXDEV", "EBUSY", "EPERM"}


SHUT = {
    "UDP": "socket.socket(type=socket.SOCK_DGRAM)",
    "raw": "socket.socket(type=socket.SOCK_RAW, proto=1)",
    "IPv6": "socket.socket(socket.AF_INET6)",
    "unix": "socket.socket(socket.AF_UNIX)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "packets": "socket.socket(17, socket.SOCK_RAW)",
    "MPTCP": "socket.socket(proto=262)",
    "SCTP": "socket.socket(proto=132)",
    "bind": "socket.socket().bind(('127.0.0.1', 0))",
    "listen": "socket.socket().listen()",
    "fast open": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', 3128))",
    "large buffers": "socket.socket().setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)",
    "option of the peer": "socket.socket().getsockopt(socket.SOL_SOCKET, 17)",
    "option of IP": "socket.socket().setsockopt(0, 1, 1)",
    "another port": "connect('127.0.0.1', 80)",
    "another loopback address": "connect('127.0.0.2', 3128)",
    "another network": "connect('10.0.0.1', 3128)",
    "the internet": "connect('192.0.2.1', 443)",
    "a name": "socket.getaddrinfo('example.com', 80)",
}


async def test_everything_else_stays_shut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]
        cell = f"{TRIED}\n{{name: tried(lambda: eval(code)) for name, code in {SHUT!r}.items()}}"
        host = f"[tried(lambda: connect('127.0.0.1', {port})), tried(lambda: connect('127.0.0.1', 3128))]"
        async with networked() as guest:
            refused, (service_refused, own) = await values(guest, cell, host)
        service.setblocking(False)
        with pytest.raises(BlockingIOError):
            service.accept()
    assert {name: error for name, error in refused.items() if error == "done"} == {}
    assert (service_refused != "done", own) == (True, "done")


async def test_siblings_have_listeners_of_their_own() -> None:
    first, second = Echo(), Echo()
    code = "import urllib.request\nurllib.request.urlopen('http://x/{}').read().decode()"
    async with networked(first) as one, networked(second) as other:
        await asyncio.gather(values(one, code.format("one")), values(other, code.format("other")))
    assert [len(first.heads), len(second.heads)] == [1, 1]
    assert "http://x/one" in first.heads[0]


NO_RIGHTS = {"namespaces": CONTAINER_CAPABILITIES, "networks": tuple(set(EVERY_CAPABILITY) - {12})}


@pytest.mark.parametrize("capabilities", NO_RIGHTS.values(), ids=NO_RIGHTS)
async def test_a_host_without_rights_gives_a_network_too(capabilities: tuple[int, ...], tmp_path: Path) -> None:
    python = refusing(tmp_path, capabilities=capabilities)
    async with networked(environment=Environment(python=python)) as guest:
        assert await values(guest, CLIENTS["urllib"]) == [SAID]


async def test_no_descriptor_of_the_listener_is_left_in_the_guest() -> None:
    code = f"{TRIED}\n[fd for fd in range(256) if tried(lambda: os.fstat(fd)) == 'done']"
    async with networked() as guest:
        assert await values(guest, code) == [[0, 1, 2, 3]]


async def test_programs_that_the_host_starts_do_not_get_the_listener() -> None:
    inherited: list[bool] = []

    class Noting(Echo):
        def serve(self, listener: socket.socket, door: Any) -> Any:
            inherited.append(listener.get_inheritable())
            return super().serve(listener, door)

    async with networked(Noting()) as guest:
        await values(guest, CLIENTS["urllib"])
    assert inherited == [False]


async def test_what_the_host_does_not_read_is_little() -> None:
    code = """
import socket
total = 0
lines = [socket.socket() for _ in range(40)]
for line in lines:
    line.settimeout(0.0)
    try:
        line.connect(('127.0.0.1', 3128))
    except BlockingIOError:
        pass
for line in lines:
    try:
        while True:
            total += line.send(bytes(1 << 16))
    except OSError:
        pass
total
"""

    class Deaf(Echo):
        def serve(self, listener: socket.socket, door: Any) -> Any:
            return listener.close

    async with networked(Deaf()) as guest:
        assert 0 < (await values(guest, code))[0] < 40 << 20


async def test_guests_without_a_network_stay_without_sockets(tmp_path: Path) -> None:
    code = "import socket\nsocket.socket()"
    assert "PermissionError" in (await told(code, tmp_path))["error"]


async def test_programs_of_the_guest_have_the_network_too() -> None:
    program = f"import urllib.request\nprint(urllib.request.urlopen('{URL}').read().decode())"
    code = f"import subprocess, sys\nsubprocess.check_output([sys.executable, '-c', {program!r}], text=True)"
    limits = Limits(processes=4, wall_s=PATIENCE_S, cpu_s=PATIENCE_S)
    async with networked(limits=limits) as guest:
        assert await values(guest, code) == [f"{SAID}\n"]


async def test_a_guest_in_a_scratch_workspace_has_a_network() -> None:
    async with networked(scratch=True) as guest:
        before = await values(guest, CLIENTS["urllib"])
        await guest.reveal()
        assert (before, (await guest.run(2, CLIENTS["urllib"])).unwrap()) == ([SAID], SAID)


async def test_a_request_between_cells_is_told_that_no_cell_runs() -> None:
    async with networked() as guest:
        with pytest.raises(CallLimit, match="no cell is running"):
            await guest.requests.ask("k", Packed({"t": []}, []), 1, "said")


async def test_a_request_counts_as_a_host_call() -> None:
    code = "import urllib.request\n[urllib.request.urlopen('http://x/a').read().decode() for _ in range(3)]"
    async with networked(limits=Limits(host_calls=2, wall_s=PATIENCE_S)) as guest:
        [texts] = await values(guest, code)
    assert texts[:2] == ["GET http://x/a"] * 2
    assert "host_calls=2" in texts[2]


async def test_a_request_that_is_given_up_ends_its_call_and_one_whose_guest_ends_is_told() -> None:
    async with networked() as guest:
        calls = guest._calls  # pyright: ignore[reportPrivateUsage]

        async def requested(under_way: int) -> asyncio.Task[Any]:
            request = asyncio.create_task(guest.requests.ask("k", Packed({"t": []}, []), 1, "wait"))
            await until(under_way)
            return request

        async def until(under_way: int) -> None:
            async def holds() -> bool:
                return len(calls.under_way) == under_way

            await eventually(holds)

        cell = asyncio.create_task(guest.run(1, "await echo.wait()"))
        await until(1)
        (await requested(2)).cancel()
        await until(1)
        left = await requested(2)
        cell.cancel()
        for asking in (left, guest.requests.ask("k", Packed({"t": []}, []), 1, "wait")):
            with pytest.raises(GuestGone):
                await asking


async def test_the_landlock_rung_gives_no_network_and_says_so() -> None:
    live = await asyncio.to_thread(Workspace.create, None)
    try:
        async with landlock_sandbox() as sandbox:
            with pytest.raises(UsageError, match="the landlock sandbox gives guests no network"):
                await sandbox.open(Opening(host=ScopeHost(Scope({})), workspace=live, network=Echo()))
    finally:
        await asyncio.to_thread(live.remove)


async def test_a_machine_that_refuses_the_listener_is_told_before_there_is_a_guest(tmp_path: Path) -> None:
    python = refusing(tmp_path, "setsockopt")
    with pytest.raises(IsolationMissing, match=r"gives guests no network: network \(listen: "):
        async with started(replace(PLAN, python=python, network=True)):
            pass


CELLS = (
    "import urllib.request\na = urllib.request.urlopen('http://x/a').read()",
    "import httpx, os\nb = httpx.post('http://x/b', content=os.urandom(8)).text",
    "import asyncio\nasync with httpx.AsyncClient() as client:\n"
    "    c = [r.text for r in await asyncio.gather(*(client.get(f'http://x/{i}') for i in range(6)))]",
    "async with httpx.AsyncClient() as client:\n    d = (await client.get('http://x/d')).text\n"
    "    await asyncio.sleep(0.001)",
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool:\n"
    "    e = [r.text for r in pool.map(httpx.get, [f'http://x/{i}' for i in range(4)])]",
    "(a, b, c, d, e)",
)


async def test_requests_of_a_journaled_session_are_recorded_and_are_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = ProcessSandbox.open

    async def opened(self: ProcessSandbox, opening: Opening) -> Any:
        return await usual(self, replace(opening, network=Echo()))

    monkeypatch.setattr(ProcessSandbox, "open", opened)
    journal, host, packages = MemoryStore(), Host(), Path(sys.prefix)
    async with Runtime({"echo": host}, store=journal, session="s", packages=packages) as rt:
        for code in CELLS:
            (await rt.execute(code)).unwrap()
    made = len(host.calls)
    assert (made, str(await replay("s", store=journal, packages=packages))[:15]) == (13, "same: 6 cells, ")
    async with Runtime.resume("s", scope={"echo": host}, store=journal, packages=packages) as rt:
        a, b, c, d, e = (await rt.execute("(a, b, c, d, e)")).unwrap()
    assert (a, b, d, len(host.calls)) == (b"GET http://x/a", "POST http://x/b", "GET http://x/d", made)
    assert [text[-1] for text in c + e] == list("0123450123")
