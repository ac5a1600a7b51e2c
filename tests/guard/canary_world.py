"""What developers bind, with a key in each: clients, connectors, functions, objects. All of it fails when used."""

from __future__ import annotations

import functools
import sqlite3
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.guard.canaries import Canaries

from cellwright import MCP, Command, OpenAPI, Secret, operation
from cellwright.mcp import OAuth

CONTROL = "control"  # the key that is told on purpose
ARGUMENT = "mcp argument"  # the key in the command line of a server
GIVEN = ("NOTES_KEY", "DATABASE_URL")  # variables of that server that hold keys
SERVER = str(Path(__file__).parent / "canary_server.py")


def http_clients(keys: Canaries, url: str, library: Any) -> dict[str, Any]:
    """Clients of httpx or httpx2, as developers make them."""
    name = library.__name__
    options: dict[str, Any] = {
        "headers": {"Authorization": f"Bearer {keys[f'{name} header']}", "X-Extra": keys[f"{name} own header"]},
        "cookies": {"sid": keys[f"{name} cookie"]},
        "trust_env": False,
    }
    return {
        name: library.Client(base_url=url, auth=("ann", keys[f"{name} auth"]), **options),
        f"{name}_async": library.AsyncClient(base_url=url, **options),
    }


def clients(keys: Canaries, url: str) -> dict[str, Any]:
    """Clients of libraries. The server at `url` answers 404."""
    import httpx2
    import requests

    bound = http_clients(keys, url, httpx2)
    session = bound["requests"] = requests.Session()
    session.trust_env = False
    session.headers["Authorization"] = f"Bearer {keys['requests header']}"
    session.auth = ("ann", keys["requests auth"])
    session.cookies.set("sid", keys["requests cookie"])
    session.params = {"token": keys["requests query"]}
    bound["lite"] = sqlite3.connect(":memory:", check_same_thread=False)
    return bound


def large_clients(keys: Canaries, url: str) -> dict[str, Any]:
    """Clients of libraries that take long to import."""
    import anthropic
    import boto3
    import httpx
    import openai
    import sqlalchemy

    bound = http_clients(keys, url, httpx)
    login = url.replace("://", f"://ann:{keys['httpx URL']}@")  # httpx writes whole URLs to its own log
    bound["httpx_login"] = httpx.Client(base_url=f"{login}/in", params={"api_key": keys["httpx query"]})
    aws: Any = boto3
    bound["s3"] = aws.client(
        "s3",
        endpoint_url=url,
        region_name="eu-north-1",
        aws_access_key_id=keys["aws id"],
        aws_secret_access_key=keys["aws secret"],
        aws_session_token=keys["aws session"],
    )
    options: dict[str, Any] = {"base_url": url, "max_retries": 0}
    bound["chatgpt"] = openai.OpenAI(api_key=keys["openai client"], **options)
    bound["claude"] = anthropic.Anthropic(
        api_key=keys["anthropic client"], default_headers={"X-Extra": keys["anthropic header"]}, **options
    )
    place = url.rpartition("/")[2]
    database = f"postgresql+psycopg://ann:{keys['engine password']}@{place}/shop?connect_timeout=2"
    bound["engine"] = sqlalchemy.create_engine(database)
    return bound


api_key = ""  # of this module, when the run begins


def functions(keys: Canaries, url: str) -> dict[str, Any]:
    """Functions that hold a key, and use it."""
    global api_key
    api_key = keys["global"]
    client_secret = keys["closure"]

    def in_closure(text: str = "x") -> str:
        """Refuse, by a key of the function's surroundings."""
        raise PermissionError(f"cannot log in with {client_secret}: {text}")

    def by_default(
        text: str = "x", *, api_key: str = keys["keyword default"], smtp_password: str = keys["default"]
    ) -> str:
        """Refuse, by a key that is a default."""
        raise PermissionError(f"{smtp_password} and {api_key} were refused")

    def given(token: str, text: str = "x", secret: str = "") -> str:
        """Refuse, by a key that was given before."""
        raise PermissionError(f"{token} and {secret} were refused")

    def connect() -> None:
        """Log in to a database that is not there."""
        import psycopg

        port = url.rpartition(":")[2]
        psycopg.connect(f"host=127.0.0.1 port={port} user=ann password={keys['psycopg password']} connect_timeout=2")

    def chained() -> None:
        """Fail because of something that failed with a key in its text."""
        try:
            in_closure()
        except PermissionError as error:
            raise LookupError("no such order") from error

    def control() -> str:
        return keys[CONTROL]

    control.__doc__ = f"Give {keys[CONTROL]} away."

    def by_global() -> None:
        """Refuse, by a key of the module."""
        raise PermissionError(f"not with {api_key}")

    async def hidden(text: str = "x", *, _token: str = keys["async default"]) -> str:
        """Refuse, later."""
        raise PermissionError(f"{_token} is too old")

    return {
        "in_closure": in_closure,
        "by_default": by_default,
        "partly": functools.partial(given, keys["partial"], secret=keys["partial keyword"]),
        "connect": connect,
        "chained": chained,
        "in_lambda": _in_lambda(keys["lambda"]),
        "hidden": hidden,
        "control": control,
        "by_global": by_global,
        "wrapped": functools.wraps(given)(functools.partial(given, keys["wrapped"])),
        "cached": functools.cache(in_closure),
    }


