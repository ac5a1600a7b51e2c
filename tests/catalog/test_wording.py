"""How a query is read: phrases, what people call things, what kind of operation is meant; and what that finds."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from tests.catalog.surfaces import Listed, offered, scope_of

from cellwright.catalog import Catalog
from cellwright.catalog.fulltext import FullTextIndex
from cellwright.catalog.index_rows import rows_of
from cellwright.catalog.intents import Kind, aside, intent_of
from cellwright.catalog.ranking_weights import WEIGHTS
from cellwright.catalog.search_query import SEARCH_TOKENS, SearchSource, read_query
from cellwright.catalog.stemmer import root, split, stem
from cellwright.catalog.vocabulary import meanings, plain, query_stems

SHOP = (
    offered("refunds.create", "(self, *, charge: str) -> Refund", "Create a refund.\n\nPOST /v1/refunds"),
    offered("refunds.list", "(self) -> Iterator[Refund]", "List refunds.\n\nGET /v1/refunds", reads=True),
    offered("customers.create", "(self, *, email: str) -> Customer", "Create a customer.\n\nPOST /v1/customers"),
    offered("customers.list", "(self) -> Iterator[Customer]", "List customers.\n\nGET /v1/customers", reads=True),
    offered(
        "customers.get",
        "(self, customer: str) -> Customer",
        "Get a customer.\n\nGET /v1/customers/{customer}",
        reads=True,
    ),
    offered(
        "customers.update",
        "(self, customer: str, *, email: str | None = None) -> Customer",
        "Update a customer.\n\nPOST /v1/customers/{customer}",
    ),
    offered("customers.delete", "(self, customer: str) -> None", "Delete one.\n\nDELETE /v1/customers/{customer}"),
    offered("customers.clear", "(self) -> None", "Delete customers.\n\nDELETE /v1/customers"),
    offered("disputes.list", "(self) -> Iterator[Dispute]", "List disputes.\n\nGET /v1/disputes", reads=True),
    offered(
        "subscriptions.pause",
        "(self, subscription: str) -> Subscription",
        "Pause a subscription.\n\nPOST /v1/subscriptions/{subscription}/pause",
    ),
    offered("invoices.update", "(self, invoice: str) -> Invoice", "Update an invoice.\n\nPATCH /v1/invoices/{invoice}"),
    offered("invoices.create", "(self) -> Invoice", "Create an invoice.\n\nPOST /v1/invoices"),
    offered("invoices.list", "(self) -> Iterator[Invoice]", "List invoices.\n\nGET /v1/invoices", reads=True),
)
QUERIES = {
    "give somebody their money back": "shop.refunds.create",
    "reimburse a buyer": "shop.refunds.create",
    "chargebacks": "shop.disputes.list",
    "sign up a new buyer": "shop.customers.create",
    "nuke a customer": "shop.customers.delete",
    "get rid of a client": "shop.customers.delete",
    "what clients do we have": "shop.customers.list",
    "who are our shoppers": "shop.customers.list",
    "customer details": "shop.customers.get",
    "put a subscription on hold": "shop.subscriptions.pause",
    "unpaid bills": "shop.invoices.list",
    "close an invoice": "shop.invoices.update",
    "change the email of a customer": "shop.customers.update",
    "how do I draft a bill": "shop.invoices.create",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(scope_of(shop=Listed(SHOP, key="shop-1")), cache=None)


@pytest.mark.parametrize("query", QUERIES)
def test_what_people_call_a_thing_finds_what_the_api_calls_it(catalog: Catalog, query: str) -> None:
    assert catalog.search(query, 1)[0].name == QUERIES[query]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("turn the old workflow off", "disable the old workflow"),
        ("throw away a draft", "delete a draft"),
        ("two PRs", "two pull requests"),
        ("pvc", "persistent volume claim"),
        ("a node's labels", "a node labels"),
        ("close it without merging", "close it"),
    ],
)
def test_several_words_become_the_one_they_mean(query: str, said: str) -> None:
    assert plain(query) == said


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("list pods", "list"),
        ("pods", "list"),
        ("all open tickets", "list"),
        ("get a pod", "read"),
        ("is the pod ready", "read"),
        ("which pod is the oldest", "ask"),
        ("who follows me", "list"),
        ("how do I make a pod", "create"),
        ("make a repository private", "update"),
        ("my email addresses", "list"),
        ("details of a commit", "read"),
        ("yank a release", "delete"),
        ("unassign a user", "delete"),
        ("archive a product", "change"),
        ("fork a repository", "act"),
        ("partial refund", ""),
    ],
)
def test_the_kind_of_operation_is_read_from_the_grammar(query: str, kind: Kind) -> None:
    assert intent_of(query).kind == kind


def test_a_clause_that_says_when_or_why_is_set_aside() -> None:
    assert aside("delete a branch after merging it") == {"merg", "it"}
    assert not aside("delete a branch")
    assert intent_of("make a label called urgent").head == "label"


def test_a_plural_of_initials_is_one_word() -> None:
    assert split("which CRDs and PRs") == ["which", "crds", "and", "prs"]
    assert split("createHTTPServer") == ["create", "http", "server"]


def test_kin_are_found_and_words_that_only_look_alike_are_not() -> None:
    assert root(stem("subscription")) == root(stem("subscriber"))
    assert root(stem("verification")) == root(stem("verify"))
    assert root(stem("customer")) != root(stem("custom"))


def test_every_line_of_the_vocabulary_says_something_else_than_itself() -> None:
    sections = tomllib.loads((files("cellwright.catalog") / "vocabulary.toml").read_text("utf-8"))["meanings"].values()
    lines = [line.partition(":") for section in sections for line in section.splitlines()]
    assert len(lines) > 800
    for word, colon, meant in lines:
        assert colon, word
        assert len(word.split()) == 1, word
        assert meant.split(), word
        assert stem(word) not in {stem(other) for other in meant.split()}, word
    assert "refund" in meanings(stem("reimburse"))


def test_a_long_query_is_looked_for_by_no_more_tokens_than_a_search_may_have() -> None:
    source = SearchSource(index=FullTextIndex.of(rows_of(Listed(SHOP, key="shop-2"))), name="shop")
    query = "send every customer who paid an invoice or opened a dispute a refund and pause their subscription today"
    made = read_query([source], query, query_stems(query), WEIGHTS)
    assert 0 < len(made.search) <= SEARCH_TOKENS
