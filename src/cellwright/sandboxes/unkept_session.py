"""`UnkeptSession`: a session that nobody writes down. Its names last as long as its guest does."""

from __future__ import annotations

from cellwright.doors import Host
from cellwright.errors import CodeError, Crashed, GuestError
from cellwright.sandboxes.base import Interpreter, Limits, OnEvent, Opening, Outcome, Sandbox
from cellwright.sandboxes.workspace import Workspace


class UnkeptSession:
    """One guest at a time; where it is gone, the next cell starts in a fresh one."""

    def __init__(self, host: Host, sandbox: Sandbox, workspace: Workspace, limits: Limits) -> None:
        self._sandbox = sandbox
        self._opening = Opening(host=host, limits=limits, workspace=workspace)
        self._interpreter: Interpreter | None = None
        self._cells = 0
        self._ran: list[str] = []
        self._holds_names = False

    async def begin(self) -> None:
        self._interpreter = await self._sandbox.open(self._opening)

    async def usable(self) -> None:
        """Always: see `KeptSession`."""

    async def run(self, code: str, on_event: OnEvent | None) -> Outcome:
        self._cells += 1
        if self._interpreter is None or not self._interpreter.alive:
            lost = self._lost_since()
            self._interpreter = await self._sandbox.open(self._opening)
            self._ran = []
            if lost is not None:
                return Outcome(cell=self._cells, error=lost, rung=self._sandbox.rung)
        self._holds_names = False  # and it stays so where the cell is cancelled: whoever does that knows
        interpreter = self._interpreter  # `close` takes it away, also while a cell runs
        outcome = await interpreter.run(self._cells, code, on_event)
        # A guest may end right after its report: only an error that is not the cell's own says that names are gone.
        self._holds_names = interpreter.alive or outcome.error is None or isinstance(outcome.error, CodeError)
        if self._holds_names:
            self._ran.append(code)
        return outcome

    @property
    def last(self) -> int:
        """The number of the last cell."""
        return self._cells

    async def ran(self) -> list[str]:
        """The code of the cells that make up the state."""
        return self._ran

    def _lost_since(self) -> GuestError | None:
        """Why names that the last cell left are gone. Told instead of running code that counts on them."""
        if self._interpreter is None or not self._holds_names:
            return None
        self._holds_names = False
        return self._interpreter.reason or Crashed("the guest ended between two cells; its names are gone. Run again")

    async def close(self) -> None:
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            await interpreter.close()
