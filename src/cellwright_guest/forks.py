"""Children of the zygote, forked ahead: one always waits for the next request, prepared as far as possible without it.

Each is the first process of a pid namespace of its own and a direct child of the zygote. Knows nothing of the host's
socket: `zygote` brings requests and takes the pids.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
from typing import Any

from cellwright_guest import forkhooks, interpreter, kernel
from cellwright_guest.confinement import Confinement

SETUP_FAILED = 97
REQUEST = 1 << 16
_SIGCHLD = 17
_SIG_DFL = 0


class ForkedChild:
    """A child that waits for its request."""

    def __init__(self, pid: int, line: socket.socket, host_pid: int, mounts: int) -> None:
        self.pid = pid
        self.host_pid = host_pid
        self.mounts = mounts  # its mount namespace, open; the taker keeps or closes it; -1 for none
        self._line = line

    def start(self, request: bytes, fds: list[int]) -> None:
        """Hands the request over; nothing more is heard of it but its death. Raises OSError when it is dead already."""
        with self._line:
            socket.send_fds(self._line, [request], fds)


class Forks:
    """Makes children. `spare` is the child that waits."""

    def __init__(self, confinement: Confinement, control: socket.socket, host: str, apart: bool) -> None:
        self.spare: ForkedChild | None = None
        self._confinement = confinement
        self._control = control
        self._host = host
        self._apart = apart
        self._own = os.open(f"{host}/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC) if apart else -1
        # signal.signal goes through enums: 60 pages touched in each child; the C function below it does not
        self._set_handler = importlib.import_module("_signal").signal
        self._set_wakeup_fd = importlib.import_module("_signal").set_wakeup_fd

    def take(self) -> ForkedChild:
        """The spare, or a new child. Raises OSError when the machine gives no more processes."""
        fork, self.spare = self.spare or self._fork(), None
        return fork

    def bury_spare(self, pid: int) -> None:
        """A child that was not taken has ended."""
        if self.spare is None or self.spare.pid != pid:
            return
        if self.spare.mounts >= 0:
            os.close(self.spare.mounts)
        self.spare = None

    def refill(self) -> None:
        if self.spare is None:
            self.spare = self._fork()

    def _fork(self) -> ForkedChild:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mounts = -1
        with theirs:
            if self._apart:
                kernel.unshare(kernel.CLONE_NEWPID)
            try:
                self._confinement.ahead()
                mounts = self._confinement.open_mounts()
                pid = forkhooks.fork()
                if pid == 0:
                    os.close(ours.detach())  # else it would keep its own line open, and wait on it for ever
                    self._child(theirs)
            except OSError:
                if mounts >= 0:
                    os.close(mounts)
                raise
            finally:
                self._confinement.back()
                if self._apart:  # so that the next unshare starts from here
                    kernel.setns(self._own, kernel.CLONE_NEWPID)
        return ForkedChild(pid, ours, self._host_pid(pid), mounts)

    def _host_pid(self, pid: int) -> int:
        """The child's number where the host lives; in a pid namespace of its own the zygote has another for it."""
        if not self._apart:
            return pid
        fd = kernel.pidfd_open(pid)
        try:
            with open(f"{self._host}/proc/self/fdinfo/{fd}", "rb") as lines:
                return int(lines.read().split(b"\nPid:")[1].split()[0])
        finally:
            os.close(fd)

    def _child(self, line: socket.socket) -> None:
        confined = False
        try:
            os.close(self._control.fileno())
            self._set_wakeup_fd(-1)
            self._set_handler(_SIGCHLD, _SIG_DFL)
            os.setsid()
            self._confinement.begin()
            interpreter.rehearse()
            message, fds, _, _ = socket.recv_fds(line, REQUEST, 3)
            if not message:
                os._exit(0)
            os.dup2(fds[1], 1)
            os.dup2(fds[1], 2)
            os.dup2(fds[0], 3, inheritable=False)
            request = json.loads(message)
            scratch = self._host + request["scratch"] if "scratch" in request else ""
            listener_line, certificate = fds[2] if len(fds) > 2 else -1, request.get("certificate", "")
            self._confinement.apply(
                self._host + request["workspace"], request["limits"], scratch, listener_line, certificate
            )
            confined = True
            _run(request)
        finally:  # no way back from here but out: the parent's code must not run twice
            if not confined:
                os.write(1, f"setup: {sys.exc_info()[1]}\n".encode())
            os._exit(SETUP_FAILED)


def _run(request: dict[str, Any]) -> None:
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 3)
    code = 1
    try:
        sys.modules[request["entry"]].main(conn, request)
        code = 0
    finally:
        error = sys.exc_info()[1]
        if error is not None:  # the last words of a broken guest go to its output
            sys.excepthook(type(error), error, error.__traceback__)
        os._exit(code)
