"""From a description on disk to operations that are found: ours cold and reopened, beside FastMCP's `from_openapi`.

Each time in a fresh process, after its imports.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.jobs import Worker
from benchmarks.results import Check, shown
from benchmarks.run import Run, median
from benchmarks.specs import Spec

COLD, REOPENED = 1.0, 0.2
QUERY = "open a new issue"


async def measure(run: Run, spec: Spec, peer: Worker, directory: Path) -> list[Check]:
    """In turn: ours with an empty cache, ours with what that left there, theirs."""
    times: dict[str, list[float]] = {"cold": [], "reopened": [], "theirs": [], "answered": []}
    version = ""
    for number in run.rounds(f"loading {spec.title}'s description", 5, 1):
        own = Worker(module="api_surface", cache=directory / f"cold-{number}")
        for name in ("cold", "reopened"):
            times[name].append(own.do("load", specs={spec.name: str(spec.path)}, query=QUERY)["load_s"])
        told = peer.do("load", spec=str(spec.path), queries=[QUERY])
        times["theirs"].append(told["load_s"])
        times["answered"].append(told["load_s"] + told["search_s"][0])
        version = told["version"]
    against = f"FastMCP {version}"
    cold, reopened = f"{spec.title} loaded, indexed, searched", "the same, reopened"
    return [
        _check(cold, against, times["cold"], times["theirs"], COLD),
        _check(reopened, against, times["reopened"], times["theirs"], REOPENED),
        _check(cold, f"{against} with a search", times["cold"], times["answered"], None),
    ]


def _check(what: str, against: str, ours: list[float], theirs: list[float], target: float | None) -> Check:
    return Check(
        subject="gateway",
        what=what,
        against=against,
        ours=median(ours),
        theirs=median(theirs),
        value=median(ours) / median(theirs),
        target=target,
        samples=len(ours),
        note=f"best {shown(min(ours), 's')}, {shown(min(theirs), 's')}",
    )
