"""No text that a child agent reads names what its parent did not hand on, or what a rule hides from both."""

from __future__ import annotations

import asyncio
import enum
import json
import re
import sqlite3
import sys
import types
from dataclasses import dataclass
from typing import Any

import pytest
from tests.agent.test_spawn import played
from tests.cells import PATIENCE_S

from cellwright import Scope
from cellwright.agent import Agent
from cellwright.doors import Request
from cellwright.models import Budget
from cellwright.testing import ScriptedModel, code


class Colour(enum.Enum):
    RED = 1


class HiddenShade(enum.Enum):
    UMBRA = 1


class HiddenTone(enum.Enum):
    SEPIA = 1


@dataclass
class HiddenOrder:
    hidden_number: int


class Vault:
    """A place."""

    def hidden_open(self) -> None:
        """Opens it."""

    def look(self) -> int:
        """A look."""
        return 1


class Crm:
    """Contacts."""

    def __init__(self) -> None:
        self.hidden_vault = Vault()
        self.vault = Vault()

    def contacts(self, colour: Colour = Colour.RED) -> list[str]:
        """All of them."""
        return ["Ada"]

    def hidden_wipe(self) -> None:
        """Removes all."""


class HiddenLedger:
    """Where the money is."""

    def hidden_book(self, order: HiddenOrder, shade: HiddenShade = HiddenShade.UMBRA) -> None:
        """Books it."""


def hidden_pay(order: HiddenOrder) -> None:
    """Pays it."""


def tools() -> types.ModuleType:
    module = types.ModuleType("tools")
    sys.modules["tools"] = module
    exec(TOOLS, vars(module))
    return module


TOOLS = """
def hidden_saw() -> int:
    'Cuts.'
    return 1

def glue() -> int:
    'Holds.'
    return 2
"""


def office() -> Scope:
    names = {
        "crm": Crm(), "vault": Vault(), "tools": tools(),
        "db": sqlite3.connect(":memory:", check_same_thread=False), "other_db": sqlite3.connect(":memory:"),
        "hidden_ledger": HiddenLedger(), "hidden_pay": hidden_pay, "HiddenOrder": HiddenOrder,
        "hidden_rows": [{"hidden_key": 1}],
    }  # fmt: skip
    scope = Scope(names)
    scope.declare("crm.*", hide=["hidden_wipe", "hidden_vault"])
    scope.declare("crm.vault.*", hide=["hidden_open"])
    scope.declare("vault.*", hide=["hidden_open"])
    scope.declare("db.*", hide=["executescript", "iterdump"])
    scope.declare("tools.*", hide=["hidden_saw"])
    scope.declare(HiddenTone)
    return scope


SHOWN = ("crm", "vault", "db", "tools", "c", "v", "d", "t")
ASKS = [
    "search('hidden ledger vault order pay book wipe saw shade'), search('execute a script of SQL, dump it')",
    "show('hidn_ledger')",
    "show('HidenOrder')",
    "show('HidenTone')",
    *(f"show('{name}')" for name in (*SHOWN, "other_db", "Connection", "Crm", "Vault")),
    "hidn_ledger.book()",
    *(f"{name}.hidn_wipe()" for name in ("crm", "c")),
    *(f"{name}.hidn_open()" for name in ("vault", "crm.vault", "c.vault", "v")),
    *(f"{name}.hidn_saw()" for name in ("tools", "t")),
    *(f"{name}.execute_script('x')" for name in ("db", "d")),
    "await spawn('grandchild', scope=['hidn_ledger'])",
    "sorted(dir()), sorted(globals())",
    *(f"[{what}(x) for n, x in [*globals().items()] if n in {SHOWN}]" for what in ("dir", "repr", "help", "type")),
]
HIDDEN = re.compile(r"hidden\w*|umbra|sepia|executescript|iterdump", re.IGNORECASE)


def texts(request: Request) -> str:
    tools = json.dumps([[tool.name, tool.description, tool.parameters] for tool in request.tools])
    return "\n".join([request.instructions, tools, *map(_read, request.messages)])


def _read(message: Any) -> str:
    """What others wrote to the child: not its own code."""
    return "\n".join(r.text for r in message.results) if hasattr(message, "results") else message.text


@pytest.mark.parametrize("check", ["strict", "off"])
@pytest.mark.parametrize(
    "handed", ["['crm', 'db', 'other_db', 'tools', 'vault']", "{'c': crm, 'd': db, 't': tools, 'v': crm.vault}", "[]"]
)
async def test_what_a_child_reads_names_nothing_hidden(handed: str, check: Any) -> None:
    asks = iter(ASKS)

    def child(*_: object) -> Any:
        return code(next(asks, "done(1)"))

    parent, options = f"done(await spawn('child', scope={handed}))", {"check": check, "budget": Budget(steps=60)}
    agent, model = played(parent, child, scope=office(), **options)
    async with asyncio.timeout(PATIENCE_S):
        assert (await agent.run("parent")).value == 1
    children = [request for request in model.requests if "hidden_ledger" not in request.instructions]
    assert len(children) > len(ASKS)
    asked = HIDDEN.findall(ASKS[0])
    for request in children:
        found = [name for name in HIDDEN.findall(texts(request)) if name not in asked]
        assert found == [], texts(request)[-3000:]


async def test_the_functions_that_a_child_can_call_directly_are_not_hidden() -> None:
    office_, names = office(), ("crm", "db", "tools", "vault")
    for handed in (list(names), {name[0]: office_.get(name) for name in names}):
        model = ScriptedModel(otherwise="stop")
        await Agent(model, scope=office_.narrowed(handed), mode="direct").run("x")
        (request,) = model.requests
        assert any(tool.name.endswith("look") for tool in request.tools)
        assert HIDDEN.findall(texts(request)) == []
