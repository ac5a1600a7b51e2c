"""Zygotes as the host sees them: started for a plan, shared by all users of an equal plan.

One thread per zygote reads its answers and hands them to the event loop of the child's owner. Does not know what a
child runs or says: it passes descriptors on and reports when a child ended.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cellwright_guest
from cellwright.errors import PlatformError, SandboxDied, UsageError
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.jail import InterpreterPaths, JailPlan, check_layers, render
from cellwright.sandboxes.outer_limits import OuterLimits
from cellwright_guest import cloudpickle_copy

INTERPRETER = "cellwright_guest.interpreter"
SETUP_FAILED = 97  # exit code of a child that could not confine itself; its reason is the last line of its output
_MESSAGE = 1 << 18
_UNANSWERED = 64  # descriptors in flight on a socket are bounded by RLIMIT_NOFILE: three for each of these
_START_S, _END_S = 60.0, 5.0
_KILLED = 9  # the wait status of a process that SIGKILL ended


class Child:
    """One jailed process, from the moment it is requested."""

    def __init__(self, number: int, kill: Callable[[int], None], reveal: Callable[[int], None]) -> None:
        self._number = number
        self._kill = kill
        self._reveal = reveal
        self._loop = asyncio.get_running_loop()
        self._pid: asyncio.Future[int] = self._loop.create_future()
        self.exited: asyncio.Future[int] = self._loop.create_future()  # its wait status; never an exception
        self._revealed: asyncio.Future[str] | None = None
        self.refusal = ""  # why the zygote could not start it

    async def pid(self) -> int:
        """Its process id where the host lives. Raises `SandboxDied` when it could not be started."""
        return await asyncio.shield(self._pid)

    def running(self) -> list[int]:
        """Its process id, from the moment it is known until it has ended. From any thread."""
        known = self._pid.done() and not self._pid.cancelled() and self._pid.exception() is None
        return [self._pid.result()] if known and not self.exited.done() else []

    def kill(self) -> None:
        """SIGKILL, once or many times, before or after it started."""
        if not self.exited.done():
            self._kill(self._number)

    async def reveal(self) -> None:
        """Take its scratch workspace away, so that it sees the live one below. Once, and after it is confined.

        Raises `SandboxDied` where the kernel refused. Returns when that is done, or when the child has ended.
        """
        self._revealed = self._loop.create_future()
        self._reveal(self._number)
        await asyncio.wait((self._revealed, self.exited), return_when=asyncio.FIRST_COMPLETED)
        if self._revealed.done() and self._revealed.result():
            raise SandboxDied(f"a guest cannot be moved to its live workspace: {self._revealed.result()}")

    def tell(self, answer: dict[str, Any]) -> None:
        """From the reader's thread."""
        try:
            self._loop.call_soon_threadsafe(self._hear, answer)
        except RuntimeError:
            return  # its loop is closed: nobody waits

    def _hear(self, answer: dict[str, Any]) -> None:
        if "pid" in answer and not self._pid.done():
            self._pid.set_result(answer["pid"])
        if "revealed" in answer and self._revealed is not None and not self._revealed.done():
            self._revealed.set_result(answer["revealed"])
        if "error" in answer and not self._pid.done():
            self.refusal = answer["error"] if "id" in answer else ""  # without one they are words of this side
            self._pid.set_exception(SandboxDied(answer["error"]))
            self._pid.exception()  # read here, so that asyncio does not warn of an exception that was never retrieved
        if ("exit" in answer or "error" in answer) and not self.exited.done():
            self.exited.set_result(answer.get("exit", _KILLED))


