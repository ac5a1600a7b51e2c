"""`Runtime`: scope + sandbox + workspace. What the agent, the gateway and the server all stand on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from toolwright.errors import CodeError, Crashed, GuestError, NotInScope, PlatformError, UsageError
from toolwright.sandboxes import (
    GUEST_UID,
    STANDARD,
    Files,
    Interpreter,
    Limits,
    OnEvent,
    Opening,
    Outcome,
    ProcessSandbox,
    Sandbox,
    Workspace,
    environment,
)
from toolwright.scope import Scope, ScopeHost, stub
from toolwright.settings import Settings

T = TypeVar("T")


class Runtime:
    """Runs untrusted Python that calls your live objects. An async context manager.

    >>> async with Runtime(scope={"crm": crm}) as rt:
    ...     outcome = await rt.execute("crm.contacts.list(city='Oslo')")

    scope      names for guest code: a mapping, or a `Scope` with rules
    sandbox    "auto" and "process" are the kernel jail; or a `Sandbox` of your own
    packages   what guest code may import besides the standard library: a venv's path, or a list to be installed
    limits     what a cell may use
    workspace  a directory to share with guest code; a fresh one, removed at the end, when left out
    require    the operator's minimum: layers without which nothing runs
    progress   is told of long work, such as installing packages, line by line
    """

    def __init__(
        self,
        scope: Scope | Mapping[str, Any] | None = None,
        *,
        sandbox: Literal["auto", "process"] | Sandbox = "auto",
        packages: Path | str | Sequence[str] | None = None,
        limits: Limits | None = None,
        workspace: Path | str | None = None,
        require: Iterable[str] = STANDARD,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.scope = Scope.of(scope)
        self.limits = limits or Limits()
        self._host = ScopeHost(self.scope)
        self._sandbox: Sandbox | None = None if isinstance(sandbox, str) else sandbox
        self._wanted = sandbox
        self._packages = packages
        self._where = Path(workspace) if workspace is not None else None
        self._required = frozenset(require)
        self._progress = progress or _say
        self._workspace: Workspace | None = None
        self._interpreter: Interpreter | None = None
        self._cells = 0
        self._holds_names = False
        self._turn = asyncio.Lock()
        if isinstance(sandbox, str) and sandbox not in ("auto", "process"):
            raise UsageError(f'sandbox={sandbox!r}: give "auto", "process", or a Sandbox')

    async def __aenter__(self) -> Runtime:
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _open(self) -> None:
        if self._sandbox is None:
            if not sys.platform.startswith("linux"):
                raise PlatformError(f"the process sandbox needs Linux, and this is {sys.platform}; run it on Linux")
            found = await environment(
                self._packages, cache=Settings.from_environment().cache_dir, progress=self._progress
            )
            self._sandbox = ProcessSandbox(found, required=self._required)
        if self._where is None:
            self._workspace = await asyncio.to_thread(Workspace.create, None, GUEST_UID)
        else:
            self._workspace = await asyncio.to_thread(Workspace.at, self._where, GUEST_UID)
        self.files = Files(self._workspace)
        self._interpreter = await self._start()

    async def _start(self) -> Interpreter:
        if self._sandbox is None or self._workspace is None:
            raise UsageError("this Runtime is not open: use `async with Runtime(…) as rt:`")
        return await self._sandbox.open(Opening(host=self._host, limits=self.limits, workspace=self._workspace))

    async def execute(self, code: str, *, on_event: OnEvent | None = None) -> Outcome:
        """Run one cell. Names stay for the next one; what guest code does wrong is in the outcome, never raised.

        After a limit, a crash or a cancelled cell the names are gone, and the next cell starts in a fresh interpreter.
        """
        async with self._turn:
            self._cells += 1
            if self._interpreter is None or not self._interpreter.alive:
                lost = self._lost_since()
                self._interpreter = await self._start()
                if lost is not None:
                    return Outcome(cell=self._cells, error=lost, rung=self._rung)
            self._holds_names = False  # and it stays so where the cell is cancelled: whoever does that knows
            interpreter = self._interpreter  # `close` takes it away, also while a cell runs
            outcome = await interpreter.run(self._cells, code, on_event)
            # A guest may end right after its report: only an error that is not the cell's own says that names are gone.
            self._holds_names = interpreter.alive or outcome.error is None or isinstance(outcome.error, CodeError)
            return outcome

    @property
    def _rung(self) -> str:
        return self._sandbox.rung if self._sandbox is not None else ""

    def _lost_since(self) -> GuestError | None:
        """Why names that the last cell left are gone. Told instead of running code that counts on them."""
        if self._interpreter is None or not self._holds_names:
            return None
        self._holds_names = False
        return self._interpreter.reason or Crashed("the guest ended between two cells; its names are gone. Run again")

    async def show(self, name: str) -> str:
        """The stub of a name in scope: its signatures, annotations and docs, as `.pyi` text."""
        try:
            return stub(self.scope, name)
        except KeyError:
            names = ", ".join(n for n, _ in self.scope.names()) or "nothing"
            raise NotInScope(f"`{name}` is not in scope; in scope: {names}") from None

    async def close(self) -> None:
        """End the guest, remove a workspace that was made here."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            await interpreter.close()
        if self._sandbox is not None and isinstance(self._wanted, str):
            await self._sandbox.close()
            self._sandbox = None
        self._host.close()
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            await asyncio.to_thread(workspace.remove if workspace.fresh else workspace.close)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(main: Coroutine[Any, Any, T]) -> T:
    """The one sync door: run a coroutine to its end, as `asyncio.run` does."""
    return asyncio.run(main)
