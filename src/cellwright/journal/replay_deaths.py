"""A guest that ends while its cells are run again: it says nothing of whether they would have come to the same.

So it is no divergence. The cells are run again in a fresh guest, a few times; nothing is written down meanwhile. But a
guest that breaks the protocol does so by itself: that is a difference.
"""

from __future__ import annotations

import asyncio

from cellwright.errors import CodeError, ProtocolError, RestoreFailed
from cellwright.journal.divergence import is_measured
from cellwright.journal.outcomes import told_error
from cellwright.journal.replay import Replay
from cellwright.sandboxes import GONE, Interpreter, Outcome
from cellwright.store import CellRow

GUESTS = 3  # that are tried before somebody must act
LOOK_S = 0.05  # between two looks at a guest that has not asked for all that is recorded
REPLAY_S, TIMES = 60.0, 4  # for one cell: `wall_s` may be small, and the machine busy


class GuestDied(Exception):
    """A guest ended, met a limit or took too long, in a cell that it ran again; `loading`: in taking up its state."""

    def __init__(self, cell: int, why: str, *, loading: bool = False) -> None:
        super().__init__(why)
        self.cell = cell
        self.why = why.replace(GONE, "").strip().rstrip(".")
        self.loading = loading

    def failed(self, session: str) -> RestoreFailed:
        """The error for whoever wanted the session, when enough guests were tried."""
        where = "its checkpoint was taken up" if self.loading else f"cell {self.cell} was run again"
        return RestoreFailed(
            f"session {session!r} was not brought back: {GUESTS} guests ended one after the other while {where}, the "
            f"last one because of this: {self.why}. Nothing was written to its journal. Resume it again, with larger "
            "limits if a limit is the cause; if this cell ends every guest, rewind the session to a cell before it",
            session=session,
            cell=self.cell,
        )


def replay_s(wall_s: float, took_s: float = 0.0) -> float:
    """How long a cell may take when it is run again, which took so long then."""
    return max(REPLAY_S, TIMES * wall_s, TIMES * took_s)


def require_survived(row: CellRow, outcome: Outcome, *, alive: bool) -> None:
    """Raise `GuestDied` where a death or a limit ended this run of a cell, and the recorded one came to its end."""
    error = outcome.error
    if error is None or isinstance(error, CodeError | ProtocolError) or (alive and is_measured(told_error(error))):
        return
    if not alive or type(error).__name__ != row.error.get("class"):
        raise GuestDied(row.number, str(error))


async def until_told(replay: Replay, interpreter: Interpreter, cell: int, patience_s: float) -> None:
    """Until the guest was told all that was told up to here, or so long: a thread of it may ask late."""
    try:
        async with asyncio.timeout(patience_s):
            while not await replay.told(LOOK_S):
                if not interpreter.alive:
                    require_no_death(interpreter, cell)
                    return
    except TimeoutError:
        return


def require_no_death(interpreter: Interpreter, cell: int, *, loading: bool = False) -> None:
    """Raise `GuestDied` for a guest that ended between two cells, if it was not ended for what it sent."""
    if not isinstance(interpreter.reason, ProtocolError):
        raise GuestDied(cell, str(interpreter.reason or "the guest process ended"), loading=loading)
