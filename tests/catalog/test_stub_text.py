"""`rt.show`: the stub of a name, which must be Python. No code of an object runs for it."""

from __future__ import annotations

import ast
import enum
import json
import sqlite3
import types
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import httpx
import pydantic
import pytest

from cellwright import Runtime, Scope
from cellwright.errors import NotInScope

T = TypeVar("T")


class Stage(enum.Enum):
    """How far it is."""

    NEW = "new"
    WON = "won"


@dataclass
class Contact:
    """Somebody we know."""

    name: str
    stage: Stage = Stage.NEW
    tags: list[str] = field(default_factory=list[str])
    seen: datetime | None = None


class Order(pydantic.BaseModel):
    """What was ordered."""

    item: str
    count: int = 1
    kind: Literal["a", "b"] = "a"


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Contacts:
    """The people."""

    def create(
        self, name: str, /, *tags: str, stage: Stage = Stage.NEW, note: str | None = None, **more: Any
    ) -> Contact:
        r"""Make one.

        A path such as C:\new, a "quote" and '''three''' are \"\"\"text\"\"\".
        """
        return Contact(name)

    async def fetch(self, number: int = -1, when: datetime | None = None) -> list[Contact]:
        """Read some."""
        return []

    def stream(self) -> AsyncIterator[Contact]: ...

    def on(self, listener: Callable[[Contact], None], limits: tuple[int, ...] = (1, 2)) -> None: ...

    def same(self, x: T) -> T:
        return x

    @property
    def count(self) -> int:
        """How many."""
        return 0

    @classmethod
    def opened(cls, path: Path) -> Contacts:
        return cls()

    @staticmethod
    def parse(text: str) -> Contact:
        return Contact(text)

    def half_typed(self, a: Any, b: Any = 3, *c: Any, d: Any = {"x": 1}, **e: Any):  # noqa: B006
        return [a, b]

    def __len__(self) -> int:
        return 0

    def __getitem__(self, name: str) -> Contact:
        return Contact(name)

    def _private(self) -> None: ...


class Crm:
    """The customers."""

    def __init__(self) -> None:
        self.contacts = Contacts()
        self.password = "secret"
        self.region = "eu"

    def ping(self) -> str:
        return "pong"


def find(city: str, *, limit: int = 10) -> list[Contact]:
    """Find people in a city."""
    return []


async def later(x: float = float("inf")) -> None: ...


SCOPE: dict[str, Any] = {
    "crm": Crm(),
    "find": find,
    "later": later,
    "Contact": Contact,
    "Order": Order,
    "Pair": Pair,
    "Stage": Stage,
    "Contacts": Contacts,
    "module": json,
    "lam": lambda x, y=1: x,  # pyright: ignore[reportUnknownLambdaType]
    "number": 3,
    "text": "a\nb",
    "table": {"a": 1},
    "items": [1, 2],
    "when": datetime(2026, 1, 1),
    "builtin": len,
    "connection": sqlite3.connect(":memory:"),
    "client": httpx.Client(),
    "order": Order(item="x"),
    "namespace": types.SimpleNamespace(a=1),
    "NotFound": type("NotFound", (LookupError,), {"__doc__": "Nothing there."}),
}
NAMES = [
    *SCOPE,
    "crm.contacts",
    "crm.contacts.create",
    "crm.ping",
    "module.loads",
    "client.get",
    "Contacts.opened",
    "crm.region",
]


async def shown(name: str) -> str:
    return await Runtime(Scope(SCOPE)).show(name)


@pytest.mark.parametrize("name", NAMES)
async def test_a_stub_is_python_that_parses_and_compiles(name: str) -> None:
    text = await shown(name)
    tree = ast.parse(text)
    compile(text, "stub.pyi", "exec")
    assert tree.body, f"the stub of {name} says nothing"


