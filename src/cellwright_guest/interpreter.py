"""The guest's main: reads cells from the host, runs them in one set of names, reports the outcome of each."""

from __future__ import annotations

import builtins
import faulthandler
import mmap
import re
import socket
import sys
from _sitebuiltins import _Helper  # pyright: ignore[reportPrivateUsage]  what `site` puts at `help`
from typing import Any, NoReturn, TextIO

from cellwright_guest import (
    cells,
    clock,
    json_records,
    loop,
    paths,
    process_state,
    randomness,
    refusals,
    transactions,
)
from cellwright_guest.door import Door
from cellwright_guest.framing import frame
from cellwright_guest.wire import Packed, WireError
from cellwright_guest.world import World

REPR_LIMIT = 20_000
RESERVE = 4 << 20
MOST_MISSING = 500
REHEARSALS = 16
CONFINED = frame(["r"], [])[0]  # the first word of a guest: from here on its exit code is guest code's own

_ready: GuestInterpreter | None = None
_MCP_ALIAS = re.compile(r"\bmcp__([A-Za-z]\w*?)__([A-Za-z]\w*)")


def watch_inputs() -> None:
    """In the zygote, before packages are imported: from here on clock and chance can be the session's own."""
    clock.install()
    randomness.install()


def prepare() -> None:
    """In the zygote, once: everything that needs no session, so that a guest begins with its first cell."""
    global _ready
    _open_output()
    refusals.install()
    json_records.readable_by_json()
    _ready = GuestInterpreter()
    process_state.note()
    for _ in range(REHEARSALS):
        rehearse()


def main(conn: socket.socket, request: dict[str, Any]) -> NoReturn:
    """Serve until the host closes the connection."""
    if request["limits"]["processes"] <= 0:
        refusals.refuse_processes()
    guest = _ready or GuestInterpreter()
    guest.begin(conn)
    conn.sendall(CONFINED)
    while True:
        guest.step()


def rehearse() -> None:
    """Run a cell that does nothing, so that the guest's first cell finds its code warm and its pages already copied."""
    if _ready is None:
        return
    ours, theirs = socket.socketpair()
    names, code = frame(["b", {"m": {}}], []), frame(["x", 0, "None"], [])
    ours.sendall(names[0] + code[0])
    _ready.begin(theirs)
    _ready.step()
    _ready.step()
    ours.close()
    theirs.close()


