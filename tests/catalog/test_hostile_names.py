"""Names and texts of an upstream that would be code, or break what is written of it: the stubs stay Python."""

from __future__ import annotations

import ast

import pytest
from tests.connectors.listing import Listing

from cellwright import Scope
from cellwright.catalog import Catalog, stub_tree
from cellwright.catalog.stub_files import StubFiles
from cellwright.connectors import make_root
from cellwright.scope import Line, Offered


def catalog_of(path: str, head: str, gives: str, doc: str = "") -> Catalog:
    line = Line(name=path.rpartition(".")[2], heads=(head,), callable=True, gives=gives, doc=doc)

    async def call(path: str, arguments: object) -> None: ...

    return Catalog(Scope({"up": make_root("up", Listing(Offered(path=path, line=line)), call)}), cache=None)


def texts(catalog: Catalog, names: set[str]) -> list[str]:
    """All that is written of it: for a reader, and for the type checker."""
    files = StubFiles(catalog.offer.upstreams["up"])
    checked = [*files.first().values(), *files.more(names).values()]
    return [*checked, *(file.text for file in stub_tree(catalog) if file.path.endswith(".pyi"))]


@pytest.mark.parametrize(
    "doc", ['Say "hi"', 'a"""b', "a\\", "nul \0 here", 'first\n\nlast"', "\u202eturned", "''' ", '"']
)
def test_no_doc_ends_its_string(doc: str) -> None:
    for text in texts(catalog_of("a.get", "def get(self) -> str", "str", doc), {"a", "get"}):
        ast.parse(text)
        assert "\u202e" not in text


def test_an_arrow_in_a_literal_is_none_of_the_head() -> None:
    gives = "Literal[\"a) -> Any: exec('x')\", 'b']"
    head = f"def get(self, *, {', '.join(f'argument_{n}: str | None = None' for n in range(6))}) -> {gives}"
    for text in texts(catalog_of("a.get", head, gives), {"a", "get"}):
        assert not [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and "exec" in ast.dump(node)
        ]


def test_a_namespace_may_be_called_none() -> None:
    for text in texts(catalog_of("none.get", "def get(self) -> str", "str"), {"none", "get"}):
        ast.parse(text)


def test_a_long_name_is_read_at_once() -> None:
    name = "x" * 4000
    for text in texts(catalog_of("a.get", f"def get(self, {name}: str) -> str", "str"), {"a", "get"}):
        ast.parse(text)