async def test_the_stub_of_an_object_names_its_type_its_members_and_their_docs() -> None:
    text = await shown("crm.contacts")
    assert text.startswith("contacts: Contacts\n")
    assert "class Contacts:  # The people.\n" in text
    assert "def create(self, name: str, /, *tags: str, stage: Stage = ..., note: str | None = None, **more)" in text
    assert (
        "async def fetch(self, number: int = -1, when: datetime | None = None) -> list[Contact]: ...  # Read some."
    ) in text
    assert "    count: int  # How many.\n" in text
    assert "@classmethod\n    def opened(cls, path: Path) -> Contacts: ..." in text
    assert "@staticmethod\n    def parse(text: str) -> Contact: ..." in text
    assert "def __len__(self) -> int: ..." in text
    assert "def __getitem__(self, name: str) -> Contact: ..." in text
    assert "_private" not in text


async def test_the_stub_of_an_object_has_its_attributes_but_no_credentials_nor_their_values() -> None:
    text = await shown("crm")
    assert "region: str" in text
    assert "contacts: Contacts" in text
    assert "password" not in text
    assert "secret" not in text


async def test_the_stub_of_a_function_is_its_signature_and_docs() -> None:
    assert await shown("find") == (
        'def find(city: str, *, limit: int = 10) -> list[Contact]:\n    """Find people in a city."""\n'
    )
    assert (await shown("later")).startswith("async def later(")


async def test_the_stub_of_a_nested_method_is_that_method_alone() -> None:
    text = await shown("crm.contacts.create")
    assert text.startswith("# crm.contacts.create\ndef create(name: str, /, *tags: str")
    assert "A path such as C:" in text
    assert "fetch" not in text


async def test_the_stub_of_a_dataclass_has_its_fields() -> None:
    text = await shown("Contact")
    assert "class Contact:" in text
    assert "    name: str\n" in text
    assert "    tags: list[str] = ...\n" in text
    assert "    seen: datetime | None = None\n" in text


async def test_the_stub_of_a_pydantic_model_has_its_fields() -> None:
    text = await shown("Order")
    assert "    item: str\n" in text
    assert "    count: int = 1\n" in text
    assert "    kind: Literal['a', 'b'] = 'a'\n" in text


async def test_the_stub_of_an_enum_has_its_members() -> None:
    text = await shown("Stage")
    assert "class Stage(Enum):" in text
    assert "    NEW = 'new'\n" in text


async def test_the_stub_of_a_module_has_the_functions_it_shows() -> None:
    text = await shown("module")
    assert "def loads(" in text
    assert "def dumps(" in text
    assert "codecs" not in text


async def test_the_stub_of_a_value_names_its_type() -> None:
    assert (await shown("number")).startswith("number: int")
    assert (await shown("table")).startswith("table: dict")


async def test_hidden_members_are_not_in_the_stub() -> None:
    scope = Scope({"crm": Crm()})
    scope.declare("crm.contacts.*", hide=["create"])
    text = await Runtime(scope).show("crm.contacts")
    assert "create" not in text
    assert "fetch" in text
    with pytest.raises(NotInScope):
        await Runtime(scope).show("crm.contacts.create")
    assert "def headers(" not in await shown("client")
    assert "def get(" in await shown("client")


@pytest.mark.parametrize("name", ["nope", "crm.nope", "crm._private", "crm.password", "module.codecs", "", "crm..x"])
async def test_a_name_that_is_not_in_scope_is_told_with_those_that_are(name: str) -> None:
    with pytest.raises(NotInScope, match="in scope: crm, find"):
        await shown(name)


class Behind:
    def ping(self) -> str:
        """Answer."""
        return "pong"


class Front:
    @property
    def inner(self) -> Behind:
        raise AssertionError("it ran")


async def test_no_property_runs_to_show_what_stands_behind_it() -> None:
    rt = Runtime(Scope({"front": Front()}))
    assert await rt.show("front.inner") == "inner: Behind\n\nclass Behind:\n    def ping(self) -> str: ...  # Answer.\n"
    assert '"""Answer."""' in await rt.show("front.inner.ping")
    assert await rt.show("front.inner.ping", budget=2_000) == await rt.show("front.inner.ping")
