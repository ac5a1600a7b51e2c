"""How a guest was brought back, in words and numbers; and which names go with cells that cannot be repeated."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.journal.life import Divergence
from toolwright.journal.rows import CellRow


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
            return f"ran {len(self.cells)} cells again{after}"
        names = ", ".join(self.lost) or "none"
        return f"a cell that was run again went another way ({self.diverged}). Names lost: {names}"


def names_in(cells: Sequence[CellRow]) -> tuple[str, ...]:
    """The names that these cells gave to something, in order."""
    found: dict[str, None] = {}
    for cell in cells:
        try:
            tree = ast.parse(cell.code)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = None
    return tuple(found)
