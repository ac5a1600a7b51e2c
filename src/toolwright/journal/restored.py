"""How a guest was brought back, in words and numbers; and which names go with cells that cannot be repeated."""

from __future__ import annotations

import symtable
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.journal.life import Divergence
from toolwright.journal.rows import CellRow
from toolwright.journal.words import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """How a guest was brought back: which cells were run again, and what is not as it was."""

    cells: tuple[int, ...] = ()
    diverged: Divergence | None = None
    lost: tuple[str, ...] = ()  # names that are gone, because the cells that made them could not be repeated
    notes: tuple[str, ...] = ()
    checkpoint: int = 0  # the cell that its state was kept after, and taken up from; 0: all cells were run again

    def __str__(self) -> str:
        if self.diverged is None:
            after = f", after the checkpoint of cell {self.checkpoint}" if self.checkpoint else ""
            return f"ran {counted(len(self.cells), 'cell')} again{after}"
        names = ", ".join(self.lost) or "none"
        return f"a cell that was run again went another way ({self.diverged}). Names lost: {names}"


def names_in(cells: Sequence[CellRow]) -> tuple[str, ...]:
    """The names that these cells gave to something, in order."""
    found: dict[str, None] = {}
    for cell in cells:
        try:
            table = symtable.symtable(textwrap.dedent(cell.code), "<cell>", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it gave nothing a name, or is nested deeper than Python can read
        found |= {one.get_name(): None for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    return tuple(found)