class Vault:
    """Holds keys where its owner thinks that they are safe."""

    root_password = ""

    def __init__(self, keys: Canaries) -> None:
        type(self).root_password = keys["class attribute"]
        self._unnamed = keys["attribute that nothing tells"]
        self._hand_token = keys["private attribute"]
        self.__jwt = keys["mangled attribute"]
        self.api_token = keys["public attribute"]
        self._settings = {"password": keys["settings"], "port": 5432}
        self._inner = Login("ann", keys["field"])

    @property
    def password(self) -> str:
        """The password."""
        return self._hand_token

    def refuse(self, text: str = "x") -> None:
        """Refuse, with all that is known in the text."""
        known = [self._hand_token, self.__jwt, self.api_token, self.root_password, self._settings, self._inner]
        raise PermissionError(f"{known} were refused")

    def fail(self) -> None:
        """Fail in a library, with the login in an argument and in an attribute."""
        error = ConnectionError(f"postgresql://ann:{self._hand_token}@db/shop", self._inner)
        error.token = self.api_token  # type: ignore[attr-defined]
        error.add_note(f"it was {self._hand_token}")
        raise error from PermissionError(self.__jwt)

    def group(self) -> None:
        """Fail in two ways at once."""
        raise ExceptionGroup("both", [ValueError(self._hand_token), KeyError(self.api_token)])

    def login(self) -> Login:
        """The login, as a record."""
        return self._inner

    def text(self) -> object:
        """An object whose text has its key."""
        return self

    def __repr__(self) -> str:
        return f"<Vault {self._hand_token} {self.__jwt} {self.api_token} {self.root_password}>"


@dataclass
class Login:
    user: str
    password: str


class Mail:
    """Letters that a person agrees to."""

    @operation(ask=True)
    def send(self, to: Any, body: Any = None) -> str:
        """Send it."""
        return "sent"


def _in_lambda(auth_token: str) -> Callable[[], str]:
    return lambda: dict[str, str]()[auth_token]


class Called:
    """An object that is called."""

    def __init__(self, key: str) -> None:
        self._api_key = key

    def __call__(self, text: str = "x") -> str:
        """Refuse."""
        raise PermissionError(f"not with {self._api_key}")


async def connectors(keys: Canaries, url: str) -> dict[str, Any]:
    """Connectors to an API, a server's program and a program, each with every kind of key that it takes."""
    api = await OpenAPI.open(
        described(f"Tells {keys[CONTROL]}."),
        name="shop",
        base_url=f"{url}/echo",
        credentials={name: Secret(_api_key(keys, name)) for name in SCHEMES},
        headers={"X-Extra": keys["api header"]},
        cache=False,
    )
    notes = await MCP.open(
        [sys.executable, SERVER, "--api-key", keys[ARGUMENT]],
        name="notes",
        env=dict(zip(GIVEN, (keys["mcp variable"], f"db://ann:{keys['mcp URL variable']}@h/x"), strict=True)),
        cache=False,
    )
    sort = await Command.open(["env", f"SORT_TOKEN={keys['command variable']}", "sort"], name="sort", commands=False)
    return {"shop": api, "notes": notes, "sort": sort}


async def far_connectors(keys: Canaries, url: str) -> dict[str, Any]:
    """The same for servers of MCP by HTTP."""
    far = await MCP.open(
        f"{url}/mcp?key={keys['mcp URL']}",
        name="far",
        headers={"X-Api-Key": keys["mcp header"]},
        auth=Secret(keys["mcp bearer"]),
        cache=False,
    )
    oauth = OAuth(
        grant="client_credentials", client_id="me", client_secret=Secret(keys["oauth secret"]), issuer=url, keep=False
    )
    agreed = await MCP.open(f"{url}/mcp", name="agreed", auth=oauth, cache=False)
    return {"far": far, "agreed": agreed}


SCHEMES: dict[str, dict[str, Any]] = {
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "sort"},  # no name of a key
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


def _api_key(keys: Canaries, scheme: str) -> str:
    return f"ann:{keys['api basic']}" if scheme == "basic" else keys[f"api {scheme}"]


def described(told: str = "") -> dict[str, Any]:
    """An API with an operation for each kind of key; what fails and what repeats the request."""
    paths: dict[str, Any] = {}
    for scheme in SCHEMES:
        for status in (200, 401, 500):
            paths[f"/{scheme}/{status}"] = {
                "get": {
                    "operationId": f"{scheme}_{status}",
                    "tags": [scheme],
                    "summary": told,
                    "security": [{scheme: []}],
                    "responses": {"200": {"description": "What was asked.", "content": {"application/json": {}}}},
                }
            }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": paths,
        "components": {"securitySchemes": SCHEMES},
    }


def objects(keys: Canaries) -> dict[str, Any]:
    return {
        "vault": Vault(keys),
        "method": Vault(keys).refuse,
        "called": Called(keys["called object"]),
        "mail": Mail(),
        "Login": Login,
    }


async def scope(keys: Canaries, url: str, stack: AsyncExitStack, *, whole: bool) -> dict[str, Any]:
    """The names in scope; the connectors among them are closed with the stack."""
    opened = await connectors(keys, url) | (await far_connectors(keys, url) if whole else {})
    for connector in opened.values():
        await stack.enter_async_context(connector)
    large = large_clients(keys, url) if whole else {}
    return {"here": url} | clients(keys, url) | large | functions(keys, url) | objects(keys) | opened
