"""The host objects in an attack's scope. Each holds a canary where guest code must not get; `harness` lists them."""

from __future__ import annotations

import asyncio
import enum
import functools
import os
import secrets
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any


def canary(kind: str) -> str:
    """A secret that nothing else can contain."""
    return f"CANARY-{kind}-{secrets.token_hex(12)}"


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """Every secret of one arena, by the place where it lies."""

    closed_file: str = field(default_factory=lambda: canary("closed-file"))
    open_file: str = field(default_factory=lambda: canary("open-file"))
    environ: str = field(default_factory=lambda: canary("environ"))
    private: str = field(default_factory=lambda: canary("private"))
    hidden: str = field(default_factory=lambda: canary("hidden"))
    closure: str = field(default_factory=lambda: canary("closure"))
    default: str = field(default_factory=lambda: canary("default"))
    module: str = field(default_factory=lambda: canary("module"))
    credential: str = field(default_factory=lambda: canary("credential"))
    fault: str = field(default_factory=lambda: canary("fault"))
    neighbour: str = field(default_factory=lambda: canary("neighbour"))
    memory: str = field(default_factory=lambda: canary("memory"))
    live: str = field(default_factory=lambda: canary("live"))

    def texts(self) -> list[str]:
        return list(vars(self).values())


@dataclass
class Note:
    """Data: crosses by value."""

    title: str
    text: str = ""
    stars: int = 0


@dataclass(order=True)
class Login:
    """Data with a field that is hidden: goes by handle."""

    user: str
    database_url: str

    def to_dict(self) -> dict[str, str]:
        return {"user": self.user, "database_url": self.database_url}


def connect(user: str, *, stripe_key: str = "", limit: int = 3) -> str:
    """Connects."""
    return f"{user} {bool(stripe_key)} {limit}"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Refused(LookupError):
    """What `vault.fail` raises. It carries what must not cross: a handle, a path, a login, the client."""

    def __init__(self, text: str, vault: Vault, secret: str) -> None:
        super().__init__(text)
        self.code = 42
        self.vault = vault
        self.handle = open(os.devnull)  # noqa: SIM115 -- an exception with an open file is the point
        self.request = types.SimpleNamespace(headers={"authorization": secret})
        self.api_key = secret
        self._secret = secret


class Client:
    """Looks like `httpx.Client` to the presets, and is as quiet as a stone."""

    def __init__(self, secret: str) -> None:
        self.api_key = secret
        self.headers = {"authorization": f"Bearer {secret}"}
        self.auth = ("user", secret)
        self.cookies = {"session": secret}
        self.base_url = f"https://user:{secret}@example.invalid/"
        self.is_closed = False

    def get(self, url: str) -> dict[str, str]:
        return {"url": url, "body": "fine"}


Client.__module__ = "httpx"


class Rows(list[Any]):
    """Crosses by handle: the host runs its operators."""


class Vault:
    """The witness. `opened` must stay empty: only private and hidden methods write to it."""

    def __init__(self, canaries: Canaries, *, mine: str = "") -> None:
        self._canaries = canaries
        self._secret = canaries.private
        self.__very_secret = canaries.private
        self._opened: list[str] = []
        self._public = {"greeting": "hello", "mine": mine, "number": 7}
        self.name = "the vault"
        self.blueprint = canaries.hidden  # hidden by `scope.declare`
        self.client = Client(canaries.credential)
        self.login = Login("ada", canaries.credential)
        self.connect = functools.partial(connect, stripe_key=canaries.credential)
        self.rows = Rows([1, 2, 3, 4])
        self.share = Fraction(2, 3)
        self.os = os  # a module as an attribute must not cross
        self.kind = Vault  # nor a class
        secret = canaries.closure
        self.greet = lambda name="you": f"hello, {name}" if secret else ""

    def read(self, key: str) -> Any:
        """A public value by its key: greeting, mine, number."""
        return self._public[key]

    def echo(self, x: Any = None) -> Any:
        """Its argument."""
        return x

    def call(self, f: Callable[..., Any], *args: Any) -> Any:
        """Calls a guest function."""
        return f(*args)

    def items(self, count: int = 1_000_000) -> Iterator[int]:
        """Numbers, lazily."""
        secret = self._secret
        for i in range(count):
            yield i if secret else -1

    def collect(self, items: Iterator[Any]) -> int:
        """How many there are."""
        return len(list(items))

    def fail(self) -> None:
        """Raises `NotPicklable` with all that an exception can carry."""
        secret = self._canaries.fault
        try:
            raise OSError(5, "inner", f"/var/lib/acme-{secret}/vault.db")
        except OSError as inner:
            text = f"cannot read /var/lib/acme-{secret}/vault.db from https://bot:{secret}@example.invalid/x"
            raise Refused(text, self, secret) from inner

    async def wait(self, seconds: float) -> float:
        await asyncio.sleep(min(seconds, 60))
        return seconds

    def note(self, note: Note) -> str:
        """Takes a `Note`."""
        return f"{note.title}: {note.text}"

    def paint(self, colour: Colour) -> str:
        return colour.value

    def combine(self, x: Any, y: Any, _key: str = "") -> list[Any]:
        return [x, y]

    def with_default(self, x: int = 1, token: Any = None) -> int:
        return x

    def _open(self) -> str:
        self._opened.append("_open")
        return self._secret

    def open_hidden(self) -> str:  # hidden by `scope.declare`
        self._opened.append("open_hidden")
        return self._canaries.hidden

    def __reduce__(self) -> Any:
        self._opened.append("__reduce__")
        return (str, (self._secret,))

    def __getstate__(self) -> Any:
        self._opened.append("__getstate__")
        return {"secret": self._secret}

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), self._secret]


def opened(vault: Vault) -> list[str]:
    """What guest code set off in the vault."""
    return list(vault._opened)  # pyright: ignore[reportPrivateUsage]


class Books:
    """A small plain object, with operators."""

    def __init__(self) -> None:
        self.titles = ["Emma", "Dune"]

    def add(self, title: str) -> int:
        self.titles.append(title)
        return len(self.titles)

    def __len__(self) -> int:
        return len(self.titles)

    def __getitem__(self, i: int) -> str:
        return self.titles[i]


def toolbox(secret: str) -> types.ModuleType:
    """A module to bind: shows `double`; its imports, its other names and its globals stay on the host."""
    source = (
        "import os, sys, subprocess\n"
        "from os import system\n"
        "__all__ = ['double', 'LIMIT']\n"
        f"SETTING = _SECRET = {secret!r}\n"
        "LIMIT = 10\n"
        "def double(x):\n    'Twice x.'\n    return x * 2 if _SECRET else x\n"
        "def not_listed():\n    return _SECRET\n"
    )
    module = types.ModuleType("toolbox")
    exec(source, module.__dict__)
    return module


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where on the host an attack may aim. None of it is secret; all of it must be out of reach."""

    closed_file: Path
    open_file: Path
    canary_dir: Path
    neighbour_workspace: Path
    unix_socket: Path
    unix_datagrams: Path
    abstract_socket: str
    tcp_port: int
    udp_port: int
    host_pid: int
    host_sees_guests: bool  # which files they hold open
    host_has_groups: bool  # control groups
    marker: str

    def as_data(self) -> dict[str, Any]:
        return {name: str(value) if isinstance(value, Path) else value for name, value in vars(self).items()}