class Zygote:
    """A running zygote. Made by `acquire`; `spawn` from any thread that runs an event loop."""

    def __init__(self, plan: JailPlan) -> None:
        self.plan = plan
        self.alive = True
        self.users = 0
        self._lock = threading.Lock()
        self._children: dict[int, Child] = {}
        self._numbers = 0
        self._waiting: deque[tuple[Child, bytes, list[int]]] = deque()
        self._unanswered = 0
        self._outer = OuterLimits()
        self._control, self._process = _exec(plan)
        try:
            self._greet()
        except BaseException:
            self.end()
            raise
        self._reader = threading.Thread(target=self._read, name=f"zygote-{self.pid}", daemon=True)
        self._reader.start()

    def _greet(self) -> None:
        self._control.settimeout(_START_S)
        hello = self._receive()
        interpreter = InterpreterPaths(path=tuple(hello["path"]), base=hello["base"], executable=hello["executable"])
        with contextlib.suppress(BrokenPipeError):  # it has ended: what it said last is read next
            self._control.send(json.dumps(render(self.plan, interpreter)).encode())
        ready = self._receive()
        self._control.settimeout(None)
        self.pid: int = ready["pid"]
        self.layers = frozenset[str](ready["layers"])
        self.missing = {name: self._outer.explained(why) for name, why in ready["missing"].items()}
        self.closed: str = ready["closed"]  # a directory of modules that guests cannot read, where they have no root
        self.version: str = ready["version"]
        self.modules = frozenset[str](ready["modules"])
        self.warnings: tuple[str, ...] = tuple(ready["warnings"])
        check_layers(self.plan, self.layers, self.missing)

    def _receive(self) -> dict[str, Any]:
        try:
            message = self._control.recv(_MESSAGE)
        except TimeoutError:
            raise SandboxDied(f"the zygote of {self.plan.python} did not answer within {_START_S:g} s") from None
        except ConnectionResetError:  # it ended before it had read the plan
            message = b""
        if not message:
            assert self._process.stderr is not None
            last = self._process.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            words = " ".join(last) or f"it ended without an error message{self._outer.ended_by()}"
            raise SandboxDied(f"the zygote of {self.plan.python} did not start: {words}")
        answer = json.loads(message)
        if "error" in answer:
            raise SandboxDied(self._outer.explained(answer["error"]))
        return answer

    def spawn(
        self,
        *,
        conn: socket.socket,
        output: int,
        workspace: Path,
        limits: Limits,
        scratch: Path | None = None,
        network: socket.socket | None = None,
        entry: str = INTERPRETER,
        **more: Any,
    ) -> Child:
        """Asks for a child and returns at once. Takes over `conn`, `output` and `network`, and closes them when they
        are sent. On `network` comes the listener of a guest whose plan has a network.

        `scratch` covers the workspace until `Child.reveal`. `entry` is a module that the zygote has imported; the child
        calls its `main` with the connection and the request, which holds `more` too.
        """
        if limits.processes and not self.plan.programs:
            raise UsageError(f"Limits(processes={limits.processes}) needs a zygote whose plan has programs=True")
        fds = [conn.detach(), output] + ([network.detach()] if network is not None else [])
        with self._lock:
            self._numbers += 1
            child = Child(self._numbers, self._kill, self._reveal)
            if not self.alive:
                child.tell({"error": "the zygote has ended"})
                _close(fds)
                return child
            self._children[self._numbers] = child
            # Without links: the zygote has another root, where those that start at / lead elsewhere.
            place = os.path.realpath(workspace)
            request = {"id": self._numbers, "entry": entry, "workspace": place, "limits": asdict(limits)}
            if scratch is not None:
                request["scratch"] = os.path.realpath(scratch)
            self._waiting.append((child, json.dumps(request | more).encode(), fds))
            self._push()
        return child

    def _push(self) -> None:
        while self._waiting and self._unanswered < _UNANSWERED:
            child, message, fds = self._waiting.popleft()
            self._unanswered += 1
            try:
                socket.send_fds(self._control, [message], fds)
            except OSError as error:
                self._unanswered -= 1
                child.tell({"error": f"cannot ask the zygote for a guest: {error.strerror}"})
            _close(fds)

    def _kill(self, number: int) -> None:
        with self._lock:
            child = self._children.get(number)
            if not self.alive or child is None:
                return
            queued = next((request for request in self._waiting if request[0] is child), None)
            if queued is not None:
                self._waiting.remove(queued)
                del self._children[number]
                _close(queued[2])
                child.tell({"error": "killed before it was started"})
                return
            try:
                self._control.send(json.dumps({"kill": number}).encode())
            except OSError:
                return  # it died, and its children with it

    def _reveal(self, number: int) -> None:
        with self._lock:
            if self.alive and number in self._children:
                with contextlib.suppress(OSError):  # it died, and its children with it
                    self._control.send(json.dumps({"reveal": number}).encode())

    def _read(self) -> None:
        while True:
            try:
                message = self._control.recv(_MESSAGE)
            except OSError:
                message = b""
            if not message:
                break
            answer = json.loads(message)
            with self._lock:
                gone = "exit" in answer or "error" in answer
                child = self._children.pop(answer["id"], None) if gone else self._children.get(answer["id"])
                if "pid" in answer or "error" in answer:
                    self._unanswered -= 1
                    self._push()
            if child is not None:
                child.tell(answer)
        self._bury()

    def _bury(self) -> None:
        with self._lock:
            self.alive = False
            children, self._children = list(self._children.values()), {}
            for _, _, fds in self._waiting:
                _close(fds)
            self._waiting.clear()
            self._close_lines()
        self._process.wait()  # it takes its children along, so from here on they are gone
        for child in children:
            child.tell({"error": "the zygote has ended"})

    def end(self) -> None:
        """Closes the socket, which ends it and its children, and waits until they are gone."""
        with self._lock:
            self.alive = False
        try:
            self._control.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close_lines()

    def _close_lines(self) -> None:
        self._control.close()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def forget(self) -> None:
        """In a forked child of the host: closes the parent's socket."""
        self.alive = False
        self._control.close()


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _exec(plan: JailPlan) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = os.path.join(os.path.dirname(cellwright_guest.__file__), "zygote.py")
    # Not -I, which would ignore PYTHONHASHSEED too: -s and -P with an environment that holds nothing else do the same.
    environ = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            [plan.python, "-s", "-P", "-S", "-B", script, str(theirs.fileno()), cloudpickle_copy.file()],
            env=environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise SandboxDied(OuterLimits().explained(f"cannot run {plan.python}: {error}")) from None
    except ModuleNotFoundError as error:
        ours.close()
        raise PlatformError(str(error)) from None
    finally:
        theirs.close()
    return ours, process


