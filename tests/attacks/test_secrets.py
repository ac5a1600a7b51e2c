"""Credentials by every exit: what guest code, a model, a person and a file are told of host objects that hold one."""

from __future__ import annotations

import functools
import io
import subprocess
import types
from dataclasses import asdict, dataclass
from textwrap import dedent
from typing import Any, NamedTuple

import attrs
import httpx
import pydantic
import pytest
import requests
from requests.adapters import BaseAdapter
from tests.agent.worlds import agent_with
from tests.cells import outcomes, value

from cellwright import Runtime, Scope, replay
from cellwright.scope import shown as shown_value
from cellwright.sessions import Sessions
from cellwright.store import MemoryStore
from cellwright.testing import code

LAYER = "secrets"

KEY = "canary-value-without-a-format"
FORMAT = "sk-proj-0123456789abcdef"
EVERYTHING = """
import inspect, pydoc
loot = []
for use in (repr, str, format, dir, vars, pydoc.render_doc, inspect.signature, inspect.getdoc):
    try:
        loot.append(str(use(target)))
    except Exception as error:
        loot.append(str(error))
loot
"""


def send(text: str, *, api_key: str = "", conn: str = "", n: int = 3) -> str:
    """Sends a text."""
    return f"{text} {len(api_key)} {len(conn)} {n}"


class Mailer:
    """Sends. An example key is sk-proj-0123456789abcdef."""

    def _post(self, text: str, token: str = "", conn: str = "") -> str:
        return text

    post = functools.partialmethod(_post, token=KEY, conn=KEY)

    def send(self, text: str, token: str = KEY, url: str = f"https://u:{KEY}@h/") -> str:
        """The key sk-proj-0123456789abcdef is the test account's."""
        return text

    def fits(self, limit: int = 5, sort_key: str = "name") -> int:
        """Counts."""
        return limit


@dataclass
class Settings:
    password: str = KEY
    size: int = 3

    def grow(self) -> None:
        self.size += 1


class Word(pydantic.BaseModel):
    token: str
    logprob: float


class Answer(pydantic.BaseModel):
    words: list[Word]

    def first(self) -> str:
        return self.words[0].token


TARGETS: dict[str, Any] = {
    "partial": functools.partial(send, api_key=KEY, conn=KEY),
    "partial_of_partial": functools.partial(functools.partial(send, conn=KEY), n=4),
    "object": Mailer(),
    "bound_method": Mailer().send,
    "class": Mailer,
    "dataclass": Settings,
}


@pytest.mark.parametrize("name", TARGETS)
async def test_no_signature_help_or_repr_tells_a_given_key(name: str) -> None:
    loot = await value(EVERYTHING, target=TARGETS[name])
    assert KEY not in str(loot)
    assert FORMAT not in str(loot)


async def test_harmless_defaults_are_still_told_and_a_partial_still_works() -> None:
    code = "import inspect\nstr(inspect.signature(mailer.fits)), target('x')"
    told, sent = await value(code, mailer=Mailer(), target=TARGETS["partial"])
    answer = Answer(words=[Word(token="it", logprob=0.5)])
    assert await value("answer.model_dump(), answer.words[0].token", answer=answer) == (answer.model_dump(), "it")
    assert told == "(limit: int = 5, sort_key: str = 'name') -> int"
    assert sent == f"x {len(KEY)} {len(KEY)} 3"


async def test_no_stub_search_journal_or_export_tells_a_given_key() -> None:
    store, file = MemoryStore(), io.BytesIO()
    scope = Scope({"mailer": Mailer(), "Mailer": Mailer, **{n: TARGETS[n] for n in ("partial", "bound_method")}})
    async with Runtime(scope=scope, store=store, session="s1") as runtime:
        texts = [await runtime.show(name) for name in ("mailer", "Mailer", "partial", "bound_method")]
        texts += map(str, await runtime.search("send text key"))
        signatures = "import inspect\n[str(inspect.signature(f)) for f in (partial, mailer.send)]"
        texts.append(str((await runtime.execute(signatures)).unwrap()))
        await runtime.write_stubs()
        texts += [
            await runtime.files.read_text(one.path) for one in await runtime.files.list() if one.path.endswith(".pyi")
        ]
        texts.append(repr(store.entries("s1")))
        Sessions(store).export("s1", file)
    texts.append(file.getvalue().decode())
    assert all(texts)
    assert KEY not in str(texts)
    assert FORMAT not in str(texts)


