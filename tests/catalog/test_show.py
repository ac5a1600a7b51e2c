"""`show` within a budget, and `outline`: the stubs that a model reads."""

from __future__ import annotations

import ast
import enum
import json
import re
import sqlite3
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import pydantic
import pytest
from tests.catalog import office, test_stub_text, world

from cellwright import Runtime, Scope
from cellwright.catalog import Catalog, outline
from cellwright.errors import NotInScope

SCOPES = {"office": office.scope, "world": world.scope, "stubs": lambda: Scope(test_stub_text.SCOPE)}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(office.scope())


def test_a_function_is_shown_with_its_docs_and_the_classes_it_needs(catalog: Catalog) -> None:
    assert catalog.show("crm.contacts.create") == (
        "# crm.contacts.create\n"
        "def create(name: str, email: str, *, city: str = 'Oslo') -> Person:\n"
        '    """Add a person to the address book. The email must be new."""\n'
        "\n"
        "@dataclass\n"
        "class Person:  # Somebody we know.\n"
        "    id: int\n"
        "    name: str\n"
        "    email: str\n"
        "    city: str = 'Oslo'\n"
    )


def test_an_object_is_shown_with_its_members_and_what_they_lead_to(catalog: Catalog) -> None:
    text = catalog.show("crm.deals")
    assert text.startswith("deals: Deals\n\nclass Deals:  # The sales pipeline.\n")
    assert "    def revenue(self, year: int) -> Decimal: ...  # The sum of all deals won in a year." in text
    assert "class Deal:  # What may be sold." in text
    assert "class Person:" in text


def test_a_class_that_only_calls_lead_to_is_shown_by_its_name(catalog: Catalog) -> None:
    assert "def win(self, on: date | None = None) -> None: ..." in catalog.show("Deal")
    assert catalog.show("Deal.lose").startswith("# Deal.lose\ndef lose(reason: str) -> None:")
    assert catalog.show("Forecast").startswith("class Forecast(TypedDict):  # The weather of one day.")


def test_what_does_not_fit_is_named_with_how_to_see_it(catalog: Catalog) -> None:
    text = catalog.show("crm.deals", 500)
    assert "class Person" not in text
    assert text.endswith('# … also needs Deal, Person: show("Deal")\n')
    short = catalog.show("crm.contacts", 200)
    assert len(short) < 300
    assert short.splitlines()[-1] == '    # … 4 more lines; show("crm.contacts.<member>") tells one'


@pytest.mark.parametrize("name", SCOPES)
def test_every_name_that_can_be_found_can_be_shown_as_python_within_the_budget(name: str) -> None:
    catalog = Catalog(SCOPES[name]())
    found = {hit.name for word in "get set list a name url open".split() for hit in catalog.search(word, 300)}
    assert len(found) > 15
    for one in found:
        for budget in (4_000, 600):
            text = catalog.show(one, budget)
            ast.parse(text)
            assert len(text) < budget + 400, one


def test_a_name_that_is_nearly_right_is_told_the_right_ones(catalog: Catalog) -> None:
    for wrong, right in {
        "crm.contact.create": "crm.contacts.create",
        "mail.sned": "mail.send",
        "contacts.delete": "crm.contacts.delete",
        "Wether": "weather",
        "payments.create_invoice": "payments.createInvoice",
        "Person.names": "Person",
    }.items():
        with pytest.raises(NotInScope, match=f"did you mean .*`{right}`"):
            catalog.show(wrong)


@pytest.mark.parametrize("wrong", ["", ".", "crm..x", "_module_json", "crm.password", "crm.__init__", "x" * 10_000])
def test_a_name_that_is_not_there_is_told_with_those_that_are(catalog: Catalog, wrong: str) -> None:
    with pytest.raises(NotInScope, match="in scope: crm, calendar, mail"):
        catalog.show(wrong)


async def test_a_runtime_shows_the_stub_alone_or_within_a_budget() -> None:
    rt = Runtime(office.scope())
    assert "class Person" not in await rt.show("crm.contacts.create")
    assert "class Person" in await rt.show("crm.contacts.create", budget=2_000)
    with pytest.raises(NotInScope, match=r"did you mean `mail\.send`"):
        await rt.show("mail.sned")


# --- outline ---


def test_a_small_scope_is_told_whole() -> None:
    def total(rows: list[dict[str, float]]) -> float:
        """Add them up. Slowly."""
        return 0.0

    rows = [{"item": "tea", "price": 3}]
    assert outline(Scope({"box": office.Contacts(), "total": total, "rows": rows, "n": 3}), 4_000) == (
        "# box: The address book.\n"
        "box.create(name: str, email: str, *, city: str = 'Oslo') -> Person  # Add a person to the address book.\n"
        "box.get(contact_id: int) -> Person  # One contact by its id.\n"
        "box.list(city: str | None = None, limit: int = 50) -> list[Person]  # All contacts, or those of a city.\n"
        "box.update(contact_id: int, **fields) -> Person  # Change fields of a contact.\n"
        "box.delete(contact_id: int) -> None  # Remove a contact for good.\n"
        "total(rows: list[dict[str, float]]) -> float  # Add them up.\n"
        "rows: list[dict[str, Any]]  # each has the keys 'item', 'price'\n"
        "n: int\n"
        "\n"
        "# Classes of what these take and return; not names in scope:\n"
        "@dataclass\n"
        "class Person:  # Somebody we know.\n"
        "    id: int\n"
        "    name: str\n"
        "    email: str\n"
        "    city: str = 'Oslo'\n"
    )


