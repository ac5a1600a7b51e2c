"""What binding an object of a known library grants: the rows of its table, and nothing else that its methods could do.

Each test binds a real library's object. Guest code tries what the library offers and the table does not grant.
"""

from __future__ import annotations

import functools
import logging
import subprocess
import types
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest
import starlette.datastructures

from cellwright import Limits, Runtime, Scope
from cellwright.errors import UsageError
from cellwright.scope import BroadBinding

LAYER = "binding"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


async def told(code: str, scope: Scope | None = None, **names: Any) -> str:
    """The value of a cell as text, or the text of its error."""
    async with Runtime(scope or Scope(names), limits=Limits()) as rt:
        outcome = await rt.execute(dedent(code))
    return str(outcome.value) if outcome.error is None else str(outcome.error).splitlines()[-1]


def replying(seen: list[httpx.Request]) -> httpx.MockTransport:
    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"key": request.headers.get("x-key", "")})

    return httpx.MockTransport(reply)


STOLEN = "stolen = []\ndef auth(request):\n    stolen.append(dict(request.headers))\n    return request\n"


@pytest.mark.parametrize(
    "call",
    [
        "client.get('https://example.test', auth=auth)",
        "client.get(url='https://example.test', auth=auth)",
        "client.request('GET', 'https://example.test', auth=auth)",
        "(lambda get: get('https://example.test', auth=auth))(client.get)",
        "client.get('https://example.test', headers=[('a', auth)])",
        "client.get('https://example.test', extensions={'trace': auth})",
    ],
)
async def test_a_request_with_its_keys_is_not_handed_to_a_guest_function(call: str) -> None:
    seen: list[httpx.Request] = []
    with httpx.Client(headers={"x-key": "sk-secret"}, transport=replying(seen)) as client:
        text = await told(f"{STOLEN}{call}\nstolen", client=client)
    assert "binding it does not grant" in text
    assert 'scope.declare("client.' in text
    assert seen == []


async def test_what_the_table_grants_works() -> None:
    seen: list[httpx.Request] = []
    with httpx.Client(headers={"x-key": "sk-secret"}, transport=replying(seen)) as client:
        reply = "client.get('https://example.test', params={'a': 'b'})"
        assert await told(f"reply = {reply}\nreply.status_code, reply.headers['content-type']", client=client) == (
            "(200, 'application/json')"
        )
        assert "sends" in await told(f"{reply}.sends", client=client)
        text = await told("client.send(1)", client=client)
    assert "binding it does not grant this member of httpx" in text
    assert 'scope.declare("client.send", hide=False) grants it' in text


async def test_a_member_and_its_parameters_are_granted_by_the_line_that_the_refusal_names() -> None:
    seen: list[httpx.Request] = []
    with httpx.Client(transport=replying(seen)) as client:
        scope = Scope({"client": client})
        scope.declare("client.get", hide=False)
        scope.declare("client.__enter__", hide=False)
        text = await told("client.get('https://example.test', auth=lambda r: r).status_code", scope)
        assert text == "200"


async def test_methods_of_a_class_that_derives_from_a_library_class_stay_granted() -> None:
    class Api(httpx.Client):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.region = "eu"

        def send_it(self, hook: Any) -> str:
            return f"sent {hook(1)}"

    with Api(transport=replying([])) as api:
        assert await told("api.send_it(lambda n: n + 1), api.region", api=api) == "('sent 2', 'eu')"
        assert "does not grant" in await told("api.base_url", api=api)
        assert "does not grant" in await told("api.send", api=api)


async def test_a_logger_takes_no_filter_and_cannot_be_silenced() -> None:
    log = logging.getLogger("cellwright.attacks")
    for code in (
        "log.addFilter(lambda record: False)",
        "log.filters",
        "log.setLevel(100)",
        "log.getChild('x').manager",
        "log.removeHandler(1)",
        "setattr(log, 'disabled', True)",
        "setattr(log, 'propagate', False)",
    ):
        assert "does not grant" in await told(code, log=log), code
    assert await told("log.info('%s came', 'ada')", log=log) == "None"
    assert not log.filters
    assert not log.disabled


