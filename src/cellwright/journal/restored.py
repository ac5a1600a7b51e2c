"""How a guest was brought back, in words and numbers; and which names go with cells that cannot be repeated."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cellwright.journal.life import Divergence
from cellwright.journal.words import counted
from cellwright.scope import parse
from cellwright.store import CellRow


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
            found |= dict.fromkeys(_stored(parse(textwrap.dedent(cell.code))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it gave nothing a name, or is too deep to tell
    return tuple(found)


def _stored(tree: ast.Module) -> Iterator[str]:
    """Names that stand for something after a module ran: not those of its functions, classes and comprehensions."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                pending += reversed(list(ast.iter_child_nodes(node)))
