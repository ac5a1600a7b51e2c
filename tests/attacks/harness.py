'''Runs one attack as guest code and judges it by facts of the host.

An attack is a file in `cells/`: guest code, opened by a docstring with these fields,

    """What it tries, in one line.

    Layer: kernel                           (which layer it attacks: see `report.py`; some names tell, as wire_…)
    Escape: what would count as one
    Control: the benign thing that must succeed
    Limits: memory_mb=64, wall_s=5          (optional; `DEFAULTS` below otherwise)
    Expect: MemoryLimit | none              (optional; error classes that the outcome may have; `none` is no error)
    Idle: 3                                 (optional; seconds for which the session stays open after the attack's cell)
    Uses: raw                               (optional; the control begins with `raw.py`: frames of one's own making)
    Scratch: yes                            (optional; until guest code awaits `reveal()`, a scratch covers the
                                            workspace, in which `live.txt` is a canary)
    Journal: yes                            (optional; the session is journaled; it must be readable afterwards, and
                                            be resumed, and its repetition must end)
    """

then a line `# control`, a cell whose value must be True, a line `# attack`, and the cell that is judged. Both run in
one session, so names of the control are there for the attack. What an attack gets hold of goes into its value (a list,
a text) or is printed: a canary in it is an escape. A value that is, or holds, a text that begins with "ESCAPED" is one
too, for what only the guest can see. Raising is fine: an error is an outcome.

Names in an attack's scope:

    vault     host object. Public: read(key) with keys greeting, mine, number; echo(x); call(f, *args) calls a guest
              function; items(count) a generator; fail() raises Refused; async wait(seconds); note(note: Note);
              paint(colour: Colour); combine(x, y); with_default(x, token); greet(name) a function with a closure; name;
              collect(items) makes a list and gives its length; rows, a subclass of list, and share, a Fraction;
              login.{user, to_dict()}, a record with a hidden field; connect(user), a partial that holds a key.
              Public attributes that must not cross, or are hidden: client.{api_key, headers, auth, cookies, base_url}
              (it looks like httpx.Client; client.get(url) is fine), os (a module), kind (a class), blueprint and
              open_hidden (hidden by declare). Private: _secret, _open(), _canaries, _opened.
    books     plain object: titles, add(title), len(), []
    toolbox   bound module: double(x), LIMIT; holds os, sys, subprocess, SETTING, _SECRET, not_listed
    Note      dataclass(title, text, stars)     Colour    enum RED, BLUE     Refused    exception class
    places    a dict of what may be aimed at: closed_file (0600), open_file (0644), canary_dir, neighbour_workspace,
              unix_socket, unix_datagrams, abstract_socket, tcp_port, udp_port (all of the host), host_pid,
              host_sees_guests, host_has_groups, and marker: put it into the name of a file, and the harness looks for
              it where a guest must not be able to write

While the attack runs, the host reads `inbox/report.txt`, writes `inbox/order.txt`, lists everything and deletes
`inbox/old` in the attack's workspace, again and again: swap these for links. What it read is the attack's output too.
A neighbour, with its own vault, variables and files, must answer all the while; a new session must answer afterwards.
'''

from __future__ import annotations

import ast
import asyncio
import base64
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from tests.attacks import witnesses
from tests.attacks.covering import Covering
from tests.attacks.lures import Books, Canaries, Colour, Note, Places, Refused, Vault, opened, toolbox
from tests.layers import SYS_PTRACE, has_capability, has_groups

from cellwright import Limits, Outcome, Runtime, Scope, replay
from cellwright.errors import CellwrightError
from cellwright.sandboxes import LandlockSandbox
from cellwright.store import MemoryStore

