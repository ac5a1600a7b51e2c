"""A host for one guest, without a jail: it runs cells, answers calls in some order, and can do so again in that order.

The guest is a process of its own, because it changes `time`, `random` and asyncio. The first play is live: answers
come in an order drawn from `order`. A second play delivers what the first delivered, in the same order, at another
pace. What the guest said in both must be the same, word for word.
"""

from __future__ import annotations

import random
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellwright_guest.framing import FrameReader, frame, parse
from cellwright_guest.wire import Bounds

SRC = Path(__file__).resolve().parent.parent.parent / "src"
START = 1_700_000_000.0
BOUND_S = 60
SEED = "07" * 32
BOOT = """
import sys
sys.path.insert(0, sys.argv[2])
import socket
from cellwright_guest import interpreter
interpreter.watch_inputs()
sys.path[0:1] = sys.argv[3:]
import concurrent.futures.thread, logging, random, secrets, tempfile, uuid
for name in sys.argv[3:] and ["numpy.random", "pandas"]:
    __import__(name)
interpreter.prepare()
interpreter.main(socket.socket(fileno=int(sys.argv[1])), {"limits": {"processes": 1}})
"""


Steps = Generator[Any, Any, Any]


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One message to the guest. `path` is that of the call it answers, or in which it calls back; "" for a cell."""

    kind: str
    path: str
    body: Any
    at: float
    served: str = ""  # the path of what a callback does
    back: tuple[tuple[int, int], ...] = ()


@dataclass
class Played:
    """What the guest said, without what may differ: numbers of calls, and handles that it let go of."""

    said: list[Any] = field(default_factory=list[Any])
    delivered: list[Delivery] = field(default_factory=list[Delivery])
    printed: str = ""

    @property
    def calls(self) -> list[Any]:
        """Path, verb and arguments of each call."""
        return [[one[6], one[2], one[5]["t"]] for one in self.said if one[0] == "c"]

    @property
    def values(self) -> list[Any]:
        """What each cell came to, as its tree."""
        return [one[3] for one in self.said if one[0] == "d"]


@dataclass
class Job:
    """A call under way on the host: what it delivers next, and when."""

    path: str
    steps: Steps
    due: float
    body: Any = None
    invoked: int = 0


def play(
    *cells: str,
    order: int = 0,
    again: Played | None = None,
    burst: bool = False,
    pause_s: float = 0.0,
    journaled: bool = True,
    seed: str = SEED,
    refuse: float = 0.0,
    python: str = sys.executable,
    site: str = "",
) -> Played:
    """Run the cells, live or `again`. `burst` sends several messages at once; `pause_s` goes before each.

    A wait of `refuse` seconds is refused.
    """
    ours, theirs = socket.socketpair()
    argv = [python, "-s", "-P", "-S", "-B", "-c", BOOT, str(theirs.fileno()), str(SRC), *filter(None, [site])]
    with tempfile.TemporaryFile() as output, ours:
        guest = subprocess.Popen(
            argv, pass_fds=[theirs.fileno()], env={"PYTHONHASHSEED": "0"}, stdout=output, stderr=subprocess.STDOUT
        )
        theirs.close()
        try:
            host = _Host(ours, list(cells), random.Random(order), seed if journaled else None, refuse)
            host.live(burst) if again is None else host.replay(again.delivered, burst, pause_s)
            ours.close()
            guest.wait(BOUND_S)
        finally:
            guest.kill()
            guest.wait()
            output.seek(0)
            printed = output.read().decode()
            print(printed)  # of a test that fails
        host.played.printed = printed
        return host.played


def same(*cells: str, order: int = 0, burst: bool = False, python: str = sys.executable, site: str = "") -> Played:
    """Play once live, then again fast, in bursts and slowly: the guest says the same."""
    first = play(*cells, order=order, burst=burst, python=python, site=site)
    for again_burst, pause_s in ((False, 0.0), (True, 0.0), (False, 0.002)):
        second = play(*cells, again=first, burst=again_burst, pause_s=pause_s, python=python, site=site)
        for one, other in zip(first.said, second.said, strict=False):
            assert one == other
        assert len(first.said) == len(second.said)
        assert first.printed == second.printed
    return first


class _Host:
    def __init__(
        self, conn: socket.socket, cells: list[str], chance: random.Random, seed: str | None, refuse: float
    ) -> None:
        self.played = Played()
        self._conn = conn
        self._cells = cells
        self._chance = chance
        self._journaled = seed is not None
        self._refuse = refuse
        self._reader = FrameReader(Bounds())
        self._jobs: dict[int, Job] = {}
        self._numbers: dict[str, int] = {}  # path of a call → its number
        self._paths: dict[int, str] = {}
        self._served: dict[int, Job] = {}
        self._at = START
        self._cell = 0
        self._idle = True
        self._invokes = 0
        self._over = time.monotonic() + BOUND_S
        names = {name: {"f": [number, _about(name)]} for number, name in _NAMES.items()}
        self._send([["b", {"m": names}, None if seed is None else {"seed": seed, "at": START}]])

    def live(self, burst: bool) -> None:
        while True:
            if self._idle:
                if self._cell == len(self._cells):
                    return
                self._deliver([Delivery(kind="x", path="", body=self._cells[self._cell], at=self._at + 1)])
            if self._hear(0.0 if burst and self._chance.random() < 0.5 else 0.01):
                continue
            ready = sorted((job for job in self._jobs.values() if job.body), key=lambda job: (job.due, job.path))
            if not ready and not self._idle:
                self._hear(1.0)
            batch = ready[: self._chance.randint(1, 3) if burst else 1]
            self._deliver([self._next_of(job) for job in batch])

    def _next_of(self, job: Job) -> Delivery:
        kind, body = job.body
        at = max(job.due, self._at)
        if kind == "i":
            job.invoked += 1
            return Delivery(kind="i", path=job.path, body=body, at=at, served=f"{job.path}/{job.invoked}")
        return Delivery(kind="a", path=job.path, body=body, at=at, back=tuple(_back_of(body)))

    def replay(self, recorded: list[Delivery], burst: bool, pause_s: float) -> None:
        """What was delivered, each as soon as it can be, or in bursts of what can be."""
        waiting = list(recorded)
        while waiting or not self._idle:
            batch: list[Delivery] = []
            while waiting and self._possible(waiting[0], batch) and len(batch) < (4 if burst else 1):
                batch.append(waiting.pop(0))
            if batch:
                time.sleep(pause_s)
                self._deliver(batch)
                self._hear(0.0)
            else:
                self._hear(1.0)

    def _possible(self, one: Delivery, batch: list[Delivery]) -> bool:
        if one.kind == "x":
            return self._idle and not any(other.kind == "x" for other in batch)
        job = self._jobs.get(self._numbers.get(one.path, 0))
        if one.path in self._numbers and job is None:
            return True  # cancelled here, and answered before that was known there
        return job is not None and job.body is not None and all(other.path != one.path for other in batch)

    def _deliver(self, batch: list[Delivery]) -> None:
        self.played.delivered += batch
        messages: list[Any] = []
        for one in batch:
            self._at = max(self._at, one.at)
            number = self._numbers.get(one.path, 0)
            job = self._jobs.get(number)
            match one.kind:
                case "x":
                    self._cell += 1
                    self._idle = False
                    messages.append(["x", self._cell, one.body, one.at])
                case "i":
                    self._invokes += 1
                    if job is not None:
                        self._served[self._invokes] = job
                        job.body = None
                    tail: list[Any] = [one.served, one.at, []] if self._journaled else []
                    messages.append(["i", self._invokes, number, *one.body, *tail])
                case _:
                    self._jobs.pop(number, None)
                    messages.append(["a", number, *one.body, *([one.at, one.back] if self._journaled else [])])
        self._send(messages)

    def _send(self, messages: list[Any]) -> None:
        self._conn.sendall(b"".join(frame(message, [])[0] for message in messages))

    def _hear(self, wait_s: float) -> bool:
        """What the guest says within that time; whether it said anything."""
        if time.monotonic() > self._over:
            raise TimeoutError(f"the guest hangs; it said {self.played.said[-5:]}, under way: {self._jobs}")
        if not select.select([self._conn], [], [], wait_s)[0]:
            return False
        piece = self._conn.recv(1 << 16)
        assert piece, "the guest ended"
        for header, blobs in self._reader.feed(piece):
            self._heard(parse(header, blobs, Bounds())[0])
        return True

    def _heard(self, message: list[Any]) -> None:
        match message:
            case ["c", int(number), cell, verb, target, name, _, tree, *more]:
                path, line = more or (f"plain#{number}", 0)
                assert path not in self._numbers, f"{path} twice"
                self._numbers[path], self._paths[number] = number, path
                self._begin(number, path, verb, target, tree)
                self.played.said.append(["c", cell, verb, target, name, tree, path, line])
            case ["k", int(number)]:
                self._jobs.pop(number, None)
                self.played.said.append(["k", self._paths[number]])
            case ["v", int(number), fine, tree]:
                job = self._served.pop(number, None)
                self.played.said.append(["v", job.path if job else "", fine, tree])
                if job is not None:
                    self._step(job, tree)
            case ["d", cell, verdict, _, tree]:
                self._idle = True
                self.played.said.append(["d", cell, verdict, tree])
            case _:
                assert message == ["r"], message

    def _begin(self, number: int, path: str, verb: str, target: int, tree: Any) -> None:
        args: list[Any] = tree["t"]
        name = "sleep" if verb == "sleep" else _NAMES[target]
        if name == "sleep" and self._refuse and args[0] == self._refuse:
            name, args = "fail", ["no more"]
        latency: float = args[0] if name == "sleep" else 100.0 if name == "slow" else self._chance.random() * 0.05
        job = Job(path=path, steps=_STEPS.get(name, _echo)(args), due=self._at + latency)
        self._jobs[number] = job
        self._step(job, None)

    def _step(self, job: Job, value: Any) -> None:
        try:
            job.body = ("i", job.steps.send(value))
        except StopIteration as done:
            job.body = ("a", done.value)


def _about(name: str) -> dict[str, Any]:
    return {"async": name in ("aget", "acallback", "fail", "slow"), "name": name, "signature": None, "doc": ""}


def _echo(args: list[Any]) -> Steps:
    yield from ()
    return [1, args[0] if args else None]


def _fail(args: list[Any]) -> Steps:
    yield from ()
    return [0, {"E": ["ValueError", [args[0]], {"m": {}}, str(args[0])]}]


def _sleep(args: list[Any]) -> Steps:
    yield from ()
    return [1, None]


def _call_back(args: list[Any]) -> Steps:
    """Calls the function with 1 and with 2; gives back what it said, and the function."""
    lent = args[0]["g"][0]
    said: list[Any] = []
    for value in (1, 2):
        said.append((yield [lent, {"t": [{"t": [value]}, {"m": {}}]}]))
    return [1, [*said, f"back {lent}"]]


def _back_of(body: Any) -> list[tuple[int, int]]:
    last = body[1][-1] if isinstance(body[1], list) and body[1] else ""
    return [(int(last.removeprefix("back ")), 1)] if isinstance(last, str) and last.startswith("back ") else []


_NAMES = dict(enumerate(("get", "aget", "callback", "acallback", "fail", "slow"), 1))
_STEPS: dict[str, Any] = {"fail": _fail, "sleep": _sleep, "callback": _call_back, "acallback": _call_back}
