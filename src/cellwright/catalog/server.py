"""A warm `ty server`: one process for all type checkers of this one that see the same packages.

It speaks the language server protocol on its standard streams and sees a private directory and the guest's packages,
nothing else: an environment of three variables, no home, no interpreter to ask. It outlives its last user by half a
minute, for the next one, and ends with this process, because its standard input does. It does not know what is checked.
"""

from __future__ import annotations

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
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from cellwright.errors import PlatformError, UsageError
from cellwright.settings import install_command

MEMORY = 2 << 30  # a cell can be written so that its types grow without end
LINGER_S = 30.0  # for the next user: one session often follows the other
PREFIX = "cellwright-check-"


class Server:
    """One process. Any thread may ask; answers come as futures, which fail with PlatformError when it dies."""

    def __init__(self, site: Sequence[Path]) -> None:
        program = find_ty()
        _sweep()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._held = _hold(self.root)
        self.users = 0
        self.idle: threading.Timer | None = None
        self._answers: dict[int, Future[Any]] = {}
        self._asked = 0
        self._lock = threading.Lock()
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
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
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
        """An environment without packages for ty to find, so that it looks for no other."""
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
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "cells"}],
                "capabilities": {"general": {"positionEncodings": ["utf-8"]}, "textDocument": document},
            },
        )
        self.tell("initialized", {})

    def ask(self, method: str, params: dict[str, Any]) -> Future[Any]:
        """Ask, and have the answer when it comes."""
        answer: Future[Any] = Future()
        with self._lock:
            self._asked += 1
            number = self._asked
            self._answers[number] = answer
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if not self.alive:
            self._fail()
        return answer

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Say something that has no answer."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, name: str, text: str) -> None:
        """Put a file into the private directory, and say so."""
        self.write_all({name: text})

    def write_all(self, files: Mapping[str, str]) -> None:
        """Put several there at once."""
        made: list[Path] = []
        for name, text in files.items():
            path = self.root / name
            if not path.parent.is_dir():  # ty knows the directories that it has looked into
                path.parent.mkdir()
                made.append(path.parent)
            path.write_text(text, encoding="utf-8", errors="replace")
            made.append(path)
        if made:
            changes = [{"uri": each.as_uri(), "type": 1} for each in made]
            self.tell("workspace/didChangeWatchedFiles", {"changes": changes})

    def remove(self, name: str) -> None:
        """Take a directory of files away again."""
        path = self.root / name
        shutil.rmtree(path, ignore_errors=True)
        self.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 3}]})

    def close(self) -> None:
        """End it at once: it keeps nothing that matters."""
        if self.idle is not None:
            self.idle.cancel()
        self._ty.kill()
        self._ty.wait()
        self._out.put(None)
        shutil.rmtree(self.root, ignore_errors=True)
        self._held.close()

    def _send(self, message: dict[str, Any]) -> None:
        """At once, in a thread of its own: a process that is lost in a cell reads nothing, and nobody waits for it."""
        self._out.put(message)

    def _write(self) -> None:
        stream = self._ty.stdin
        while stream is not None and (message := self._out.get()) is not None:
            body = json.dumps(message).encode()
            try:
                stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                stream.flush()
            except OSError:
                self._fail()
                return

    def _read(self) -> None:
        stream = self._ty.stdout
        while stream is not None:
            size = 0
            while (line := stream.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.partition(b":")[2])
            if not line:
                break
            message = json.loads(stream.read(size) or b"{}")
            if "method" not in message:
                with self._lock:
                    answer = self._answers.pop(message.get("id"), None)
                if answer is not None and answer.set_running_or_notify_cancel():
                    answer.set_result(message.get("result"))
            elif "id" in message:  # it asks for something of the editor that we are not
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
        self._fail()

    def _fail(self) -> None:
        with self._lock:
            answers = list(self._answers.values())
            self._answers.clear()
        for answer in answers:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(PlatformError("the type checker's process ended; ask again, it starts anew"))


def _hold(root: Path) -> IO[bytes]:
    """Lock a directory for as long as this process lives. The lock has its name only when it is held."""
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


_SERVERS: dict[tuple[Path, ...], Server] = {}
_SHARED = threading.Lock()


def borrow(site: Sequence[Path]) -> Server:
    """The server that sees these packages; started where there is none. Give it back."""
    key = tuple(site)
    with _SHARED:
        server = _SERVERS.get(key)
        if server is None or not server.alive:
            if not _SERVERS:
                atexit.register(_end)
            server = _SERVERS[key] = Server(key)
        server.users += 1
        if server.idle is not None:
            server.idle.cancel()
            server.idle = None
        return server


def give_back(server: Server) -> None:
    """Use it no longer. Without a user it ends after a while, and at once where it is of no use."""
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


def _end_idle(server: Server) -> None:
    with _SHARED:
        if server.users > 0:
            return
    _let_go(server)


def _let_go(server: Server) -> None:
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