CELLS = Path(__file__).parent / "cells"
RAW = Path(__file__).parent / "raw.py"
GROWTH_MB = 900  # by which the host may grow under one attack, for a while: about 700 in flight, on a busy machine more
DEFAULTS = {"wall_s": 10, "cpu_s": 10, "memory_mb": 128, "workspace_mb": 64, "file_mb": 32, "output_kb": 1024}
ANSWER_S = 10.0
NEIGHBOUR = "(1 + 1, mine == vault.read('mine'), open('diary.txt').read() == mine)"
NEWCOMER = "(1 + 1, vault.echo('hi'), __import__('json').dumps([1]), sorted(globals().keys() & {'mine', 'loot'}))"
ESCAPED = "ESCAPED"
FIELDS = re.compile(r"^(Layer|Escape|Control|Limits|Expect|Idle|Uses|Scratch|Journal): ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One file of `cells/`."""

    name: str
    title: str
    escape: str
    control_text: str
    limits: dict[str, float]
    expect: frozenset[str]
    idle_s: float
    scratch: bool
    journal: bool
    control: str
    attack: str


def read_attack(path: Path) -> Attack:
    """Raises ValueError, with what is wrong, for a file that is no attack."""
    text = path.read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(text))
    if not doc:
        raise ValueError(f"{path.name}: no docstring")
    title, *parts = FIELDS.split(doc)
    found = {name: " ".join(body.split()) for name, body in zip(parts[::2], parts[1::2], strict=True)}
    if (
        len(title.strip().splitlines()) != 1
        or len(parts) != 2 * len(found)
        or not {"Escape", "Control"} <= found.keys()
    ):
        raise ValueError(f"{path.name}: the docstring needs one line, then `Escape:` and `Control:`, each field once")
    sections = re.split(r"^# (control|attack)$", text, flags=re.MULTILINE)
    if [*sections[1::2]] != ["control", "attack"]:
        raise ValueError(f"{path.name}: needs one line `# control`, then one line `# attack`")
    pairs = [pair.split("=") for pair in re.split(r",\s*", found.get("Limits", "")) if pair]
    return Attack(
        name=path.stem,
        title=title.strip(),
        escape=found["Escape"],
        control_text=found["Control"],
        limits={
            **DEFAULTS,
            **{name.strip(): float(value) if name.strip().endswith("_s") else int(value) for name, value in pairs},
        },
        expect=frozenset(re.split(r"\s*\|\s*", found.get("Expect", "any"))),
        idle_s=float(found.get("Idle", 0)),
        scratch="Scratch" in found,
        journal="Journal" in found,
        control=(RAW.read_text(encoding="utf-8") if found.get("Uses") == "raw" else "") + sections[2].strip() + "\n",
        attack=sections[4].strip() + "\n",
    )


def _nobody(line: str) -> None:
    return None


def attacks() -> list[Path]:
    return sorted(CELLS.glob("*.py"))


@dataclass(kw_only=True)
class Evidence:
    """What is known after an attack."""

    outcome: Outcome
    read_by_host: list[bytes] = field(default_factory=list[bytes])
    changed_files: list[str] = field(default_factory=list[str])
    strays: list[str] = field(default_factory=list[str])
    connections: list[str] = field(default_factory=list[str])
    opened: list[str] = field(default_factory=list[str])
    overused: list[str] = field(default_factory=list[str])
    processes_left: int = 0
    descriptors_left: int = 0
    grown_mb: int = 0
    neighbour: list[str] = field(default_factory=list[str])  # what was wrong with it
    host_errors: list[str] = field(default_factory=list[str])  # errors that no host may see


def escapes(evidence: Evidence, canaries: Sequence[str]) -> list[str]:
    """Every way in which the attack got out; empty when it was held."""
    found: list[str] = []
    output = _output(evidence)
    for canary in canaries:
        if any(shape in output for shape in _shapes(canary)):
            found.append(f"read {canary.rpartition('-')[0]}")
    if _claims(evidence.outcome.value) or evidence.outcome.stdout.startswith(ESCAPED):
        found.append(f"says that it escaped: {evidence.outcome.value!r}"[:500])
    for what in ("changed_files", "strays", "connections", "opened", "overused", "neighbour", "host_errors"):
        if getattr(evidence, what):
            found.append(f"{what}: {getattr(evidence, what)}")
    if evidence.processes_left:
        found.append(f"left {evidence.processes_left} processes")
    if evidence.grown_mb > GROWTH_MB:
        found.append(f"made the host grow by {evidence.grown_mb} MB")
    if evidence.descriptors_left:
        found.append(f"left {evidence.descriptors_left} descriptors open in the host")
    return found


