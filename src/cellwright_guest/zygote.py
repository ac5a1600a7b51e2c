"""The zygote: imports what guests need, then forks a jailed child for each request on its one socket.

Started by `cellwright.sandboxes.zygotes` as a script, with the descriptor of that socket and the file of cloudpickle.
It obeys the plan it is sent first, sees no scope and no byte of a session, and ends with all its children when the
socket closes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

_self = sys.modules[__name__]
_HOME = os.path.dirname(os.path.abspath(__file__))
_PLAN = 1 << 18
_THREAD_STACK = 2 << 20  # counted whole against RLIMIT_DATA: 64 threads at glibc's 8 MB would be 512 MB
_IDLE_MS = 1

# The package is on the path only while it is imported: it is neither on the guest's path nor in the guest's root.
sys.path.insert(0, os.path.dirname(_HOME))
from cellwright_guest import forkhooks  # noqa: E402

forkhooks.watch()
from cellwright_guest import cloudpickle_copy, forks, interpreter, kernel, mounts, namespaces, refusals, workspace_name  # noqa: E402
from cellwright_guest.confinement import Confinement  # noqa: E402
from cellwright_guest.forks import Forks  # noqa: E402

if __name__ == "__main__":
    cloudpickle_copy.load(sys.argv[2])
for _name in sorted(os.listdir(_HOME)):
    if _name.endswith(".py") and _name not in ("__init__.py", "zygote.py"):
        importlib.import_module(f"cellwright_guest.{_name[:-3]}")
del sys.path[0]


def _preload(names: list[str]) -> list[str]:
    """Imports, and never uses: a library's threads and locks would not survive the fork. Gives what failed."""
    warnings: list[str] = []
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a package raises while it is imported is reported, not fatal
            warnings.append(f"cannot import {name}: {type(error).__name__}: {error}")
    return warnings


def _importable(names: list[str]) -> list[str]:
    return [name for name in names if name in sys.modules or importlib.util.find_spec(name) is not None]


def _note(number: int, frame: object) -> None:
    """A handler must be there for the wake-up descriptor to be written to."""


