"""What policy, labels and audit add to a host call that writes, beside what the journal adds to it; and the data flow.

Sessions take turns, as in `journal`: the time from one call of the host's method to the next is what a call takes in
all. The guard's share is measured over a journaled call, because both together are what a careful operator runs. What
remains where nothing is labelled is measured against `flow="off"`, whose calls do not pass the guard at all.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

from benchmarks.journal import EACH, ONE, Desk, Side
from benchmarks.processes import leaves, placed
from benchmarks.results import Check, shown
from benchmarks.run import Run, median
from cellwright import Limits, Policy, PolicyRule, Runtime, operation
from cellwright.guard import FlowPolicy, ProvenValues, RateLimit

TARGET = 0.5
AGAINST = "added by the journal"
CALLS = {"await desk.add_soon(1, 2)": "an async call", "desk.add(1, 2)": "a sync call"}
SIDES = ("off", "plain", "journal", "guarded", "flow")
LEAST_S = 1e-9
TEXT_MB = 8


class LabelledDesk(Desk):
    """The same methods, of which labels are declared: their answers carry one that reaches the session."""

    @operation(private=True, outward=False, selecting=())
    async def add_soon(self, a: int, b: int) -> int:
        return self.add(a, b)

    @operation(private=True, outward=False, selecting=())
    def add(self, a: int, b: int) -> int:
        return super().add(a, b)


class UntrustedDesk(Desk):
    """The same, whose answers outsiders may have written: each call's selecting argument has to be proven."""

    @operation(untrusted=True, outward=False, selecting=("a",))
    async def add_soon(self, a: int, b: int) -> int:
        return self.add(a, b)

    @operation(untrusted=True, outward=False, selecting=("a",))
    def add(self, a: int, b: int) -> int:
        return super().add(a, b)


class Archive:
    """Gives a long text, which is an outsider's or not."""

    def __init__(self, size: int) -> None:
        words = "Ann wrote ann@lee.example, see https://lee.example/a?b=1 and NO93 8601 1117 947. "
        self.text = (words * (size // len(words) + 1))[:size]

    @operation(reads=True)
    def plain(self) -> str:
        return self.text

    @operation(reads=True, untrusted=True)
    def mail(self) -> str:
        return self.text


def _policy() -> Policy:
    """As an operator writes it: rules about arguments and users before the one that allows, a limit, proven values."""
    return Policy(
        rules=(
            PolicyRule(operation="bank.*", kind="destructive", action="deny"),
            PolicyRule(operation="desk.*", arguments={"a": "> 1000"}, action="ask"),
            PolicyRule(operation="desk.*", user="intern*", action="deny"),
            PolicyRule(operation="desk.*", arguments={"b": ["1", "2", "3"]}, action="allow"),
        ),
        limits=(RateLimit(operation="desk.*", most=10**9, within="1h"),),
        flow=FlowPolicy(proven=(ProvenValues(operation="desk.*", values=("1",)),)),
    )


async def measure(run: Run) -> list[Check]:
    checks: list[Check] = []
    block = run.count(400, 30)
    async with _opened(run) as sides:
        for where in (EACH, ONE) if len(os.sched_getaffinity(0)) > 1 else (ONE,):
            found = await _rounds(run, sides, where, block)
            for call, times in found.items():
                checks += _added(call, where, times)
    return [*checks, *await _large(run)]


@asynccontextmanager
async def _opened(run: Run) -> AsyncGenerator[dict[str, Side]]:
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(run.directory())
        store = f"sqlite:///{directory / 'journal.db'}"
        guard: dict[str, Any] = {"policy": _policy(), "user": "kari", "store": store}
        options: dict[str, dict[str, Any]] = {
            "off": {"flow": "off"},
            "plain": {},
            "journal": {"store": store},
            "guarded": {**guard, "audit": directory / "audit"},
            "flow": {**guard, "flow": "deny"},
        }
        desks: dict[str, Desk] = {name: Desk() for name in SIDES}
        desks |= {"guarded": LabelledDesk(), "flow": UntrustedDesk()}
        sides: dict[str, Side] = {}
        for name, more in options.items():
            rt = Runtime({"desk": desks[name]}, limits=Limits(host_calls=10**6), **more)
            sides[name] = Side(desk=desks[name], rt=await stack.enter_async_context(rt))
            for call in CALLS:
                await sides[name].calls(call, 1)
        yield sides


async def _rounds(run: Run, sides: dict[str, Side], where: str, block: int) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {call: {name: [] for name in SIDES} for call in CALLS}
    cores = sorted(os.sched_getaffinity(0))
    with placed(leaves(os.getpid()), cores[0], cores[0] if where == ONE else cores[1]):
        for number in run.rounds(f"guard, {where}", 12, 1):
            for call, kept in found.items():
                for i in range(len(SIDES)):
                    name = SIDES[(number + i) % len(SIDES)]
                    kept[name] += await sides[name].calls(call, block)
    return found


def _added(call: str, where: str, times: dict[str, list[float]]) -> list[Check]:
    middle = {name: median(values) for name, values in times.items()}
    journal = middle["journal"] - middle["plain"]
    whole = ", ".join(shown(middle[name], "s") for name in ("guarded", "flow", "journal", "plain", "off"))

    def check(what: str, against: str, ours: float, theirs: float) -> Check:
        ratio = ours / max(theirs, LEAST_S)
        samples = len(times["guarded"])
        return Check(
            subject="guard", what=what, against=against, ours=ours, theirs=theirs, value=ratio, samples=samples
        )

    to = f"{CALLS[call]}, {where}"
    added = check(f"policy, labels and audit added to {to}", AGAINST, middle["guarded"] - middle["journal"], journal)
    return [
        replace(added, target=TARGET, note=whole),
        check(f"policy and data flow added to {to}", AGAINST, middle["flow"] - middle["journal"], journal),
        check(f"{to}, nothing labelled", 'flow="off"', middle["plain"], middle["off"]),
    ]


async def _large(run: Run) -> list[Check]:
    """How long the event loop stands still while a long text is delivered, an outsider's or not."""
    size = run.count(TEXT_MB, 1) << 20
    stalls: dict[str, list[float]] = {"plain": [], "mail": []}
    whole: dict[str, list[float]] = {"plain": [], "mail": []}
    async with Runtime({"archive": Archive(size)}, limits=Limits(memory_mb=1024)) as rt:
        (await rt.execute("len(archive.plain())")).unwrap()
        for _ in run.rounds("guard, a long text", 15, 2):
            for name in stalls:
                began = time.perf_counter()
                stall = await _longest_stall(rt, f"len(archive.{name}())")
                whole[name].append(time.perf_counter() - began)
                stalls[name].append(stall)
    labels = f"a text of {size >> 20} MB by outsiders"
    return [
        Check(
            subject="guard",
            what=what,
            against="the same, not labelled",
            ours=median(found["mail"]),
            theirs=median(found["plain"]),
            value=median(found["mail"]) / median(found["plain"]),
            samples=len(found["mail"]),
        )
        for what, found in ((f"{labels}, the cell", whole), (f"{labels}, longest stall of the event loop", stalls))
    ]


async def _longest_stall(rt: Runtime, code: str) -> float:
    ticks = [time.perf_counter()]

    async def tick() -> None:
        while True:
            await asyncio.sleep(0)
            ticks.append(time.perf_counter())

    ticking = asyncio.ensure_future(tick())
    try:
        (await rt.execute(code)).unwrap()
    finally:
        ticking.cancel()
    return max(later - sooner for sooner, later in pairwise(ticks))
