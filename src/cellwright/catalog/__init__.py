"""What the scope offers, as a whole: found, shown, outlined; and a cell checked against it before it runs."""

from cellwright.catalog.check import TypeChecker
from cellwright.catalog.functions import catalog_functions
from cellwright.catalog.index import Catalog, Hit
from cellwright.catalog.mending import is_mended, mended
from cellwright.catalog.mistakes import Mistake, type_mistake
from cellwright.catalog.outlines import outline
from cellwright.catalog.stub_tree import TreeFile, save_tree, stub_tree, write_tree

__all__ = [
    "Catalog",
    "Hit",
    "Mistake",
    "TreeFile",
    "TypeChecker",
    "catalog_functions",
    "is_mended",
    "mended",
    "outline",
    "save_tree",
    "stub_tree",
    "type_mistake",
    "write_tree",
]