def _open_output() -> None:
    # One line at a time, so that prints stream; what C code writes to descriptor 1 goes the same way.
    sys.stdout, sys.stderr = _writer(1), _writer(2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  it stays open
    builtins.help, builtins.exit, builtins.quit = _Helper(), _leave, _leave  # what -S leaves out of a session
    sys.__stdout__, sys.__stderr__, sys.__stdin__ = sys.stdout, sys.stderr, sys.stdin


def _writer(fd: int) -> TextIO:
    return open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _leave(code: object = None) -> NoReturn:
    raise SystemExit(code)


class GuestInterpreter:
    """One session's interpreter."""

    def __init__(self) -> None:
        self._door = Door()
        self._world = World(self._door)
        self._loop = loop.install(self._door, self._world.deliver)
        self._names = cells.fresh_names()
        transactions.install(self._world)
        self._names["transaction"] = transactions.transaction  # a name of the scope takes its place
        self._coming: list[tuple[int, dict[str, Any]]] = []  # names bound later, with the cell that they follow

    def begin(self, conn: socket.socket) -> None:
        self._door.conn = conn
        self._keep_reserve()
        faulthandler.enable(file=2, all_threads=False)

    def step(self) -> None:
        """Take one message of the host and carry it out."""
        try:
            message, blobs = self._door.receive(self._door.main)
        except MemoryError:  # the last cell filled its memory and holds it: this one may be `del x`
            self._reserve.close()
            message, blobs = self._door.receive(self._door.main)
        match message[0]:
            case "b":
                self._bind(message, blobs)
            case "x":
                self._run(*message[1:])
            case "p":
                self._save()
            case "l":
                self._load(blobs[0])
            case _:
                self._world.deliver((message, blobs), None)

    def _bind(self, message: list[Any], blobs: list[Any]) -> None:
        _, tree, options, only, after = (*message, None, None, None)[:5]
        if options is not None:
            self._journal(**options)
        names = self._world.unpack(tree, blobs)
        self._world.bound.update(names)
        if only is not None:
            self._later.update(only)
            self._coming.append((after or 0, {name: names[name] for name in only}))
            return
        self._names.update(names)
        if self._door.journaled:
            self._opening, self._later = names, set[str]()

    def _come(self, cell: int) -> None:
        """Bind the names that the host added before this cell: code that is run again does not find them earlier."""
        for after, names in self._coming:
            if after < cell:
                self._names.update({name: value for name, value in names.items() if name not in self._names})
        self._coming = [coming for coming in self._coming if coming[0] >= cell]

    def _journal(self, seed: str, at: float) -> None:
        self._door.journaled = True
        clock.begin(at, lambda seconds: self._world.call("sleep", 0, "", seconds))
        randomness.begin(bytes.fromhex(seed))
        refusals.refuse_kernel_randomness()
        paths.begin()
        loop.install_tasks()
        self._loop.journal()

    def _run(self, cell: int, code: str, at: float = 0.0, seed: str = "") -> None:
        self._door.cell = cell
        self._come(cell)
        if self._door.journaled:
            clock.move(at)
            if seed:
                randomness.vary(bytes.fromhex(seed), cell)
            paths.enter(cell)
        self._world.cell_end.begin(self._loop)
        value: Any = None
        _bind_mcp_aliases(code, self._names, self._world.bound)
        try:
            value = cells.run(code, cell, self._names, self._loop)
            report: list[Any] = ["d", cell, "value"]
            packed = self._packed(value)
        except BaseException as error:  # whatever the cell raised, KeyboardInterrupt and SystemExit too, is its outcome
            self._reserve.close()  # the report of an out-of-memory error needs memory
            report = ["d", cell, "error"]
            packed = Packed(cells.error_report(error), [])
        self._world.cell_end.settle(self._loop)
        _flush()
        self._loop.settle()
        drops = self._door.take_drops()
        try:
            self._door.send([*report, drops, packed.tree], packed.blobs)
        except WireError as error:  # a value too large to cross stays here
            self._door.send([*report, drops, {"stays": [type(value).__name__, f"({error})"]}], [])
        if self._reserve.closed:
            self._keep_reserve()

    def _checkpoints(self) -> Any:
        from cellwright_guest import checkpoints  # when it is needed: it needs what the zygote brings along

        return checkpoints.GuestCheckpoints(self._names, self._opening, self._later, self._world, self._loop)

    def _save(self) -> None:
        """Between two cells: send the state as bytes, if it can be pickled, and what is missing."""
        content, missing = self._checkpoints().save()
        self._door.send(["p", missing[:MOST_MISSING]], [] if content is None else [content])

    def _load(self, content: bytes) -> None:
        """Before the first cell."""
        self._door.send(["l", self._checkpoints().load(content)], [])

    def _keep_reserve(self) -> None:
        # Mapped and never touched: it counts against the limit, and takes no memory.
        for size in (RESERVE, RESERVE >> 2):  # less where the last cell filled its memory and holds it
            try:
                self._reserve = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                return
            except OSError:
                continue

    def _packed(self, value: Any) -> Packed:
        try:
            return self._world.pack(value, lending=False)
        except (TypeError, ValueError, RecursionError, ImportError):
            return Packed({"stays": [type(value).__name__, _repr(value)]}, [])


def _bind_mcp_aliases(code: str, names: dict[str, Any], bound: dict[str, Any]) -> None:
    """Bind each `mcp__server__tool` that a cell mentions, the name that MCP clients give `server.tool`."""
    if "mcp__" not in code:
        return
    for match in _MCP_ALIAS.finditer(code):
        server, tool = bound.get(match[1]), match[2]
        if match[0] not in names and server is not None and tool in type(server).__dict__:
            names[match[0]] = getattr(server, tool)


def _repr(value: Any) -> str:
    try:
        return repr(value)[:REPR_LIMIT]
    except Exception as error:  # a value's own repr is the cell's code, and may fail as any code
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the cell put something of its own instead of stdout
            continue