def _output(evidence: Evidence) -> str:
    outcome = evidence.outcome
    error = outcome.error
    parts = [repr(outcome.value), outcome.stdout, str(error), repr(error), repr(vars(error) if error else "")]
    return "\n".join(parts + [repr(piece) for piece in evidence.read_by_host])


def _shapes(canary: str) -> list[str]:
    """A secret as itself, backwards, in hex and in base64 (whose middle is the same wherever it begins)."""
    raw = canary.encode()
    shifted = [base64.b64encode(b" " * shift + raw).decode()[4:-4] for shift in range(3)]
    return [canary.rpartition("-")[2], canary[::-1], raw.hex(), *shifted]


def _claims(value: Any, depth: int = 0) -> bool:
    if isinstance(value, str):
        return value.startswith(ESCAPED)
    if depth > 5:
        return False
    if isinstance(value, dict):
        return any(_claims(part, depth + 1) for pair in value.items() for part in pair)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple | set | frozenset):
        return any(_claims(part, depth + 1) for part in value)  # pyright: ignore[reportUnknownVariableType]
    return ESCAPED in getattr(value, "text", "")


def unexpected(attack: Attack, outcome: Outcome) -> str | None:
    """What is wrong with the kind of outcome, where the file says which it must be."""
    kind = type(outcome.error).__name__ if outcome.error else "none"
    if "any" in attack.expect or kind in attack.expect:
        return None
    return f"the outcome is {kind}, not {' | '.join(sorted(attack.expect))}: {outcome.error or outcome.value!r}"[:2000]