@pytest.mark.parametrize("name", ["get", "Client", "stream", "request"])
async def test_a_bound_module_of_a_library_without_a_row_shows_nothing(name: str) -> None:
    assert "shows no" in await told(f"httpx.{name}", httpx=httpx)
    shown = "[n for n in dir(httpx) if not n.startswith('_') and not issubclass(getattr(httpx, n), Exception)]"
    assert await told(shown, httpx=httpx) == "[]"


async def test_a_member_of_a_module_is_granted_by_the_line_that_the_refusal_names() -> None:
    assert 'scope.declare("httpx.codes", hide=False) grants it' in await told("httpx.codes", httpx=httpx)
    scope = Scope({"httpx": httpx})
    scope.declare("httpx.get", hide=False)
    assert "get" in await told("dir(httpx)", scope)


async def test_a_bound_class_of_a_library_is_not_built_with_a_transport_of_the_guests() -> None:
    text = await told("Client(transport=lambda r: r)", Client=httpx.Client)
    assert "does not grant" in text
    assert 'scope.declare("Client.__init__", hide=False)' in text


async def test_a_partial_a_cached_function_and_a_module_of_the_developers_stay_granted() -> None:
    @functools.lru_cache
    def twice(n: int) -> int:
        return 2 * n

    module = types.ModuleType("mine")
    module.__dict__.update(__all__=["twice"], twice=twice)
    names: dict[str, Any] = {"p": functools.partial(twice, 4), "twice": twice, "mine": module}
    assert await told("p(), twice(3), mine.twice(2)", **names) == "(8, 6, 4)"


# attributes that can be called


class Toolbox:
    """Its attributes lead to a class, and to an object that can be called."""

    Shell = subprocess.Popen
    Alias = subprocess.Popen[bytes]

    def __init__(self) -> None:
        self.shell = subprocess.Popen
        self.wrapped = staticmethod(subprocess.Popen)
        self.space = types.SimpleNamespace(shell=subprocess.Popen)
        self.twice = functools.partial(int.__mul__, 2)


@pytest.mark.parametrize("name", ["shell", "Shell", "Alias", "wrapped"])
@pytest.mark.parametrize("owner", ["box", "box.space"])
async def test_a_class_that_is_an_attribute_is_not_run_by_a_message_of_the_guests_own(
    name: str, owner: str, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    code = f"""
    call = type(box)._cellwright_world.call
    box.twice(4)
    owner = {owner}
    call("call", owner._grip.handle, {name!r}, ["touch", {str(target)!r}])
    """
    text = await told(code, box=Toolbox())
    assert "not called through an attribute" in text or "no attribute" in text
    assert not target.exists()


# objects of distributions that nothing is known of


class Page:
    """A developer's own class, which leads to an object of another distribution."""

    @property
    def address(self) -> starlette.datastructures.URL:
        return starlette.datastructures.URL("https://example.test/a")


def test_binding_an_object_of_another_distribution_warns_once_for_its_class() -> None:
    url = type("URL", (starlette.datastructures.URL,), {"__module__": "starlette.datastructures"})(
        "https://example.test"
    )
    with pytest.warns(
        BroadBinding, match=r"address is a URL of starlette .* \d+ public members; scope.declare"
    ) as seen:
        Scope({"address": url, "again": url})
    assert len(seen) == 1


def test_strict_binding_refuses_it_unless_only_says_what_it_shows() -> None:
    url = starlette.datastructures.URL("https://example.test/a")
    with pytest.raises(UsageError, match=r"strict_binding refuses that; .*scope.declare\(\"address.\*\", only="):
        Scope({"address": url}, strict_binding=True)
    scope = Scope(strict_binding=True)
    scope.declare("address.*", only=["path"])
    scope.bind("address", url)
    scope.bind("page", Page())
    scope.bind("log", logging.getLogger("cellwright.test"))


async def test_strict_binding_refuses_such_objects_where_they_are_reached() -> None:
    scope = Scope({"page": Page()}, strict_binding=True)
    assert "a URL of starlette does not cross under strict_binding" in await told("page.address.path", scope)
    scope.declare("URL.*", only=["path"])
    assert await told("page.address.path", scope) == "/a"