class ZygoteServer:
    """One loop over the socket and the deaths of children. It never waits for a child."""

    def __init__(self, control: socket.socket, forks: Forks, reveal: Callable[[int], None]) -> None:
        self._control = control
        self._forks = forks
        self._reveal = reveal
        self._mounts: dict[int, int] = {}  # request id → mount namespace or -1, of children with a scratch workspace
        self._refill = True
        self._pids: dict[int, int] = {}  # request id → pid
        self._ids: dict[int, int] = {}

    def serve(self) -> None:
        """Until the host closes its end."""
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, _note)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll(_IDLE_MS if self._refill else None)]
            if not ready:
                self._fork_ahead()
            if woken in ready:
                os.read(woken, 4096)
                self._bury()
            if self._control.fileno() in ready and not self._answer():
                return self._end()

    def _end(self) -> None:
        """Bury all children: without a pid namespace they would be left, dead, to a process that does not know them."""
        spare = [self._forks.spare.pid] if self._forks.spare is not None else []
        for pid in (*self._ids, *spare):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _fork_ahead(self) -> None:
        self._refill = False
        with contextlib.suppress(OSError):  # the next request tries again, and its sender is told
            self._forks.refill()

    def _bury(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._ids.pop(pid, None)
            if number is None:
                self._forks.bury_spare(pid)
            else:
                del self._pids[number]
                if (mounts := self._mounts.pop(number, -1)) >= 0:
                    os.close(mounts)
                self._send(id=number, exit=status)

    def _answer(self) -> bool:
        """One request. False when the host has closed its end."""
        message, fds, _, _ = socket.recv_fds(self._control, forks.REQUEST, 3)
        if not message:
            return False
        request = json.loads(message)
        if "kill" in request:
            pid = self._pids.get(request["kill"])
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            return True
        if "reveal" in request:
            self._uncover(request["reveal"])
            return True
        number = request["id"]
        try:
            fork = self._forks.take()
            self._pids[number], self._ids[fork.pid] = fork.pid, number
            if "scratch" in request:
                self._mounts[number] = fork.mounts
            elif fork.mounts >= 0:
                os.close(fork.mounts)
            fork.start(message, fds)
        except OSError as error:
            self._send(id=number, error=f"cannot start a guest: {error}")
        else:
            self._send(id=number, pid=fork.host_pid)
        for fd in fds:
            os.close(fd)
        self._refill = True
        return True

    def _uncover(self, number: int) -> None:
        """Take the scratch of a child away, once. Its mount namespace was opened at its fork, never by its pid."""
        mounts, refused = self._mounts.pop(number, None), ""
        if mounts is None:
            refused = "it has no scratch workspace"
        elif mounts >= 0:  # without the mount layer the guest changes places itself
            try:
                self._reveal(mounts)
            except OSError as error:
                refused = str(error)
            os.close(mounts)
        self._send(id=number, revealed=refused)

    def _send(self, **message: Any) -> None:
        self._control.send(json.dumps(message).encode())


def _prepare(plan: dict[str, Any], control: socket.socket) -> ZygoteServer:
    """Namespaces, root, rehearsal, packages; then tells the host its outcome."""
    layers, owner = (
        namespaces.Layers(plan["layers"]),
        namespaces.ZygoteOwner(plan["uid"], network=bool(plan["network"])),
    )
    namespaces.enter(layers, owner)
    root, tmp = plan["root"], plan["tmp"].encode()
    layers.attempt_whole("mount", lambda: mounts.rehearse(root, _HOME, tmp), lambda: mounts.build(root, _HOME))
    host = mounts.HOST if "mount" in layers.got else ""
    os.environ.clear()
    os.environ.update(plan["environ"])
    if not host:
        workspace_name.install_bare()
        refusals.look_before_pretending()
        os.environ["HOME"] = os.environ["TMPDIR"] = workspace_name.BARE
    confinement = Confinement(plan, layers, owner, host + "/proc")
    site = plan["site"]["rooted" if host else "bare"]
    closed = confinement.rehearse(
        plan["limits"], dict(zip((*sys.path, *site), (*sys.path, *plan["site"]["bare"]), strict=True))
    )
    if closed and host:
        raise OSError(f"guests, which have another uid, may not read {closed}; run `chmod -R o+rX {closed}`")
    kernel.default_thread_stack(_THREAD_STACK)
    with contextlib.suppress(OSError), open(f"{host}/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when memory runs out, guests go before the host; no layer depends on it
    sys.path.extend(site)
    interpreter.watch_inputs()
    warnings = _preload(plan["stdlib"]) + _preload(plan["preload"])
    interpreter.prepare()
    answer = {
        "pid": int(os.readlink(f"{host}/proc/self")),
        "layers": sorted(layers.got),
        "missing": layers.missing,
        "closed": closed,  # without a root of its own a guest passes the directories above, too
        "version": ".".join(map(str, sys.version_info[:3])),
        "modules": _importable(plan["ask"]),
        "warnings": warnings,
    }
    control.send(json.dumps(answer).encode())
    forkhooks.unwatch()
    sys.modules["cellwright_guest.zygote"] = _self  # a guest puts its own instead of __main__
    gc.collect()
    gc.freeze()
    confinement.measure()
    return ZygoteServer(control, Forks(confinement, control, host, "pid" in layers.got), confinement.reveal)


def _main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    os.environ.pop("PYTHONHASHSEED")
    hello = {"path": sys.path, "base": sys.base_prefix, "executable": sys.executable}
    control.send(json.dumps(hello).encode())
    plan = control.recv(_PLAN)
    if not plan:
        return
    try:
        zygote = _prepare(json.loads(plan), control)
    except OSError as error:
        control.send(json.dumps({"error": f"the zygote cannot set itself up: {error}"}).encode())
        return
    os.dup2(0, 2)  # errors of the start went to the host; from here on there is nobody to read them
    zygote.serve()


if __name__ == "__main__":
    _main()
