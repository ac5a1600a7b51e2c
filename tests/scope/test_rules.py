"""What narrows a bound object: underscores, modules and classes, presets, and `scope.declare`."""

from __future__ import annotations

import functools
import json
import logging
import sqlite3
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pandas as pd
import pydantic
import pytest
import sqlalchemy
from tests.cells import failure, value

from cellwright import Limits, Runtime, Scope, operation
from cellwright.errors import UsageError


class Inner:
    def list(self) -> str:
        return "listed"

    def drop(self) -> str:
        return "dropped"


class Crm:
    """Has what an object should not show, and what it should."""

    module = json
    cls = Inner

    def __init__(self) -> None:
        self.contacts = Inner()
        self.deals = Inner()
        self.name = "crm"
        self.password = "hunter2"
        self.api_key = "sk-1"
        self.Token = "t-1"
        self._private = "p"
        self.callback = lambda: "called"
        self.kind = Inner

    def read(self) -> str:
        return "read"

    @operation(reads=True)
    def marked(self) -> str:
        return "marked"

    def write(self, x: int = 0) -> str:
        self.name = "written"
        return "written"

    def token(self, x: int) -> int:
        return x

    def get_module(self) -> Any:
        return json

    def get_class(self) -> Any:
        return Inner

    def get_frame(self) -> Any:
        return sys._getframe()  # pyright: ignore[reportPrivateUsage] -- it is what must not cross

    def get_code(self) -> Any:
        return self.read.__code__

    def generator(self) -> Iterator[int]:
        yield 1

    def _hidden(self) -> str:
        return "hidden"

    def __getitem__(self, key: str) -> str:
        return key

    def __setitem__(self, key: str, new: Any) -> None:
        self.name = new


async def refused(code: str, scope: Scope | None = None) -> str:
    async with Runtime(scope or {"crm": Crm()}) as rt:
        out = await rt.execute(
            f"try:\n    told = [{code}]\nexcept AttributeError as error:\n    told = str(error)\ntold"
        )
        assert isinstance(out.unwrap(), str), f"{code} gave {out.value!r}"
        assert (await rt.execute("crm.read()")).unwrap() == "read"
        return out.value


async def allowed(code: str, scope: Scope) -> Any:
    async with Runtime(scope) as rt:
        return (await rt.execute(code)).unwrap()


@pytest.mark.parametrize("name", ["_private", "_hidden", "__dict__", "__globals__", "__init__.__globals__", "_grip.x"])
async def test_nothing_with_a_leading_underscore_crosses(name: str) -> None:
    first = name.partition(".")[0]
    ask = f"type(crm)._cellwright_world.call('get', crm._grip.handle, {first!r})"
    assert first in await refused(ask)
    call = f"type(crm)._cellwright_world.call('call', crm._grip.handle, {first!r})"
    assert first in await refused(call)


async def test_underscores_cannot_be_set_or_deleted_either() -> None:
    for verb, more in (("set", ", 1"), ("del", "")):
        await refused(f"type(crm)._cellwright_world.call('{verb}', crm._grip.handle, '_private'{more})")


@pytest.mark.parametrize("code", ["crm.module", "crm.get_module()", "crm.cls", "crm.kind", "crm.get_class()"])
async def test_modules_and_classes_do_not_cross_as_attributes_or_results(code: str) -> None:
    crm = Crm()
    out = await value(
        f"try:\n    told = {code}\nexcept (AttributeError, TypeError) as error:\n    told = str(error)\ntold", crm=crm
    )
    assert isinstance(out, str)


@pytest.mark.parametrize("code", ["crm.get_frame()", "crm.get_code()"])
async def test_frames_and_code_never_cross(code: str) -> None:
    assert "never crosses" in (await failure(code, crm=Crm())).message


@pytest.mark.parametrize("name", ["gi_frame", "gi_code", "gi_yieldfrom"])
async def test_the_machinery_of_a_generator_does_not_show(name: str) -> None:
    await refused(f"crm.generator().{name}")


