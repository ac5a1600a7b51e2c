"""What the scope offers, as a whole: here, checking a cell against it before it runs."""

from toolwright.catalog.check import TypeChecker
from toolwright.catalog.mistakes import Mistake, type_mistake

__all__ = ["Mistake", "TypeChecker", "type_mistake"]
