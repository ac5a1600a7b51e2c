"""`rt.search`: what an agent finds by saying what it wants to do."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.catalog import office

from cellwright import Runtime, Scope
from cellwright.catalog import Catalog, catalog_functions
from cellwright.errors import NotInScope

QUERIES = {
    "send an email": "mail.send",
    "notify someone by mail": "mail.send",
    "read my unread messages": "mail.inbox",
    "respond to a message": "mail.reply",
    "forward a letter": "mail.forward",
    "archive letters": "mail.archive",
    "add a new contact": "crm.contacts.create",
    "register a customer": "crm.contacts.create",
    "find people in Oslo": "crm.contacts.list",
    "list contacts by city": "crm.contacts.list",
    "remove a contact": "crm.contacts.delete",
    "deleting contacts": "crm.contacts.delete",
    "edit contact": "crm.contacts.update",
    "change a person's email": "crm.contacts.update",
    "start a deal": "crm.deals.open",
    "mark deal as won": "Deal.win",
    "total revenue for the year": "crm.deals.revenue",
    "book a meeting": "calendar.schedule_meeting",
    "create calendar event": "calendar.schedule_meeting",
    "cancel meeting": "calendar.cancelMeeting",
    "delete an event from the calendar": "calendar.cancelMeeting",
    "what meetings are there today": "calendar.meetings",
    "available time slots": "calendar.free_slots",
    "invite an attendee": "calendar.invite",
    "upload a document": "files.upload",
    "download file": "files.download",
    "list files in a directory": "files.list_folder",
    "rename a file": "files.rename",
    "share a document with a colleague": "files.share",
    "create an invoice": "payments.createInvoice",
    "bill a customer": "payments.createInvoice",
    "charge a credit card": "payments.charge_card",
    "refund payment": "payments.refund",
    "account balance": "payments.balance",
    "unpaid overdue invoices": "payments.overdue",
    "open a support ticket": "tickets.open_ticket",
    "close the issue": "tickets.close_ticket",
    "assign ticket to staff": "tickets.assign",
    "hire an employee": "staff.hire",
    "how many vacation days are left": "staff.vacation_days",
    "weather forecast": "weather",
    "exchange rate between currencies": "convert_currency",
    "translate text to French": "translate",
    "cancelMeeting": "calendar.cancelMeeting",
    "crm.contacts.get": "crm.contacts.get",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(office.scope())


@pytest.mark.parametrize("query", QUERIES)
def test_the_right_function_is_among_the_first_three(catalog: Catalog, query: str) -> None:
    assert QUERIES[query] in [hit.name for hit in catalog.search(query, 3)]


def test_most_queries_find_it_first(catalog: Catalog) -> None:
    missed = {
        q: catalog.search(q, 1) for q, name in QUERIES.items() if [h.name for h in catalog.search(q, 1)] != [name]
    }
    assert len(missed) <= len(QUERIES) // 10, missed


def test_a_hit_is_a_signature_a_sentence_and_the_fields_of_what_comes_back(catalog: Catalog) -> None:
    assert str(catalog.search("add contact", 1)[0]).splitlines() == [
        "crm.contacts.create(name: str, email: str, *, city: str = 'Oslo') -> Person",
        "    Add a person to the address book.",
        "    Person: id: int, name: str, email: str, city: str = 'Oslo'",
    ]


def test_a_coroutine_function_says_so(catalog: Catalog) -> None:
    assert catalog.search("cancel meeting", 1)[0].signature == "async calendar.cancelMeeting(meeting_id: int) -> None"


def test_a_method_of_what_calls_return_says_where_that_comes_from(catalog: Catalog) -> None:
    hit = catalog.search("win the deal", 1)[0]
    assert hit.name == "Deal.win"
    assert hit.note == "Deal comes from crm.deals.open(), crm.deals.pipeline()"


def test_no_hit_has_more_than_three_lines(catalog: Catalog) -> None:
    hits = catalog.search("contact deal meeting letter file invoice ticket employee weather", 100)
    assert len(hits) > 30
    assert max(len(str(hit).splitlines()) for hit in hits) == 3


def test_the_same_query_gives_the_same_hits_in_the_same_order() -> None:
    once, again = Catalog(office.scope()), Catalog(office.scope())
    for query in QUERIES:
        assert once.search(query, 50) == again.search(query, 50)


def test_a_name_finds_itself_first(catalog: Catalog) -> None:
    for name in ("crm", "crm.deals", "mail.send", "Deal.contact", "mail.send()"):
        assert catalog.search(name, 3)[0].name == name.removesuffix("()")


@pytest.mark.parametrize("query", ["", "   ", "?!", '"', "zzzzz", "the", "a OR b NOT (", "NEAR(x, 5) *", "\0", "é"])
def test_a_query_without_a_match_or_with_syntax_in_it_is_no_error(catalog: Catalog, query: str) -> None:
    assert len(catalog.search(query)) <= 8


def test_nothing_is_found_with_a_limit_of_nothing(catalog: Catalog) -> None:
    assert catalog.search("send an email", 0) == ()
    assert catalog.search("mail.send", -1) == ()


def test_what_is_hidden_is_not_found_and_what_only_reads_stays() -> None:
    scope = office.scope()
    scope.declare("mail.*", hide=["send"])
    scope.declare("payments.*", read_only=True)
    scope.declare("payments.balance", reads=True)
    names = {hit.name for query in QUERIES for hit in Catalog(scope).search(query, 100)}
    assert "mail.reply" in names
    assert "mail.send" not in names
    assert {name for name in names if name.startswith("payments.")} == {"payments.balance"}


def test_names_with_an_underscore_and_credentials_are_not_found(catalog: Catalog) -> None:
    assert not [hit for hit in catalog.search("password", 50) if "password" in hit.name]
    assert not [hit for hit in catalog.search("init call", 50) if "._" in hit.name]


def test_a_rule_or_a_name_that_is_added_later_counts_from_the_next_search() -> None:
    def launch_rocket(to: str) -> None:
        """Fly away."""

    scope = office.scope()
    catalog = Catalog(scope)
    assert catalog.search("send email", 1)[0].name == "mail.send"
    scope.declare("mail.*", hide=True)
    assert not any(hit.name.startswith("mail.") for hit in catalog.search("send email", 50))
    assert catalog.search("rocket") == ()
    scope.bind("launch_rocket", launch_rocket)
    assert catalog.search("rocket", 1)[0].name == "launch_rocket"
    scope.bind("launch_rocket", 3)
    assert catalog.search("rocket", 1)[0].signature == "launch_rocket: int"


def test_an_index_of_an_unchanged_scope_is_made_once(catalog: Catalog) -> None:
    assert catalog.offer is catalog.offer


def test_what_is_left_out_is_not_found() -> None:
    catalog = Catalog(office.scope(), leave_out=["mail"])
    assert not any(hit.name.startswith("mail") for hit in catalog.search("send email", 50))


class Node:
    """Leads to itself, and to others of its kind."""

    other: Twin | None

    def __init__(self) -> None:
        self.left = self
        self.other = None

    def visit(self) -> Node:
        """Go there."""
        return self


class Twin:
    """Leads back."""

    def __init__(self) -> None:
        self.back = Node()

    def greet(self) -> str:
        """Say hello."""
        return "hello"


def test_objects_that_lead_to_each_other_are_found_once_by_the_shortest_way() -> None:
    hits = {hit.name for hit in Catalog(Scope({"node": Node()})).search("visit greet left other back", 100)}
    assert {"node.visit", "node.other.greet"} <= hits
    assert not [name for name in hits if name.count(".") > 2]


class Loud:
    """Raises whenever code of its own runs."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")

    @property
    def size(self) -> int:
        """How large it is."""
        raise AssertionError("a property was read")

    def measure(self, unit: str = "m") -> float:
        """Find out the size."""
        raise AssertionError("a method was called")

    def __repr__(self) -> str:
        raise AssertionError("it was printed")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it was compared")

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def test_no_code_of_the_bound_objects_runs() -> None:
    catalog = Catalog(Scope({"loud": Loud()}))
    assert [hit.name for hit in catalog.search("measure size", 2)] == ["loud.measure", "loud.size"]
    assert "def measure" in catalog.show("loud")
    assert catalog.search("measure size", 2)  # compares the scope with what it was