@pytest.mark.parametrize("name", ["password", "api_key", "Token"])
async def test_attributes_that_carry_credentials_are_hidden_and_not_listed(name: str) -> None:
    assert "credentials" in await refused(f"crm.{name}")
    assert name not in await value("dir(crm)", crm=Crm())


async def test_a_method_with_the_name_of_a_credential_is_not_hidden() -> None:
    assert await value("crm.token(3)", crm=Crm()) == 3


async def test_an_attribute_that_is_a_function_can_be_called() -> None:
    assert await value("crm.callback()", crm=Crm()) == "called"


async def test_hide_takes_members_away() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.*", hide=["write", "name"])
    assert "hidden in this scope" in await refused("crm.write()", scope)
    await refused("crm.name", scope)
    names = await allowed("dir(crm)", scope)
    assert "write" not in names
    assert "read" in names


async def test_hide_by_a_pattern_takes_all_that_it_matches() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.contacts.*", hide=True)
    await refused("crm.contacts.drop()", scope)
    assert await allowed("crm.deals.drop()", scope) == "dropped"


async def test_only_leaves_what_it_names() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.*", only=["read", "contacts"])
    await refused("crm.write()", scope)
    await refused("crm.name", scope)
    assert await allowed("crm.read(), crm.contacts.list()", scope) == ("read", "listed")


async def test_a_rule_by_class_name_holds_wherever_the_object_is_reached() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("Inner.drop", hide=True)
    await refused("crm.contacts.drop()", scope)
    await refused("crm.deals.drop()", scope)
    assert await allowed("crm.deals.list()", scope) == "listed"


async def test_the_same_class_may_show_different_members_in_different_places() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.contacts.*", only=["list"])
    assert await allowed("'drop' in dir(crm.contacts), 'drop' in dir(crm.deals)", scope) == (False, True)


async def test_read_only_refuses_what_is_not_known_to_read() -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    scope.declare("crm.*", read_only=True)
    scope.declare("crm.read", reads=True)
    assert "read-only" in await refused("crm.write()", scope)
    assert await allowed("crm.read(), crm.marked(), crm.name, crm['x']", scope) == ("read", "marked", "crm", "x")


@pytest.mark.parametrize("code", ["setattr(crm, 'name', 'x')", "delattr(crm, 'name')", "crm.__setitem__('a', 'x')"])
async def test_read_only_refuses_writing_attributes_and_items(code: str) -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    scope.declare("crm.*", read_only=True)
    scope.declare("crm.read", reads=True)
    await refused(code, scope)
    assert crm.name == "crm"


async def test_a_later_rule_overrides_an_earlier_one_and_a_preset() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.*", hide=["name"])
    scope.declare("crm.name", hide=False)
    scope.declare("crm.api_key", hide=False)
    assert await allowed("crm.name, crm.api_key", scope) == ("crm", "sk-1")


async def test_a_hidden_member_cannot_be_reached_by_another_way() -> None:
    scope = Scope({"crm": Crm(), "Inner": Inner})
    scope.declare("crm.*", hide=["write"])
    for verb in ("get", "call"):
        await refused(f"type(crm)._cellwright_world.call('{verb}', crm._grip.handle, 'write')", scope)
    scope.declare("Inner.drop", hide=True)
    await refused("Inner.drop", scope)


@pytest.mark.parametrize(
    "wrong",
    [{"hide": "name"}, {"only": "name"}, {"unknown": 1}, {"timeout_s": -1}, {"thread": "other"}],
)
def test_a_wrong_declaration_is_told_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Scope({"crm": Crm()}).declare("crm.*", **wrong)


# modules


def make_module(**members: Any) -> types.ModuleType:
    module = types.ModuleType("made")
    for name, member in members.items():
        setattr(module, name, member)
    return module


async def test_a_bound_module_shows_what_all_lists() -> None:
    module = make_module(__all__=["shown", "_secret"], shown=lambda: "shown", other=lambda: "other", _secret=1)
    assert await value("m.shown()", m=module) == "shown"
    for name in ("other", "_secret"):
        assert name in (await failure(f"m.{name}", m=module)).message