KEPT = 2
_zygotes: dict[JailPlan, Future[Zygote]] = {}
_idle: list[Zygote] = []
_registry = threading.Lock()


async def acquire(plan: JailPlan) -> Zygote:
    """The zygote of this plan, started if there is none alive. Give it back with `release`."""
    while True:
        with _registry:
            future = _zygotes.get(plan)
            if future is None or (future.done() and not _usable(future)):
                future = _zygotes[plan] = _start(plan)
        zygote = await asyncio.shield(asyncio.wrap_future(future))
        with _registry:
            if zygote.alive and _zygotes.get(plan) is future:
                zygote.users += 1
                if zygote in _idle:
                    _idle.remove(zygote)
                return zygote


def _usable(future: Future[Zygote]) -> bool:
    return future.exception() is None and future.result().alive


def _start(plan: JailPlan) -> Future[Zygote]:
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="zygote-start")
    future = thread.submit(Zygote, plan)
    thread.shutdown(wait=False)
    return future


async def release(zygote: Zygote) -> None:
    """Gives a zygote back. The last two unused ones stay warm for the next user; others are ended."""
    with _registry:
        zygote.users -= 1
        _idle[:] = [idle for idle in _idle if idle.alive]
        if zygote.users == 0 and zygote.alive:
            _idle.append(zygote)
        surplus = [_take_idle(0) for _ in range(len(_idle) - KEPT)]
    for old in surplus:
        await asyncio.shield(asyncio.to_thread(old.end))


async def end_idle() -> None:
    """Ends the zygotes that nobody uses, and waits until they are gone."""
    await asyncio.shield(asyncio.to_thread(_end_idle))


def _end_idle() -> None:
    with _registry:
        idle = [_take_idle(0) for _ in range(len(_idle))]
    for zygote in idle:
        zygote.end()


def _take_idle(index: int) -> Zygote:
    """Out of the registry too, so that nobody acquires it while it ends. Under the lock."""
    zygote = _idle.pop(index)
    future = _zygotes.get(zygote.plan)
    if future is not None and future.done() and _usable(future) and future.result() is zygote:
        del _zygotes[zygote.plan]
    return zygote


def _forget_all() -> None:
    global _registry
    _registry = threading.Lock()
    for future in _zygotes.values():
        if future.done() and future.exception() is None:
            future.result().forget()
    _zygotes.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_forget_all)
atexit.register(_end_idle)