class Colour(enum.Enum):
    RED = "red"


class Ticket(pydantic.BaseModel):
    """What somebody asked for."""

    title: str
    priority: int = 3
    kind: Literal["a", "b"] = "a"


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Row(TypedDict):
    ident: int
    note: str


@dataclass
class Bag:
    tickets: list[Ticket]
    at: Point | None = None


def gather(colour: Colour, rows: list[Row]) -> dict[str, Bag]:
    raise NotImplementedError


def test_records_of_every_kind_are_told_with_their_fields() -> None:
    text = outline(Scope({"gather": gather}), 4_000)
    assert "gather(colour: Colour, rows: list[Row]) -> dict[str, Bag]\n" in text
    assert "class Colour(Enum):\n    RED = 'red'\n" in text
    assert "class Row(TypedDict):\n    ident: int\n    note: str\n" in text
    assert "@dataclass\nclass Bag:\n    tickets: list[Ticket]\n    at: Point | None = None\n" in text
    assert "class Point(NamedTuple):\n    x: float\n    y: float = 0.0\n" in text
    assert (
        "class Ticket(BaseModel):  # What somebody asked for.\n    title: str\n    priority: int = 3\n"
        "    kind: Literal['a', 'b'] = 'a'\n"
    ) in text


def test_a_bound_class_is_told_as_a_name() -> None:
    text = outline(Scope({"Person": office.Person, "Deal": office.Deal}), 4_000)
    assert "not names in scope" not in text
    assert text.startswith("@dataclass\nclass Person:  # Somebody we know.\n    id: int\n")
    assert "class Deal:  # What may be sold.\n    def __init__(self, number: int) -> None: ...\n" in text


def test_what_the_standard_library_has_is_named_and_not_told() -> None:
    text = outline(Scope({"json": json, "db": sqlite3.connect(":memory:"), "dict_of": {"a": 1, "b": 2}}), 4_000)
    assert text == "import json\ndb: Connection  # sqlite3.Connection\ndict_of: dict[str, int]\n"


def test_an_empty_scope_has_no_outline() -> None:
    assert outline(Scope(), 100) == ""
    assert outline(Scope({"search": len}), 100, leave_out=["search"]) == ""


def test_values_are_never_told() -> None:
    scope = Scope({"crm": office.Crm(), "token": "s3cret", "row": {"id": 1, "pin": "0000"}})
    text = outline(scope, 10_000)
    assert "hunter2" not in text
    assert "s3cret" not in text
    assert "0000" not in text
    assert "row: dict[str, Any]  # keys 'id', 'pin'" in text


def test_what_is_hidden_is_not_told() -> None:
    scope = office.scope()
    scope.declare("mail.*", hide=["send"])
    for budget in (20_000, 3_000, 1_500):
        text = outline(scope, budget)
        assert "forward" in text
        assert "send(" not in text
        assert "send," not in text


@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("budget", [100_000, 5_000, 2_500, 1_200, 600])
def test_an_outline_is_the_same_every_time_and_within_its_budget(name: str, budget: int) -> None:
    text = outline(SCOPES[name](), budget)
    ast.parse(re.sub(r"^(?:await )?[\w.]+\(.*$", "...", text, flags=re.MULTILINE))  # all but the calls is Python
    assert len(text) <= budget
    assert text == outline(SCOPES[name](), budget)
    assert text == outline(Catalog(SCOPES[name]()), budget)


def test_what_is_over_the_budget_loses_docs_then_signatures_then_names() -> None:
    scope = office.scope()
    whole = outline(scope, 20_000)
    assert "# Send an email." in whole
    bare = outline(scope, len(whole) - 1)
    assert "# Send an email." not in bare
    assert "mail.send(to: str, subject: str, body: str) -> int" in bare
    mixed = outline(scope, len(bare) - 1)
    assert mixed.startswith('# An outline. search("what you need") finds functions')
    assert "crm.contacts.get(contact_id: int) -> Person" in mixed
    assert "open_ticket(" not in mixed
    assert "tickets  # What customers ask for. 4 functions: open_ticket, assign, close_ticket, comment" in mixed
    counted = outline(scope, 700)
    assert "mail  # The mailbox. 5 functions\n" in counted
    cut = outline(scope, 300)
    assert cut.splitlines()[-1].startswith("# … and ")


def test_members_of_a_base_class_are_told_with_its_own(catalog: Catalog) -> None:
    class Base:
        def ping(self) -> str:
            """Answer."""
            return ""

    class Derived(Base):
        def pong(self) -> str:
            """Answer twice."""
            return ""

    scope: dict[str, Any] = {"thing": Derived()}
    text = outline(Scope(scope), 4_000)
    assert text == "# thing\nthing.pong() -> str  # Answer twice.\nthing.ping() -> str  # Answer.\n"
    assert {hit.name for hit in Catalog(Scope(scope)).search("answer")} == {"thing.pong", "thing.ping"}
