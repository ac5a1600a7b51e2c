"""What the scope offers, as a whole: found, shown, outlined; and a cell checked against it before it runs."""

from toolwright.catalog.check import TypeChecker
from toolwright.catalog.functions import catalog_functions
from toolwright.catalog.index import Catalog, Hit
from toolwright.catalog.mending import mended
from toolwright.catalog.mistakes import Mistake, type_mistake
from toolwright.catalog.outlines import outline

__all__ = ["Catalog", "Hit", "Mistake", "TypeChecker", "catalog_functions", "mended", "outline", "type_mistake"]
