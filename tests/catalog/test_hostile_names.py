"""Names and texts of an upstream that would be code, or break what is written of it: the stubs stay Python."""

from __future__ import annotations

import ast

import pytest
from tests.connectors.listing import Listing
from tests.signatures import read_signature

from cellwright import Scope
from cellwright.catalog import Catalog, stub_tree
from cellwright.catalog.stub_files import StubFiles
from cellwright.connectors import make_root
from cellwright.scope import Declaration, UpstreamOperation


def catalog_of(path: str, head: str, doc: str = "") -> Catalog:
    line = Declaration(name=path.rpartition(".")[2], signatures=(read_signature(head),), first="self", doc=doc)

    async def call(path: str, arguments: object) -> None: ...

    return Catalog(Scope({"up": make_root("up", Listing(UpstreamOperation(path=path, line=line)), call)}), cache=None)


def texts(catalog: Catalog, names: set[str]) -> list[str]:
    """All that is written of it: for a reader, and for the type checker."""
    files = StubFiles(catalog.offer.upstreams["up"])
    checked = [*files.first().values(), *files.more(names).values()]
    return [*checked, *(file.text for file in stub_tree(catalog) if file.path.endswith(".pyi"))]


@pytest.mark.parametrize(
    "doc", ['Say "hi"', 'a"""b', "a\\", "nul \0 here", 'first\n\nlast"', "\u202eturned", "''' ", '"']
)
def test_no_doc_ends_its_string(doc: str) -> None:
    for text in texts(catalog_of("a.get", "(self) -> str", doc), {"a", "get"}):
        ast.parse(text)
        assert "\u202e" not in text


def test_an_arrow_in_a_literal_is_none_of_the_head() -> None:
    gives = "Literal[\"a) -> Any: exec('x')\", 'b']"
    head = f"(self, *, {', '.join(f'argument_{n}: str | None = None' for n in range(6))}) -> {gives}"
    for text in texts(catalog_of("a.get", head), {"a", "get"}):
        assert not [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and "exec" in ast.dump(node)
        ]


def test_a_namespace_may_be_called_none() -> None:
    for text in texts(catalog_of("none.get", "(self) -> str"), {"none", "get"}):
        ast.parse(text)


def test_a_long_name_is_read_at_once() -> None:
    name = "x" * 4000
    for text in texts(catalog_of("a.get", f"(self, {name}: str) -> str"), {"a", "get"}):
        ast.parse(text)
