"""Objects of the libraries that have a grant table, for the walk over their members. No network, no files."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import logging
import sqlite3
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

_OPENAI = (
    "chat.completions.completions responses.input_items responses.input_tokens embeddings images models moderations"
).split()
# what has to be loaded before all classes of a library can be seen
MODULES: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy", "numpy.ma"),
    "pandas": ("pandas", "pandas.api.typing"),
    "botocore": (
        "boto3",
        "botocore.response",
        "botocore.eventstream",
        "boto3.dynamodb.table",
        "boto3.dynamodb.conditions",
    ),
    "sqlalchemy": (
        "sqlalchemy.orm",
        *(f"sqlalchemy.dialects.{n}" for n in ("mysql", "oracle", "postgresql", "sqlite")),
    ),
    "openai": ("openai", "openai.lib.streaming.chat", "openai.lib.streaming.responses")
    + tuple(f"openai.resources.{name}" for name in _OPENAI),
    "anthropic": ("anthropic", "anthropic.resources.messages", "anthropic.resources.models", "anthropic.lib.streaming"),
    "django": (
        "django.db.models",
        "django.db.models.fields.files",
        "django.db.models.expressions",
        "django.contrib.auth.models",
        "django.contrib.contenttypes.models",
    ),
    "host": ("os", "zipfile", "tarfile"),
    "httpx": ("httpx", "httpx2"),
    "io": ("io", "tempfile"),
    "standard": ("queue", "configparser", "xml.etree.ElementTree", "http.client", "urllib.parse"),
    "pydantic": ("pydantic", "pydantic.networks", "pydantic.root_model", "pydantic.types", "pydantic.type_adapter"),
    "psycopg": ("psycopg",),
    "asyncio": ("asyncio", "asyncio.subprocess"),
    "aiohttp": ("aiohttp", "aiohttp.client"),
}
# rows of classes that cannot be loaded here, and why
UNSEEN: dict[str, str] = {
    "httpx: Timeout": "groq writes its own name into the class when it is imported",
    "sqlalchemy: Async*": "needs greenlet",
    "sqlalchemy: async_sessionmaker": "needs greenlet",
    "sqlalchemy: _AsyncSessionContextManager": "needs greenlet",
    "sqlalchemy: GeneratorStartableContext": "needs greenlet",
    "io: _TemporaryFileWrapper": "looks its members up in the file that it wraps",
}


def _numpy() -> Iterator[Any]:
    np: Any = import_module("numpy")

    yield from (np.arange(6).reshape(2, 3), np.array(["2020"], dtype="M8[D]"), np.float64(1), np.random.default_rng(1))
    yield from (np.ma.masked_array([1, 2], mask=[0, 1]), np.mean)


def _pandas() -> Iterator[Any]:
    pd: Any = import_module("pandas")

    frame = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5], "t": ["x", "y"]})
    days = pd.date_range("2020-01-01", periods=3)
    yield from (frame, frame["a"], frame["t"], frame.groupby("t"), frame.groupby("t")["a"], frame[["a"]].rolling(2))
    yield from (frame["a"].ewm(1), frame["a"].expanding(), pd.Series(days), pd.Series(["a"], dtype="category"), days)
    yield from (pd.Series(range(3), index=days).resample("D"), pd.MultiIndex.from_tuples([(1, 2)]), days[0], pd.NaT)
    yield next(frame.itertuples())
    yield from (days.to_period(), days - days, days[0] - days[1], days[0].to_period("D"), pd.Interval(0, 1), pd.NA)


def _polars() -> Iterator[Any]:
    pl: Any = import_module("polars")

    frame = pl.DataFrame({"a": [1, 2], "t": ["x", "y"]})
    yield from (frame, frame["a"], frame["t"], frame.lazy(), frame.group_by("t"), frame.lazy().group_by("t"))
    yield from (pl.col("a"), pl.when(True), pl.when(True).then(1), pl.Series([[1]]), frame.schema, pl.Int64())


def _pyarrow() -> Iterator[Any]:
    pa: Any = import_module("pyarrow")

    table = pa.table({"a": [1, 2], "t": ["x", "y"]})
    yield from (table, table["a"], table["a"].chunk(0), table["a"][0], table.schema, table.schema.field(0))
    yield from (table.to_batches()[0], table.group_by("t"), pa.array([{"a": 1}]))


def _networkx() -> Iterator[Any]:
    nx: Any = import_module("networkx")

    yield from (nx.path_graph(3), nx.DiGraph([(1, 2)]), nx.MultiDiGraph([(1, 2)]))


def _sqlite3() -> Iterator[Any]:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    yield from (connection, connection.execute("select 1 as a"), connection.execute("select 1 as a").fetchone())


def _botocore() -> Iterator[Any]:
    boto3: Any = import_module("boto3")
    session = boto3.Session("AKIAEXAMPLE", "fake", region_name="eu-west-1")
    client = session.client("s3")
    yield from (session.client(name) for name in ("dynamodb", "lambda", "sns"))
    s3, tables = session.resource("s3"), session.resource("dynamodb")
    pages = client.get_paginator("list_objects_v2")
    yield from (client, pages, pages.paginate(Bucket="b"), s3, s3.Bucket("b"), s3.Object("b", "k"), s3.buckets, session)
    yield from (s3.ObjectSummary("b", "k"), s3.Bucket("b").objects.all(), tables, tables.Table("t"))


def _django() -> Iterator[Any]:
    models: Any = import_module("tests.scope.django_models")
    author = models.Author(id=1)
    authors = models.Author.objects
    yield from (author, authors, authors.none(), author.books, models.Book(id=1).readers)


def _httpx() -> Iterator[Any]:
    for name in ("httpx", "httpx2"):
        library: Any = import_module(name)
        yield library.Response(200)


def _io() -> Iterator[Any]:
    yield from (io.StringIO(), io.BytesIO())


def _functools() -> Iterator[Any]:
    yield from (functools.partial(print), functools.lru_cache(repr))


def _asyncio() -> Iterator[Any]:
    yield from (asyncio.Queue[int](), asyncio.Event(), asyncio.Lock(), asyncio.Semaphore(), asyncio.Condition())


EXAMPLES: dict[str, Callable[[], Iterator[Any]]] = {
    "numpy": _numpy,
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "networkx": _networkx,
    "sqlite3": _sqlite3,
    "botocore": _botocore,
    "django": _django,
    "httpx": _httpx,
    "io": _io,
    "functools": _functools,
    "asyncio": _asyncio,
    "logging": lambda: iter((logging.getLogger("walk"),)),
    "contextlib": lambda: iter((contextlib.nullcontext(), contextlib.ExitStack())),
}
# of these, what granted members give is looked at too: nothing they do leaves the process
CALLED = ("numpy", "pandas", "polars", "pyarrow", "networkx")
