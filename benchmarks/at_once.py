"""300 agents at once beside 30, and a peer's beside ours: `peers.throng` runs them, on the turn of `peers.job`.

The best rounds count. The agents of a round all work at once, so a step of one waits for those of the others: with a
model that takes no time a step lasts about as long as all agents together need for one.
"""

from __future__ import annotations

from benchmarks.peers.conductor import Contestant, Gone, Round
from benchmarks.peers.roster import AGENTS
from benchmarks.peers.throng import FIGURES
from benchmarks.results import Check, shown
from benchmarks.run import Run

FEW, MANY, TARGET = 30, 300, 1.5
ROUNDS = 3
STRICT, OFF, PEER = "agent", "agent_unchecked", "harness"
Case = tuple[str, str]  # whose agents, which task
CASES: tuple[Case, ...] = ((OFF, "throng"), (STRICT, "throng"), (STRICT, "throng_apart"), (PEER, "throng"))
Figures = dict[str, float]


async def measure(run: Run) -> list[Check]:
    sizes = (run.count(FEW, 2), run.count(MANY, 4))
    best: dict[tuple[Case, int], Figures] = {}
    with Round(run, tuple(entry for entry in AGENTS if entry.module in (STRICT, OFF, PEER))) as together:
        there = {each.entry.module: each for each in together.running.values()}
        for case in (case for case in CASES if case[0] in there):
            _figures(there[case[0]], case[1], 2)  # makes what is kept warm
        for _ in run.rounds("agents at once", ROUNDS, 1):
            for case in (case for case in CASES if case[0] in there):
                for size in sizes:
                    figures = _figures(there[case[0]], case[1], size)
                    before = best.get((case, size), figures)
                    best[case, size] = {name: min(figures[name], before[name]) for name in FIGURES}
    if PEER not in there:
        run.remark("agents at once: the peer is not installed here; a full run installs it")
    return _checks(run, best, *sizes)


def _figures(contestant: Contestant, task: str, size: int) -> Figures:
    contestant.do(task, size)
    if task in contestant.failed:
        raise Gone(f"{contestant.entry.name}, {size} at once: {contestant.failed[task]}")
    return dict(zip(FIGURES, contestant.figures.pop(task), strict=True))


def _checks(run: Run, best: dict[tuple[Case, int], Figures], few: int, many: int) -> list[Check]:
    off, strict, apart, peer = CASES
    names = {off: '`check="off"`', strict: "strict", apart: "strict, no two cells alike", peer: "pydantic-ai harness"}

    def check(what: str, ours: tuple[Case, int], theirs: tuple[Case, int], figure: str, target: float | None) -> Check:
        a, b = best[ours][figure], best[theirs][figure]
        steps = [f"{shown(best[each]['p50'], 's')}, p99 {shown(best[each]['p99'], 's')}" for each in (ours, theirs)]
        return Check(
            subject="agents at once",
            what=f"{what} of {ours[1]} agents at once, {names[ours[0]]}",
            against=f"of {theirs[1]}, {names[theirs[0]]}",
            ours=a,
            theirs=b,
            value=a / b,
            target=target,
            samples=run.count(ROUNDS, 1),
            note=f"a step {steps[0]}; beside {steps[1]}" if figure == "turn" else "",
        )

    there = [case for case in CASES if (case, many) in best]
    checks = [check("turn", (case, many), (case, few), "turn", None if case == peer else TARGET) for case in there]
    checks += [check("turn", (case, many), (off, many), "turn", TARGET) for case in (strict, apart)]
    checks += [check("turn", (case, many), (peer, many), "turn", None) for case in (off, strict) if peer in there]
    return [*checks, check("opening and first turn", (off, many), (off, few), "opening", None)]
