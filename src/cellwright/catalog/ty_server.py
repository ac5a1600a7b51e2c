"""A warm `ty server`: one child process for all type checkers of this process that see the same packages.

It speaks the language server protocol on its standard streams and sees a private directory and the guest's packages,
nothing else: an environment of three variables, no home, no interpreter. It outlives its last user by half a minute,
for the next one, and ends with this process, which closes its standard input. It does not know what is checked.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import importlib.util
import json
import os
import queue
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from cellwright.catalog.clean_cells import CleanCells
from cellwright.errors import PlatformError, UsageError
from cellwright.settings import install_command

MEMORY = 2 << 30  # a cell can make types grow without end
LINGER_S = 30.0  # for the next user: one session often follows the other
PREFIX = "cellwright-check-"
WAIT_S = 30.0  # for a turn
TRIES = 10  # of a request that the server gives up because a file changed under it
_CHANGED = (-32801, -32802)  # ContentModified, ServerCancelled: the same request may be made again


class CheckerError(PlatformError):
    """The server answered a request with an error. The server is alive."""


class _Changed(CheckerError):
    """The server gave a request up, because a file changed under it."""


class TyServer:
    """One process. Any thread may ask. A request fails with PlatformError when the process dies.

    A message that changes a file makes the server give up every request under way. So whoever changes files and asks
    about them takes a `turn`: one user at a time, in the order in which they came.
    """

    def __init__(self, site: Sequence[Path]) -> None:
        program = find_ty()
        _sweep()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._directory = _hold(self.root)
        self.clean = CleanCells()
        self.users = 0
        self.idle: threading.Timer | None = None
        self._replies: dict[int, Future[Any]] = {}
        self._requests = 0
        self._lock = threading.Lock()
        self._packages = 0
        self._free: list[str] = []
        self._held = False
        self._turns = 0  # that were taken
        self._waiting: deque[Future[None]] = deque()
        self._out: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._settle(site)
        kept = {"HOME": str(self.root), "XDG_CACHE_HOME": str(self.root / "cache"), "TY_MAX_PARALLELISM": "1"}
        self._ty = subprocess.Popen(
            [program, "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.root,
            env=kept,
            start_new_session=True,  # a Ctrl-C in the terminal does not reach it
        )
        if hasattr(resource, "prlimit"):
            resource.prlimit(self._ty.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        for work in (self._read, self._write):
            threading.Thread(target=work, name="cellwright-ty", daemon=True).start()
        self._begin()

    @property
    def alive(self) -> bool:
        return self._ty.poll() is None

    @property
    def pid(self) -> int:
        return self._ty.pid

    def _settle(self, site: Sequence[Path]) -> None:
        """Make an environment without packages for ty to find, so that it looks for no other."""
        library = self.root / "env" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        library.mkdir(parents=True)
        (self.root / "env" / "pyvenv.cfg").write_text(f"home = {self.root}\n", encoding="utf-8")
        settings = {
            "python": "env",
            "python-version": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "extra-paths": [str(path) for path in site],
        }
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        (self.root / "ty.toml").write_text(f"[environment]\n{lines}", encoding="utf-8")

    def _begin(self) -> None:
        root = self.root.as_uri()
        related = {"relatedInformation": True}
        document = {
            "diagnostic": related,
            "publishDiagnostics": related,
            "hover": {"contentFormat": ["plaintext"]},
        }
        self._request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "cells"}],
                "capabilities": {"general": {"positionEncodings": ["utf-8"]}, "textDocument": document},
            },
        )
        self.tell("initialized", {})

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait until no other user has its turn; `CheckerError` after half a minute. Any event loop may ask."""
        ticket: Future[None] = Future()
        with self._lock:
            before = self._turns
            if self._held:
                self._waiting.append(ticket)
            else:
                self._held = True
                self._turns += 1
                ticket.set_result(None)
        try:
            async with asyncio.timeout(WAIT_S):
                await asyncio.wrap_future(ticket)
        except BaseException as error:
            if not ticket.cancel():  # it came while this user gave up
                self._next()
            if isinstance(error, TimeoutError) and self._turns == before:
                raise PlatformError(
                    "a session has had the type checker's process for itself, and does not end"
                ) from None
            if isinstance(error, TimeoutError):
                raise CheckerError(f"the cells of other sessions took the type checker {WAIT_S:g} s") from None
            raise
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        with self._lock:
            while self._waiting:
                ticket = self._waiting.popleft()
                if ticket.set_running_or_notify_cancel():
                    self._turns += 1
                    ticket.set_result(None)
                    return
            self._held = False

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The reply to a request. `CheckerError` where the server answers with an error."""
        for _ in range(TRIES - 1):
            try:
                return await asyncio.wrap_future(self._request(method, params))
            except _Changed:
                continue
        return await asyncio.wrap_future(self._request(method, params))

    def _request(self, method: str, params: dict[str, Any]) -> Future[Any]:
        reply: Future[Any] = Future()
        with self._lock:
            self._requests += 1
            number = self._requests
            self._replies[number] = reply
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if not self.alive:
            self._fail()
        return reply

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification, which has no reply."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, files: Mapping[str, str]) -> None:
        """Put files into the private directory, and notify the server."""
        written: list[Path] = []
        for name, text in files.items():
            path = self.root / name
            if not path.parent.is_dir():  # ty knows the directories that it has looked into
                path.parent.mkdir()
                written.append(path.parent)
            path.write_text(text, encoding="utf-8", errors="replace")
            written.append(path)
        if written:
            changes = [{"uri": each.as_uri(), "type": 1} for each in written]
            self.tell("workspace/didChangeWatchedFiles", {"changes": changes})

    def package(self) -> str:
        """A directory for one user's files. Names are used again: the server never forgets a path."""
        with self._lock:
            if not self._free:
                self._packages += 1
                self._free.append(f"_tw{self._packages}")
            return self._free.pop()

    def remove(self, package: str) -> None:
        """Remove a user's files; the next user may have the package."""
        if not package:  # it never had files
            return
        path = self.root / package
        gone = [*path.rglob("*"), path]
        shutil.rmtree(path, ignore_errors=True)
        self.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": each.as_uri(), "type": 3} for each in gone]})
        with self._lock:
            self._free.append(package)

    def close(self) -> None:
        """End the process at once: it keeps nothing that matters."""
        if self.idle is not None:
            self.idle.cancel()
        self._ty.kill()
        self._ty.wait()
        self._out.put(None)
        shutil.rmtree(self.root, ignore_errors=True)
        self._directory.close()

    def _send(self, message: dict[str, Any]) -> None:
        """Queue a message for the writing thread: a process that is busy with a cell does not read."""
        self._out.put(message)

    def _write(self) -> None:
        stream = self._ty.stdin
        while stream is not None and (message := self._out.get()) is not None:
            body = json.dumps(message).encode()
            try:
                stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                if self._out.empty():
                    stream.flush()
            except OSError:
                self._fail()
                return

    def _read(self) -> None:
        stream = self._ty.stdout
        try:
            while stream is not None:
                size = 0
                while (line := stream.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.partition(b":")[2])
                if not line:
                    break
                self._take(json.loads(stream.read(size) or b"{}"))
        except ValueError:  # what it writes is no message: it cannot be understood any more
            self._ty.kill()
        finally:
            self._fail()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            if "id" in message:  # a request to an editor, which we are not
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            return
        with self._lock:
            reply = self._replies.pop(message.get("id", 0), None)
        if reply is None or not reply.set_running_or_notify_cancel():
            return
        error: dict[str, Any] | None = message.get("error")
        if error is None:
            reply.set_result(message.get("result"))
        else:
            kind = _Changed if error.get("code") in _CHANGED else CheckerError
            reply.set_exception(kind(f"the type checker answered with an error: {str(error.get('message'))[:200]}"))

    def _fail(self) -> None:
        with self._lock:
            replies = list(self._replies.values())
            self._replies.clear()
        for reply in replies:
            if reply.set_running_or_notify_cancel():
                reply.set_exception(PlatformError("the type checker's process ended; ask again, it starts anew"))


