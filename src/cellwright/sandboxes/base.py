"""What a rung of the ladder is: a `Sandbox` opens `Interpreter`s, which run cells under `Limits` and give `Outcome`s.

This module knows nothing of how a rung isolates, and nothing of what stands behind the host's door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from cellwright.doors import Host
from cellwright.errors import GuestError, UsageError
from cellwright.events import Event
from cellwright.sandboxes.guest_network import GuestNetwork
from cellwright.sandboxes.workspace import Workspace

OnEvent = Callable[[Event], None]
WALL_S = 30.0  # by default; then the time of other agents does not count


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one cell may use, and what one session may hold. Each has a default; none is ever absent.

    `wall_s`, `cpu_s`, `output_kb` and `host_calls` count per cell; the rest bind the session as long as it lives.
    """

    wall_s: float = WALL_S
    cpu_s: float = 30.0
    memory_mb: int = 256  # beyond the warm interpreter with its packages
    processes: int = 0  # child processes at once; 0 turns `subprocess` off
    threads: int = 64
    open_files: int = 256
    file_mb: int = 64
    workspace_mb: int = 256
    output_kb: int = 8192
    host_calls: int = 10_000

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            least = 0 if f.name in ("processes", "host_calls") else 1e-3 if f.name.endswith("_s") else 1
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least or value > 2**40:
                raise UsageError(f"Limits({f.name}={value!r}): give a number of at least {least:g}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """One call that a cell made through the door, as people read it in a trace."""

    name: str  # "crm.contacts.list", or "Contact#7.save" for an object that a call returned
    duration_s: float
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestValue:
    """A value that stayed in the guest because it cannot cross: what it is and how it prints."""

    type: str
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The outcome of one cell. `waiting`: questions that it waits for; its guest was ended, the cell goes on later."""

    cell: int
    value: Any = None
    stdout: str = ""
    error: GuestError | None = None
    calls: tuple[CallRecord, ...] = ()
    rung: str = ""
    duration_s: float = 0.0
    mistakes: tuple[str, ...] = ()  # of the type checker, where the cell ran all the same
    waiting: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.error is None

    def unwrap(self) -> Any:
        """The value, or the error raised."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """What a sandbox needs to open one interpreter.

    With a `scratch`, guest code sees and writes that instead of the workspace, until `Interpreter.reveal`. Where a
    rung cannot give it, `open` raises `PlatformError`.

    Until `repeats` is done the guest only does again what it did before: neither `wall_s` nor `cpu_s` counts for its
    cells. Whoever opens it bounds the time that they take. Without a `network` it reaches none.
    """

    host: Host
    limits: Limits = field(default_factory=Limits)
    workspace: Workspace
    scratch: Workspace | None = None
    repeats: asyncio.Future[None] | None = None
    network: GuestNetwork | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedState:
    """The state of a guest after a cell, as bytes that only a guest reads; `missing` says what is not in them."""

    content: bytes
    missing: tuple[str, ...] = ()


class Interpreter(Protocol):
    """A live Python with its names. One cell at a time.

    `run` never raises for what guest code did: a crash, a limit and an exception are outcomes. Cancelling the task that
    awaits `run` ends the guest at once and cancels its host calls. Where the session is journaled, `at` is the guest's
    clock when the cell begins, and `seed` what it draws randomness from, if not from what it began with. `alive` turns
    False when the guest has ended; its names are gone then, `reason` says why if the host ended it, and `run` raises
    `UsageError`.

    `reveal` takes the scratch away, between two cells or while a call is under way, and removes it if it was made by
    `Workspace.create`: from then on the guest is in the live workspace, in the same directory of it where there is one.
    Files that it has open in the scratch stay open there. If the guest does not survive this, `alive` is False.
    Without a scratch, and when called again, `reveal` does nothing.

    `save` and `load` are for journaled sessions, between two cells: the first gives the guest's state, None where it
    cannot be pickled; the second brings a guest that has run no cell to that state. It raises `GuestError` where that
    fails, and the guest is good for nothing then. A guest that takes longer than `wall_s` for either is ended.
    """

    @property
    def alive(self) -> bool: ...
    @property
    def reason(self) -> GuestError | None: ...
    async def run(
        self, cell: int, code: str, on_event: OnEvent | None = None, *, at: float = 0.0, seed: bytes = b""
    ) -> Outcome: ...
    async def reveal(self) -> None: ...
    async def save(self) -> SavedState | None: ...
    async def load(self, content: bytes) -> None: ...
    async def close(self) -> None: ...


class Sandbox(Protocol):
    """A rung. `open` raises `PlatformError` where this machine cannot give it. `close` ends what it opened.

    `pins` says what a guest's run depends on besides its code: interpreter, packages, guest version, kind of CPU.
    """

    @property
    def rung(self) -> str: ...
    async def open(self, opening: Opening) -> Interpreter: ...
    async def pins(self) -> dict[str, str]: ...
    async def close(self) -> None: ...
