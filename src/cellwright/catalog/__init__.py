"""What the scope offers, as a whole: found, shown, outlined; and a cell checked against it before it runs."""

from cellwright.catalog.await_repair import is_repaired, repaired
from cellwright.catalog.catalog import Catalog, SearchHit
from cellwright.catalog.functions import catalog_functions
from cellwright.catalog.mistakes import Mistake, type_mistake
from cellwright.catalog.outlines import outline
from cellwright.catalog.stub_tree import TreeFile, save_tree, stub_tree, write_tree
from cellwright.catalog.type_checker import LONGEST_READ, TypeChecker, too_long

__all__ = [
    "LONGEST_READ",
    "Catalog",
    "Mistake",
    "SearchHit",
    "TreeFile",
    "TypeChecker",
    "catalog_functions",
    "is_repaired",
    "outline",
    "repaired",
    "save_tree",
    "stub_tree",
    "too_long",
    "type_mistake",
    "write_tree",
]
