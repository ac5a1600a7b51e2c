"""What the scope offers, as a whole: found, shown, outlined; and a cell checked against it before it runs."""

from toolwright.catalog.check import TypeChecker
from toolwright.catalog.functions import catalog_functions
from toolwright.catalog.index import Catalog, Hit
from toolwright.catalog.mending import is_mended, mended
from toolwright.catalog.mistakes import Mistake, type_mistake
from toolwright.catalog.outlines import outline
from toolwright.catalog.stub_tree import TreeFile, save_tree, stub_tree, write_tree

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