async def test_a_bound_module_without_all_shows_what_it_defines_itself() -> None:
    def own() -> str:
        return "own"

    own.__module__ = "made"
    module = make_module(own=own, json=json, foreign=functools.reduce, LIMIT=3, os=sys)
    assert await value("m.own(), m.LIMIT", m=module) == ("own", 3)
    for name in ("json", "foreign", "os"):
        assert name in (await failure(f"m.{name}", m=module)).message


async def test_a_real_module_is_no_way_to_another() -> None:
    assert await value("m.loads('[1]'), m.dumps({'a': 1})", m=json) == ([1], '{"a": 1}')
    for path in ("m.codecs", "m.decoder", "m.scanner", "m.__builtins__", "m.__dict__", "m.loads.__globals__['sys']"):
        out = await value(
            f"try:\n    told = {path}\nexcept (AttributeError, KeyError) as error:\n    told = 'refused'\ntold", m=json
        )
        assert out == "refused", path


async def test_a_module_is_read_only() -> None:
    module = make_module(__all__=["shown"], shown=lambda: "shown")
    assert "read-only" in (await failure("m.shown = 1", m=module)).message


# presets, on the real libraries


async def hidden(code: str, **names: Any) -> bool:
    cell = f"try:\n    told = {code}\nexcept (AttributeError, TypeError) as error:\n    told = 'refused'\ntold"
    return await value(cell, **names) == "refused"


@pytest.mark.parametrize(
    "name", ["headers", "auth", "cookies", "base_url", "params", "event_hooks", "build_request", "send"]
)
async def test_an_httpx_client_shows_no_credentials(name: str) -> None:
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, json={"auth": "authorization" in request.headers})
    )
    with httpx.Client(
        headers={"authorization": "Bearer secret"}, base_url="https://u:p@example.test", transport=transport
    ) as client:
        assert await hidden(f"client.{name}", client=client)
        assert await value("client.get('/x').json()", client=client) == {"auth": True}


@pytest.mark.parametrize("name", ["request", "request.headers", "history", "stream"])
async def test_an_httpx_response_and_its_errors_do_not_lead_to_the_request(name: str) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(500, text="down"))
    with httpx.Client(headers={"authorization": "Bearer secret-token"}, transport=transport) as client:
        assert await hidden(f"client.get('https://example.test').{name}", client=client)
        code = """
        try:
            client.get('https://u:hunter22@example.test').raise_for_status()
        except Exception as error:
            told = type(error).__name__, [str(error), repr(error), repr(vars(error))], hasattr(error, 'request')
        told
        """
        name_of, text, has = await value(code, client=client)
        assert name_of == "HTTPStatusError"
        assert not has
        assert "secret" not in str(text)
        assert "hunter22" not in str(text)


@pytest.mark.parametrize("name", ["url", "engine", "pool", "dialect", "raw_connection"])
async def test_a_sqlalchemy_engine_shows_no_url(name: str) -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    assert await hidden(f"engine.{name}", engine=engine)
    assert "url" not in await value("dir(engine)", engine=engine)


async def test_a_sqlalchemy_connection_does_not_lead_back_to_its_engine() -> None:
    engine = sqlalchemy.create_engine("sqlite://")

    def connect() -> sqlalchemy.Connection:
        return engine.connect()

    code = "with connect() as c:\n    rows = [tuple(r) for r in c.exec_driver_sql('select 1, 2')]\nrows"
    assert await value(code, connect=connect) == [(1, 2)]
    for name in ("engine", "connection", "dialect"):
        assert await hidden(f"connect().{name}", connect=connect)