class Refusal(RuntimeError):
    def __init__(self) -> None:
        super().__init__(f"no: database_url='postgres://u:{KEY}@h/x' in /etc/{KEY}/app.conf or /opt/{KEY}/x; {FORMAT}")
        self.headers = {"Authorization": f"Bearer {KEY}", "X-Api-Key": KEY, "X-Session": KEY, "Retry-After": "7"}
        self.pairs = [("cookie", KEY), (b"x-api-key", KEY.encode()), ("accept", "*/*")]
        self.response_headers = [["Set-Cookie", KEY]]
        self.stripe_key = self.database_url = self.clientSecret = KEY
        self.body = {"client_secret": KEY, "detail": f"token={KEY}", "key": "name", "next_token": "t"}
        self.raw = f"Authorization: Bearer {KEY}".encode()


CAUGHT = """
try:
    o.call()
except Exception as error:
    told = [str(error), repr(error), error.args, vars(error)]
told
"""


class Failing:
    def run(self) -> None:
        command = ["mysql", "--password", KEY, "-u", f"ann:{KEY}", "--host", "db"]
        error = RuntimeError(str(subprocess.CalledProcessError(1, command)))
        error.cmd = command  # type: ignore[attr-defined]
        raise error

    def call(self) -> None:
        raise Refusal


async def test_no_error_tells_a_key_a_header_or_a_host_path() -> None:
    command, first, second = await outcomes(CAUGHT.replace("call", "run"), CAUGHT, "o.call()", o=Failing())
    assert KEY not in repr(command)
    assert "--host" in str(command.value)
    assert KEY not in repr((first, second, str(second.error)))
    assert FORMAT not in repr((first, second, str(second.error)))
    attributes = first.value[3]
    assert attributes["headers"] == {"Retry-After": "7"}
    assert attributes["body"] == {"detail": "token=***", "key": "name", "next_token": "t"}


@dataclass(order=True)
class Login:
    user: str
    password: str
    port: int = 5432

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def greeting(self) -> str:
        return f"hello {self.user}"


@dataclass(frozen=True, slots=True)
class Slotted:
    user: str
    jwt_secret: str


@attrs.define(order=True)
class Defined:
    user: str
    client_secret: str


class Row(NamedTuple):
    user: str
    stripe_key: str


class Model(pydantic.BaseModel):
    user: str
    database_url: str

    def __str__(self) -> str:
        return f"{self.user} at {self.database_url}"


class Parent(pydantic.BaseModel):
    user: str
    models: list[Model] | None = None