def test_modules_functions_and_objects_of_the_standard_library_are_found() -> None:
    import json
    import sqlite3

    catalog = Catalog(Scope({"json": json, "db": sqlite3.connect(":memory:"), "Path": Path}))
    assert catalog.search("dumps", 1)[0].name == "json.dumps"
    assert catalog.search("commit transaction", 1)[0].name == "db.commit"
    assert not [hit for hit in catalog.search("load extension authorizer", 50) if hit.name == "db.set_authorizer"]


def a_large_scope(classes: int, methods: int) -> Scope:
    lines = ["from dataclasses import dataclass"]
    for c in range(classes):
        lines += ["@dataclass", f"class Record{c}:", "    id: int", "    name: str = 'x'", f"class Part{c}:"]
        for m in range(methods):
            lines += [f"    def act{m}(self, ident: int, name: str | None = None) -> 'list[Record{c}]':"]
            lines += [f"        'Does the act number {m} with part {c}.'"]
    lines += ["class Whole:", "    def __init__(self):", *(f"        self.part{c} = Part{c}()" for c in range(classes))]
    module = types.ModuleType("tests_catalog_large")
    sys.modules[module.__name__] = module
    exec("\n".join(lines), vars(module))
    return Scope({"whole": vars(module)["Whole"]()})


def test_a_method_among_two_thousand_is_found() -> None:
    catalog = Catalog(a_large_scope(100, 20))
    assert [hit.name for hit in catalog.search("act 7 with part 63", 1)] == ["whole.part63.act7"]
    assert len(catalog.search("act part", 5_000)) >= 2_000


async def test_a_runtime_searches_without_a_session() -> None:
    hits = await Runtime(office.scope()).search("send an email", limit=2)
    assert len(hits) == 2
    assert hits[0].name == "mail.send"


async def test_guest_code_searches_and_shows() -> None:
    scope = office.scope()
    rt = Runtime(scope)
    for name, function in catalog_functions(rt).items():
        scope.bind(name, function)
    async with rt:
        found = await rt.execute("search('send an email', limit=1)")
        assert found.unwrap() == "mail.send(to: str, subject: str, body: str) -> int\n    Send an email."
        shown = await rt.execute("show('crm.contacts.get')")
        assert "def get(contact_id: int) -> Person:" in shown.unwrap()
        nothing = await rt.execute("search('zzz')")
        assert nothing.unwrap().startswith("Nothing found for 'zzz'. In scope: crm, calendar, mail")
        wrong = await rt.execute("show('mail.sned')")
        assert "did you mean `mail.send`" in str(wrong.error)


async def test_the_functions_for_guest_code_need_no_await_there() -> None:
    catalog = Catalog(office.scope())
    scope = Scope(catalog_functions(catalog))
    text = Catalog(scope).show("search") + Catalog(scope).show("show")
    assert "def search(query: str, limit: int = 8) -> str:" in text
    assert "def show(name: str) -> str:" in text
    with pytest.raises(NotInScope):
        await catalog_functions(catalog)["show"]("nope")