def _hold(root: Path) -> IO[bytes]:
    """Lock a directory for as long as this process lives. The file has its name only after it is locked."""
    held = (root / "locking").open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    os.rename(root / "locking", root / "lock")
    return held


def _sweep() -> None:
    """Remove the directories of processes that were killed."""
    for root in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if root.lstat().st_uid != os.geteuid():
                continue
            with (root / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(root)
        except OSError:  # in use, or gone already
            continue


def find_ty() -> str:
    """The program, found when it is first needed."""
    if importlib.util.find_spec("ty") is None:
        raise UsageError(_missing())
    from ty import find_ty_bin

    try:
        return find_ty_bin()
    except FileNotFoundError:
        raise UsageError(_missing()) from None


_SERVERS: dict[tuple[Path, ...], TyServer] = {}
_SHARED = threading.Lock()


def borrow(site: Sequence[Path]) -> TyServer:
    """The server that sees these packages, started if there is none. Give it back."""
    key = tuple(site)
    with _SHARED:
        server = _SERVERS.get(key)
        if server is None or not server.alive:
            if not _SERVERS:
                atexit.register(_end)
            server = _SERVERS[key] = TyServer(key)
        server.users += 1
        if server.idle is not None:
            server.idle.cancel()
            server.idle = None
        return server


def give_back(server: TyServer) -> None:
    """Use the server no longer. Without a user it ends after a while, or at once if it is dead or was replaced."""
    with _SHARED:
        server.users -= 1
        if server.users > 0:
            return
        if server.alive and server in _SERVERS.values():
            server.idle = threading.Timer(LINGER_S, _end_idle, [server])
            server.idle.daemon = True
            server.idle.start()
            return
    _let_go(server)


def _end_idle(server: TyServer) -> None:
    with _SHARED:
        if server.users > 0:
            return
    _let_go(server)


def _let_go(server: TyServer) -> None:
    with _SHARED:
        for key in [key for key, kept in _SERVERS.items() if kept is server]:
            del _SERVERS[key]
    server.close()


def _end() -> None:
    with _SHARED:
        servers = list(_SERVERS.values())
        _SERVERS.clear()
    for server in servers:
        server.close()


def _missing() -> str:
    return f"checking types needs ty, which is not installed: {install_command('check')}"