class Extra(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    user: str

    def greeting(self) -> str:
        return f"hello {self.user}"


class Computed(pydantic.BaseModel):
    user: str

    @pydantic.computed_field
    @property
    def token(self) -> str:
        return KEY


class Plain:
    def __init__(self) -> None:
        self.user = "ada"
        self.notes = f"hidden-by-a-rule-{KEY}"
        self.auth_token = KEY

    def __repr__(self) -> str:
        return f"<Plain {self.user} {self.auth_token} {self.notes}>"


RECORDS = {
    "dataclass": Login("ada", KEY),
    "slots": Slotted("ada", KEY),
    "attrs": Defined("ada", KEY),
    "named tuple": Row("ada", KEY),
    "model": Model(user="ada", database_url=KEY),
    "nested": Parent(user="ada", models=[Model(user="ada", database_url=KEY)]),
    "extra": Extra.model_validate({"user": "ada", "api_key": KEY}),
    "computed": Computed(user="ada"),
    "plain": Plain(),
    "namespace": types.SimpleNamespace(user="ada", apiToken=KEY),
}
READERS = """
import json, dataclasses, operator
loot = []
def bisect(one, low=32, high=127):
    'The first letter of what stands second, by comparing.'
    return [chr(n) for n in range(low, high) if one > type(one)(one.user, chr(n))][-1]
names = ["model_dump", "model_dump_json", "dict", "json", "to_dict", "asdict", "model_copy", "model_fields",
         "model_extra", "model_json_schema", "schema", "index", "count", "_asdict", "__dict__", "__getstate__", "notes"]
calls = [lambda one, name=name: getattr(one, name)() for name in names]
calls += [lambda one, name=name: getattr(one, name) for name in names]
uses = [repr, str, format, list, tuple, dict, vars, dir, sorted, set, lambda one: one[1], lambda one: one[-1:],
        lambda one: [*one], lambda one: one + (), lambda one: one * 2, lambda one: next(iter(one)), bisect,
        lambda one: [*reversed(one)], lambda one: "%s %r" % (one, one), lambda one: f"{one!s} {one!r} {one:}",
        lambda one: dataclasses.asdict(one), lambda one: dataclasses.astuple(one),
        lambda one: json.dumps(one, default=str), lambda one: [str(x) for x in one.models],
        lambda one: one.models[0].model_dump(), lambda one: str(one.models[0]),
        lambda one: type(one).model_dump(one), lambda one: type(one).password, lambda one: Login.password]
for use in [*uses, *calls]:
    try:
        loot.append(str(use(target)))
    except Exception as error:
        loot.append(f"{type(error).__name__} {error}")
loot
"""


@pytest.mark.parametrize("name", RECORDS)
async def test_a_hidden_field_is_hidden_in_every_way_of_reading_it(name: str) -> None:
    scope = Scope({"target": RECORDS[name], "Login": Login, "Model": Model, "Row": Row})
    scope.declare("target.notes", hide=True)
    async with Runtime(scope=scope) as runtime:
        loot = (await runtime.execute(READERS)).unwrap()
        seen = await runtime.execute("target")
        shown = (await runtime.execute("target.user")).unwrap()
    assert KEY not in str(loot)
    assert KEY not in shown_value(seen.value)
    assert shown == "ada"
    assert "ada" in loot[0]  # what is not hidden is told


async def test_what_the_developer_wrote_stays_and_a_declaration_gives_the_rest() -> None:
    scope = Scope({"login": RECORDS["dataclass"], "model": RECORDS["model"]})
    scope.declare("login.to_dict", hide=False)
    scope.declare("model.database_url", hide=False)
    async with Runtime(scope=scope) as runtime:
        got = (await runtime.execute("login.greeting(), login.to_dict()['port'], model.database_url")).unwrap()
    assert got == ("hello ada", 5432, KEY)


async def test_an_export_replays_and_says_where_it_has_keys_and_a_chat_has_none() -> None:
    store, other, file = MemoryStore(), MemoryStore(), io.BytesIO()
    agent, _ = agent_with(code(f"print('{FORMAT}')"), f"It is {FORMAT}.", store=store)
    async with agent.session("s1") as session:
        await session.run(f"Print {FORMAT}.")
    assert FORMAT not in str(list(Sessions(store).chat("s1")))
    exported = Sessions(store).export("s1", file)
    assert exported.with_keys > 1
    file.seek(0)
    Sessions(other).import_(file)
    assert (await replay("s1", store=other)).same


@dataclass
class Contact:
    name: str
    salary: str


class Pair(NamedTuple):
    name: str
    salary: str


class Person(pydantic.BaseModel):
    name: str
    salary: str


class Crm:
    def contact(self) -> Contact:
        return Contact("ada", KEY)

    def pair(self) -> Pair:
        return Pair("ada", KEY)

    def person(self) -> Person:
        return Person(name="ada", salary=KEY)

    def people(self) -> list[Person]:
        return [self.person()]


async def test_a_field_that_a_rule_hides_does_not_cross_with_its_record() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("*.salary", hide=True)
    code = """
    loot = []
    for one in (crm.contact(), crm.pair(), crm.person(), crm.people()[0]):
        assert one.name == "ada"
        for use in (repr, str, list, dict, lambda one: one[1], lambda one: one.salary, lambda one: one.model_dump()):
            try:
                loot.append(str(use(one)))
            except Exception as error:
                loot.append(str(error))
    loot
    """
    async with Runtime(scope=scope) as runtime:
        loot = (await runtime.execute(dedent(code))).unwrap()
    assert KEY not in str(loot)
    assert "Contact(name='ada', salary=***)" in loot


# what an object holds, where its annotations do not say so


class Anything(pydantic.BaseModel):
    user: str = "ada"
    inner: Any = None

    def greeting(self) -> str:
        return f"hello {self.user}"


class Someone(pydantic.BaseModel):
    user: str = "ada"


class Member(Someone):
    api_key: str = KEY


class Team(pydantic.BaseModel):
    user: str = "ada"
    lead: pydantic.SerializeAsAny[Someone]

    def greeting(self) -> str:
        return f"hello {self.user}"


@dataclass
class Logins:
    user: str
    logins: list[Any]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


HOLDERS = {
    "a list of models": Anything(inner=[RECORDS["model"]]),
    "a dict of dataclasses": Anything(inner={"a": RECORDS["dataclass"]}),
    "a derived class": Team(lead=Member()),
    "a bare list": Logins("ada", [RECORDS["dataclass"]]),
    "a model that knows more": Anything(inner=[Anything(inner=(RECORDS["extra"],))]),
}


@pytest.mark.parametrize("name", HOLDERS)
async def test_a_record_does_not_tell_the_hidden_fields_of_what_it_holds(name: str) -> None:
    harmless = Anything(inner=[Someone()])
    async with Runtime(scope=Scope({"target": HOLDERS[name], "harmless": harmless})) as runtime:
        loot = (await runtime.execute(READERS)).unwrap()
        dumped = (await runtime.execute("harmless.model_dump()")).unwrap()
    assert KEY not in str(loot)
    assert "ada" in loot[0]
    assert dumped == harmless.model_dump()


async def test_a_record_does_not_tell_a_field_that_a_rule_hides_of_what_it_holds() -> None:
    held = [Person(name="ada", salary=KEY)]
    scope = Scope({"target": Anything(inner=held), "logins": Logins("ada", [Contact("ada", KEY)])})
    scope.declare("*.salary", hide=True)
    async with Runtime(scope=scope) as runtime:
        for code in ("target.model_dump()", "target.model_dump_json()", "logins.to_dict()"):
            outcome = await runtime.execute(code)
            assert "it tells a field that is hidden" in str(outcome.error)
        assert (await runtime.execute("target.inner[0].name")).value == "ada"


class Private:
    def __init__(self) -> None:
        self._token = KEY

    def greeting(self) -> str:
        return "hello"

    def __repr__(self) -> str:
        return f"<Private {self._token}>"


class Mangled(Private):
    def __init__(self) -> None:
        super().__init__()
        self.__password = f"another-{KEY}"

    def __repr__(self) -> str:
        return f"<Mangled {self.__password}>"


class WithSlots:
    __slots__ = ("auth_token",)

    def __init__(self) -> None:
        self.auth_token = KEY

    def greeting(self) -> str:
        return "hello"

    def __repr__(self) -> str:
        return f"<WithSlots {self.auth_token}>"


class Several:
    def __init__(self) -> None:
        self.api_keys = ["another-key", KEY]
        self.inner = Private()

    def greeting(self) -> str:
        return "hello"

    def __repr__(self) -> str:
        return f"<Several {self.api_keys[-1]} {self.inner}>"


class OwnText(str):
    """A text of a class of its own."""


class HasOwnText(Private):
    def __init__(self) -> None:
        self._token = OwnText(KEY)


class WithBytes(Private):
    def __init__(self) -> None:
        self._token = bytearray(KEY.encode())


class Rows(list[Any]):
    """A list with a class of its own."""


@dataclass(eq=False)
class Employee:
    name: str
    salary: str

    def greeting(self) -> str:
        return f"hello {self.name}"


class Registry:
    """What host code usually says of an argument."""

    def __init__(self) -> None:
        self._entries: dict[Any, int] = {}

    def find(self, one: Any) -> int:
        return self._entries[one]

    def place(self, one: Any) -> int:
        return list[Any]().index(one)

    def check(self, one: Any) -> None:
        raise ValueError("no such object", [{"one": one}])

    def refuse(self, one: Any, note: object = "") -> None:
        raise ValueError(f"{one} is not here; the others are")

    async def wait_for(self, one: Any, note: object = "") -> None:
        raise ValueError(f"no {one}")

    def quote(self, one: Any, note: str) -> None:
        raise ValueError(f"{note} {one}")

    def lose(self, one: Any) -> None:
        raise Lost(one)

    def load(self) -> Config:
        return Config.model_validate({"api_key": KEY, "size": "large"})


class Lost(Exception):
    def __init__(self, one: Any) -> None:
        super().__init__(f"lost {one}")
        self.message, self.details = f"{one} is lost", {"who": [f"{one}"]}


class Config(pydantic.BaseModel):
    api_key: str = pydantic.Field(max_length=5)
    size: int


SPEAKERS: dict[str, Any] = {
    "plain": Plain(),
    "private": Private(),
    "mangled": Mangled(),
    "slots": WithSlots(),
    "several": Several(),
    "a class of texts": HasOwnText(),
    "bytes": WithBytes(),
    "a class of lists": Rows([Private()]),
    "a rule": Employee("ada", KEY),
    "method": Several().greeting,
    "partial": functools.partial(send, KEY),
}
SAID = """
loot = []
for use in (repr, str, format, registry.find, registry.place, registry.check, registry.refuse,
            registry.lose, lambda one: registry.refuse(one, [*range(20_001)]),
            lambda one: Model.model_validate({"user": one, "database_url": "x"}), lambda one: repr(one.greeting)):
    try:
        loot.append(str(use(target)))
    except Exception as error:
        loot.append(f"{error} {error!r} {error.args} {vars(error)}")
loot
"""


@pytest.mark.parametrize("name", SPEAKERS)
async def test_no_text_about_an_object_tells_what_is_hidden_of_it(name: str) -> None:
    scope = Scope({"target": SPEAKERS[name], "registry": Registry(), "Model": Model})
    scope.declare("*.salary", hide=True)
    async with Runtime(scope=scope) as runtime:
        loot = (await runtime.execute(SAID)).unwrap()
    assert KEY not in str(loot)
    assert "is not here; the others are" in loot[6]


async def test_a_failed_validation_tells_other_inputs_but_no_secret() -> None:
    code = "try:\n    registry.load()\nexcept Exception as error:\n    told = str(error)\ntold"
    told = await value(code, registry=Registry())
    assert KEY not in told
    assert "input_value='large'" in told


async def test_no_error_of_a_call_with_large_arguments_tells_what_is_hidden() -> None:
    code = """
    loot = []
    for note in ([*range(20_001)], "x" * 700_000):
        for use in (registry.refuse, registry.wait_for):
            try:
                result = use(target, note)
                loot.append(str(await result if use is registry.wait_for else result))
            except ValueError as error:
                loot.append(str(error))
    loot
    """
    loot = await value(dedent(code), target=Plain(), registry=Registry())
    assert KEY not in str(loot)
    assert len(loot) == 4


API_TOKEN = KEY


def by_closure() -> Any:
    client_secret = KEY

    def refuse() -> None:
        raise ValueError(f"{client_secret} is not here; the others are")

    return refuse


def by_default(text: str = "x", *, smtp_password: str = KEY) -> None:
    raise ValueError(f"{smtp_password} is not here; the others are")


def by_global() -> None:
    raise ValueError(f"{API_TOKEN} is not here; the others are")


def given(token: str) -> None:
    raise ValueError(f"{token} is not here; the others are")


class OfClass:
    root_password = KEY

    def __call__(self) -> None:
        raise ValueError(f"{self.root_password} is not here; the others are")

    def refuse(self, *, api_key: str = KEY) -> None:
        raise ValueError(f"{api_key} and {API_TOKEN} are not here; is not here; the others are")


FAILING: dict[str, Any] = {
    "closure": by_closure(),
    "default": by_default,
    "global": by_global,
    "partial by place": functools.partial(given, KEY),
    "partial by name": functools.partial(given, token=KEY),
    "wrapped": functools.wraps(by_default)(lambda: by_default()),
    "cached": functools.cache(by_closure()),
    "class": OfClass(),
    "method": OfClass().refuse,
}


@pytest.mark.parametrize("name", FAILING)
async def test_no_error_of_a_function_tells_a_key_that_it_brought_along(name: str) -> None:
    code = "try:\n    target()\nexcept ValueError as error:\n    told = f'{error} {error!r} {error.args}'\ntold"
    told = await value(code, target=FAILING[name])
    assert KEY not in told
    assert "is not here; the others are" in told


async def test_no_error_of_a_method_tells_a_key_of_its_function() -> None:
    code = "try:\n    target.refuse()\nexcept ValueError as error:\n    told = str(error)\ntold"
    assert await value(code, target=OfClass()) == "*** and *** are not here; is not here; the others are"


async def test_a_function_with_more_defaults_than_parameters_fails_as_others_do() -> None:
    def fail(*names: str) -> None:
        raise ValueError("nobody is here")

    fail.__defaults__ = ("Ann", "Bo")  # as decorators do that compile a signature
    code = "try:\n    target()\nexcept ValueError as error:\n    told = str(error)\ntold"
    assert await value(code, target=fail) == "nobody is here"


async def test_an_error_tells_harmless_values_that_a_function_brought_along() -> None:
    city = "Oslo"

    def fail(country: str = "Norway") -> None:
        raise ValueError(f"nobody in {city}, {country}")

    code = "try:\n    target()\nexcept ValueError as error:\n    told = str(error)\ntold"
    assert await value(code, target=fail) == "nobody in Oslo, Norway"


PHRASE = "correct horse battery staple"


async def test_the_end_of_a_long_text_has_no_half_of_what_is_hidden() -> None:
    target = Several()
    target.api_keys = [PHRASE]
    code = "try:\n    registry.quote(target, 'x' * length)\nexcept ValueError as error:\n    told = str(error)\ntold"
    for length in (9_970, 13_970):
        told = await value(code, target=target, registry=Registry(), length=length)
        assert "correct" not in told
        assert len(told) <= 10_000


async def test_a_long_list_of_plain_values_does_not_keep_a_record_from_being_dumped() -> None:
    numbers = Anything(inner=[[0.5] * 6_000, dict.fromkeys(range(6_000), "x")])
    assert await value("len(target.model_dump()['inner'][0])", target=numbers) == 6_000
    listed = Anything(inner=Rows([0] * 20_000 + [RECORDS["model"]]))
    (outcome,) = await outcomes("target.model_dump()", target=listed)
    assert "it tells a field that is hidden" in str(outcome.error)


class Local(BaseAdapter):
    """Answers each request with nothing, and says which URL was asked, as the real one does."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        reply = requests.Response()
        reply.status_code, reply.url = 404, str(request.url)
        return reply

    def close(self) -> None:
        pass


def clients_with_a_key_in_the_query() -> dict[str, Any]:
    session = requests.Session()
    session.mount("http://", Local())
    session.params = {"api_key": KEY}
    mock = httpx.MockTransport(lambda request: httpx.Response(404))
    return {"httpx": httpx.Client(params={"api_key": KEY}, transport=mock, base_url="http://h"), "requests": session}


@pytest.mark.parametrize("name", ["httpx", "requests"])
async def test_the_url_of_a_reply_has_no_key_of_its_client(name: str) -> None:
    code = """
    url = client.get('http://h/x?page=2').url
    loot = [f'{url}', str(url), repr(url)]
    for part in ('query', 'params', 'raw_path', '_uri_reference', 'raw'):
        try:
            loot.append(str(getattr(url, part)))
        except AttributeError as error:
            loot.append(str(error))
    loot
    """
    loot = await value(dedent(code), client=clients_with_a_key_in_the_query()[name])
    assert KEY not in str(loot)
    assert loot[0].startswith("http://h/x?")
    assert "page=2" in loot[0] or "api_key=***" in loot[0]