async def test_requests_like_objects_are_known_by_their_library_and_class() -> None:
    def method(self: Any) -> int:
        return 1

    def of(library: str, name: str, **members: Any) -> Any:
        return type(name, (), {"__module__": f"{library}.models", **members})()

    cases: list[tuple[Any, str]] = [
        (of("requests", "Session", headers={"a": 1}, get=method), "headers"),
        (of("requests", "Response", request=1, text="ok"), "request"),
        (of("openai", "OpenAI", api_key="k", with_options=method), "with_options"),
        (of("boto3", "Session", get_credentials=method), "get_credentials"),
        (of("psycopg2", "connection", dsn="host=x"), "dsn"),
    ]
    for fake, name in cases:
        assert await hidden(f"o.{name}", o=fake), name


async def test_sqlite3_cannot_load_extensions() -> None:
    assert await hidden("c.enable_load_extension(True)", c=sqlite3.connect(":memory:", check_same_thread=False))
    assert await hidden("c.load_extension('x')", c=sqlite3.connect(":memory:", check_same_thread=False))


async def test_a_logger_does_not_lead_to_its_handlers() -> None:
    for name in ("manager", "handlers", "root", "parent"):
        assert await hidden(f"log.{name}", log=logging.getLogger("cellwright.test"))


async def test_a_partial_and_a_bound_method_do_not_show_what_they_hold() -> None:
    def secret(key: str, x: int) -> int:
        return x

    names: dict[str, Callable[..., Any]] = {"p": functools.partial(secret, "sk-1"), "m": Crm().read}
    assert await value("p(3), m()", **names) == (3, "read")
    for path in ("p.args", "p.keywords", "p.func", "m.__self__", "m.__func__", "p.__closure__[0]"):
        told = await value(
            f"try:\n    told = {path}\nexcept (AttributeError, TypeError):\n    told = None\nstr(told)", **names
        )
        assert "sk-1" not in told
        assert told == "None" or "guest" not in told


async def test_a_preset_can_be_lifted_by_name() -> None:
    with httpx.Client(headers={"x-shown": "1"}) as client:
        scope = Scope({"client": client})
        scope.declare("client.headers", hide=False)
        async with Runtime(scope, limits=Limits()) as rt:
            assert (await rt.execute("client.headers['x-shown']")).unwrap() == "1"


async def test_declaring_a_class_with_rules_narrows_its_objects() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare(Inner, hide=["drop"])
    assert "hidden in this scope" in await refused("crm.contacts.drop()", scope)
    assert await allowed("crm.contacts.list()", scope) == "listed"


async def test_a_read_only_scope_is_read_only_as_deep_as_it_goes() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.*", read_only=True)
    scope.declare("crm.read", reads=True)
    scope.declare("crm.contacts.list", reads=True)
    assert "read-only" in await refused("crm.contacts.drop()", scope)
    assert await allowed("crm.contacts.list()", scope) == "listed"


async def test_a_hidden_attribute_cannot_be_written_over() -> None:
    crm = Crm()
    scope = Scope({"crm": crm})
    assert "credentials" in await refused("setattr(crm, 'password', 'x')", scope)
    assert crm.password == "hunter2"


async def test_a_pydantic_secret_stays_secret() -> None:
    class Config(pydantic.BaseModel):
        name: str
        key: pydantic.SecretStr

    config = Config(name="c", key=pydantic.SecretStr("sk-secret"))
    code = """
    told = [repr(config), str(config.key), repr(config.key), config.name]
    for path in (lambda: config.key.get_secret_value(), lambda: config.model_dump(), lambda: config.model_dump_json()):
        try:
            told.append(repr(path()))
        except (AttributeError, TypeError) as error:
            told.append('refused')
    told
    """
    told = await value(code, config=config)
    assert "sk-secret" not in str(told)
    assert told[3] == "c"


async def test_a_method_that_calls_by_name_does_not_find_what_was_hidden() -> None:
    scope = Scope({"df": pd.DataFrame({"n": [1, 2]})})
    scope.declare("df.*", hide=["sum"])
    async with Runtime(scope) as rt:
        assert "which is hidden" in str((await rt.execute("df.agg('sum')")).error)
        assert (await rt.execute("df.agg('max').to_dict()")).unwrap() == {"n": 2}