class Arena:
    """The host that is attacked: canaries, witnesses, a neighbour on each zygote. An async context manager."""

    def __init__(self, rung: Literal["process"] | LandlockSandbox) -> None:
        self.rung: Literal["process"] | LandlockSandbox = rung
        self.canaries = Canaries()
        self._directory = Path(tempfile.mkdtemp(prefix="arena-", dir="/tmp"))
        self._directory.chmod(0o755)
        self._files = self._directory / "canaries"
        self._neighbours: dict[bool, Runtime] = {}
        self._settled = 0  # processes, beside those of an attack
        self._in_memory = [self.canaries.memory * 100]

    async def __aenter__(self) -> Arena:
        self._files.mkdir(mode=0o755)
        self._closed_file, self._open_file = self._files / "closed.txt", self._files / "open.txt"
        self._closed_file.write_text(self.canaries.closed_file)
        self._closed_file.chmod(0o600)
        self._open_file.write_text(self.canaries.open_file)
        self._open_file.chmod(0o644)
        os.environ["ARENA_CANARY"] = self.canaries.environ
        self.listeners = witnesses.Listeners(self._directory)
        await self.neighbour(programs=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for neighbour in self._neighbours.values():
            await neighbour.close()
        self.listeners.close()
        os.environ.pop("ARENA_CANARY", None)  # an arena of another rung may have ended before
        shutil.rmtree(self._directory)

    def runtime(
        self,
        vault: Vault,
        limits: Limits,
        places: Places | None = None,
        workspace: Path | None = None,
        covering: Covering | None = None,
        journal: MemoryStore | None = None,
    ) -> Runtime:
        names = {
            "vault": vault,
            "books": Books(),
            "toolbox": toolbox(self.canaries.module),
            "Note": Note,
            "Colour": Colour,
            "Refused": Refused,
            "places": places.as_data() if places else {},
        }
        scope = Scope(names | ({"reveal": covering.reveal} if covering else {}))
        scope.declare("vault.*", hide=["blueprint", "open_hidden"])
        scope.declare("vault.name", writable=True)
        return Runtime(scope, sandbox=covering or self.rung, limits=limits, workspace=workspace, store=journal)

    async def neighbour(self, *, programs: bool) -> Runtime:
        """The session beside the attack, on the same zygote: it keeps that one alive, and must not notice."""
        if programs not in self._neighbours:
            workspace = self._directory / f"neighbour-{programs:d}"
            workspace.mkdir()
            limits = Limits(wall_s=ANSWER_S, processes=1 if programs else 0)
            vault = Vault(self.canaries, mine=self.canaries.neighbour)
            runtime = self._neighbours[programs] = await self.runtime(vault, limits, workspace=workspace).__aenter__()
            made = await runtime.execute("mine = vault.read('mine'); open('diary.txt', 'w').write(mine)")
            made.unwrap()
            await witnesses.settled()
            self._settled = len(witnesses.descendants())
        return self._neighbours[programs]

    async def _dismiss(self, programs: bool) -> None:
        """A neighbour that was harmed makes room for a new one, so that one escape fails one test."""
        neighbour = self._neighbours.pop(programs, None)
        if neighbour is not None:
            await neighbour.close()
            shutil.rmtree(self._directory / f"neighbour-{programs:d}", ignore_errors=True)

    def places(self) -> Places:
        return Places(
            closed_file=self._closed_file,
            open_file=self._open_file,
            canary_dir=self._files,
            neighbour_workspace=self._directory / "neighbour-0",
            unix_socket=self.listeners.path,
            unix_datagrams=self.listeners.datagrams,
            abstract_socket=self.listeners.abstract,
            tcp_port=self.listeners.tcp_port,
            udp_port=self.listeners.udp_port,
            host_pid=os.getpid(),
            host_sees_guests=has_capability(SYS_PTRACE),
            host_has_groups=has_groups(),
            marker=f"marker-{os.urandom(8).hex()}",
        )

    async def run(self, attack: Attack) -> Evidence:
        """The control, then the attack under watch. Raises AssertionError when the control does not hold."""
        limits = Limits(**attack.limits)  # pyright: ignore[reportArgumentType] -- the numbers are checked by Limits
        unharmed = False
        try:
            evidence = await self._run(attack, limits)
            unharmed = not evidence.neighbour
        finally:
            if not unharmed:
                await self._dismiss(limits.processes > 0)
        return evidence

    async def _run(self, attack: Attack, limits: Limits) -> Evidence:
        neighbour = await self.neighbour(programs=limits.processes > 0)
        vault, places = Vault(self.canaries, mine="your own"), self.places()
        before = witnesses.snapshot(self._directory)
        known, descriptors = witnesses.descendants(), witnesses.descriptors()
        processes = max(len(known), self._settled)  # a zygote may be about to fork its next child
        self.listeners.heard()
        resident = witnesses.reset_peak_mb()
        read: list[bytes] = []
        covering = Covering(self.canaries.live, self.rung) if attack.scratch else None
        journal = MemoryStore() if attack.journal else None
        runtime = await self.runtime(vault, limits, places, covering=covering, journal=journal).__aenter__()
        try:
            control = await runtime.execute(attack.control)
            assert control.value is True, f"the control failed: {control.value!r} {control.error}\n{control.stdout}"
            work = asyncio.create_task(runtime.execute(attack.attack))
            trouble, errors = await self._watch(work, neighbour, runtime, read, limits.wall_s)
            outcome = await work
            overused, more = await self._idle(attack, neighbour, runtime, known)
        finally:
            await runtime.close()
            if covering is not None:
                await covering.close()
        if journal is not None:
            errors += await self._resumed(journal, limits)
        trouble += more + await self._after(neighbour, limits)
        evidence = Evidence(
            outcome=outcome, read_by_host=read, overused=overused, neighbour=trouble, host_errors=errors
        )
        if not await witnesses.until(lambda: len(witnesses.descendants()) <= processes):
            evidence.processes_left = len(witnesses.descendants()) - processes
        if not await witnesses.until(lambda: witnesses.descriptors() <= descriptors):
            evidence.descriptors_left = witnesses.descriptors() - descriptors
        evidence.changed_files = witnesses.changes(before, witnesses.snapshot(self._directory))
        evidence.strays = witnesses.strays(places.marker)
        evidence.connections = self.listeners.heard()
        evidence.opened = opened(vault)
        evidence.grown_mb = witnesses.peak_mb() - resident
        return evidence

    async def _watch(
        self, work: asyncio.Task[Outcome], neighbour: Runtime, runtime: Runtime, read: list[bytes], wall_s: float
    ) -> tuple[list[str], list[str]]:
        """Asks the neighbour and uses the attack's files until the attack has ended."""
        trouble: list[str] = []
        errors: list[str] = []
        end = time.monotonic() + wall_s + ANSWER_S
        while True:
            done = work.done()
            trouble += await self._ask(neighbour, NEIGHBOUR, (2, True, True))
            errors += await self._use_files(runtime, read)
            if done:
                return trouble, errors
            if time.monotonic() > end:
                work.cancel()
                raise AssertionError(f"the attack outlived wall_s={wall_s:g} by {ANSWER_S:g} s")
            await asyncio.wait({work}, timeout=0.1)

    async def _idle(
        self, attack: Attack, neighbour: Runtime, runtime: Runtime, known: dict[int, int]
    ) -> tuple[list[str], list[str]]:
        """Leaves the session open with no cell running, then looks at what it took meanwhile."""
        trouble: list[str] = []
        end = time.monotonic() + attack.idle_s
        while time.monotonic() < end:
            trouble += await self._ask(neighbour, NEIGHBOUR, (2, True, True))
            await asyncio.sleep(0.1)
        overused: list[str] = []
        if attack.idle_s:
            held_mb = sum(entry.size for entry in await runtime.files.list()) >> 20
            if held_mb > 2 * attack.limits["workspace_mb"] + 64:
                overused.append(f"{held_mb} MB of disk")
            spent_s = witnesses.cpu_s(witnesses.descendants().keys() - known.keys())
            if spent_s > attack.limits["cpu_s"] + 3:
                overused.append(f"{spent_s:g} s of processor time")
            memory_mb = witnesses.memory_mb(witnesses.descendants().keys() - known.keys())
            if memory_mb > attack.limits["memory_mb"] + 256:
                overused.append(f"{memory_mb} MB of memory")
        return overused, trouble

    async def _ask(self, session: Runtime, code: str, answer: Any) -> list[str]:
        try:
            outcome = await asyncio.wait_for(session.execute(code), ANSWER_S)
        except TimeoutError:
            return [f"did not answer within {ANSWER_S:g} s"]
        return [] if outcome.value == answer else [f"answered {outcome.value!r} {outcome.error}"[:1000]]

    async def _use_files(self, runtime: Runtime, read: list[bytes]) -> list[str]:
        errors: list[str] = []
        files = runtime.files
        for use in (
            lambda: files.read("inbox/report.txt"),
            lambda: files.write("inbox/order.txt", "an order of the host"),
            lambda: files.list(),
            lambda: files.delete("inbox/old"),
        ):
            try:
                got = await asyncio.wait_for(use(), ANSWER_S)
            except (CellwrightError, FileNotFoundError):
                continue  # told clearly, which is what a spoilt workspace deserves
            except Exception as error:  # anything else is a host that was not ready for it
                errors.append(f"{type(error).__name__}: {error}")
            else:
                if isinstance(got, bytes):
                    read.append(got[:1_000_000])
        return errors

    async def _resumed(self, journal: MemoryStore, limits: Limits) -> list[str]:
        """What a hostile session wrote down is read, run again and gone on with, whatever comes of its cells."""
        (session,) = journal.sessions()
        errors: list[str] = []
        try:
            inside = None if self.rung == "process" else self.rung
            repeated = replay(session, store=journal, sandbox=inside, limits=limits)
            await asyncio.wait_for(repeated, 3 * limits.wall_s + ANSWER_S)
            runtime = Runtime.resume(
                session, scope=Scope(), store=journal, sandbox=self.rung, limits=limits, progress=_nobody
            )
            async with asyncio.timeout(6 * limits.wall_s + ANSWER_S):
                async with runtime:
                    await runtime.execute("1 + 1")
        except Exception as error:  # whatever it is, a session that was hostile broke its host
            errors.append(f"{type(error).__name__}: {error}")
        return errors

    async def _after(self, neighbour: Runtime, limits: Limits) -> list[str]:
        trouble = await self._ask(neighbour, NEIGHBOUR, (2, True, True))
        newcomer_limits = Limits(wall_s=ANSWER_S, processes=limits.processes)
        async with self.runtime(Vault(self.canaries), newcomer_limits) as newcomer:
            trouble += await self._ask(newcomer, NEWCOMER, (2, "hi", "[1]", []))
        return trouble
