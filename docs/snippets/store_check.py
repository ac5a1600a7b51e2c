from collections.abc import Sequence

from cellwright.store import MemoryStore, Row
from cellwright.testing import check_store


class Hasty(MemoryStore):
    """Gives the rows of all cells, whatever it is asked for."""

    def rows(self, session: str, first_cell: int = 0, upto: int | None = None) -> Sequence[Row]:
        return super().rows(session, 0, upto)


check_store(MemoryStore)
print("a store in memory keeps every promise")
try:
    check_store(Hasty)
except AssertionError as broken:
    print(str(broken).partition(" (")[0])
