"""An API in a thousand tokens: what the gateway's two tools cost, find, and take, beside plain MCP and FastMCP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from benchmarks import finding
from benchmarks.jobs import JobFailed, Worker
from benchmarks.peers.roster import ROSTER, Environment
from benchmarks.results import Check
from benchmarks.run import Run
from benchmarks.specs import NotFetched, Spec, specs

FASTMCP = next(entry for entry in ROSTER if entry.module == "code_mode")


async def measure(run: Run) -> list[Check]:
    """Nothing where the descriptions cannot be had; without FastMCP only what does not stand beside it."""
    try:
        found = specs(run.cache, fetch=not run.quick)
    except NotFetched as why:
        run.remark(f"gateway: not measured: {why}")
        return []
    python, missing = Environment(run.cache, run.say).python(FASTMCP, install=not run.quick)
    if missing:
        run.remark(f"gateway: not measured beside FastMCP: {missing}")
    told: list[Check] = []
    with run.directory() as directory:
        try:
            async for check in _measured(run, found, python, directory):
                told.append(check)
        except JobFailed as failed:
            run.remark(f"gateway: not measured further: {failed}")
    return told


async def _measured(run: Run, found: dict[str, Spec], python: str, directory: Path) -> AsyncIterator[Check]:
    from benchmarks import definitions, executing, loading  # with the SDK's client, which others do not need

    cache = directory / "cache"
    peer = Worker(module="api_tools", python=python)
    asked = finding.queries()
    if run.quick:
        found = {name: found[name] for name in ("github", "slack")}
        asked = [query for query in asked if query.source in found][::10]
    run.say("reading all descriptions and searching them")
    own = Worker(module="api_surface", cache=cache).do("survey", **_job(found, asked))
    other = _found(run, peer, _job(found, asked)) if python else None
    counted = await definitions.measure(run, list(found.values()), own["plain"], cache)
    parts = [*counted, *([definitions.beside_fastmcp(counted[0], other)] if other else [])]
    for check in (*parts, *finding.checks(asked, own, other)):
        yield check
    if other is None:
        return
    for check in await loading.measure(run, found["github"], peer, directory):
        yield check
    for name in ("slack", "github"):
        yield await executing.measure(run, found[name], python, cache)


def _found(run: Run, peer: Worker, job: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return peer.do("find", **job)
    except JobFailed as failed:
        run.remark(f"gateway: not measured beside FastMCP: {failed}")
        return None


def _job(found: dict[str, Spec], asked: list[finding.Query]) -> dict[str, Any]:
    """Queries are looked for among the operations of those that they are about."""
    return {
        "specs": {name: str(spec.path) for name, spec in found.items()},
        "among": list(dict.fromkeys(query.source for query in asked)),
        "queries": [query.text for query in asked],
    }
