"""Tokens of the tools that a client is told: the gateway's two, beside one tool an operation, as plain MCP has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import wired
from benchmarks.counting import counted
from benchmarks.results import Check
from benchmarks.run import Run
from benchmarks.specs import Spec

MOST = 1000.0


async def measure(run: Run, specs: Sequence[Spec], plain: Mapping[str, int], cache: Path) -> list[Check]:
    """`plain` has the tokens of each API as plain tools. The gateway's are counted as its client is told them."""
    told: list[Check] = []
    behind = [*([spec] for spec in specs), list(specs)]
    for number in run.rounds("tokens of tool definitions", len(behind), len(behind)):
        chosen = behind[number]
        async with wired.ours(chosen, cache) as client:
            own = counted(await wired.definitions(client))
        told.append(_check(chosen, own, sum(plain[spec.name] for spec in chosen)))
    return told


def _check(specs: Sequence[Spec], own: int, plain: int) -> Check:
    operations = sum(spec.operations for spec in specs)
    title = specs[0].title if len(specs) == 1 else f"all {len(specs)}"
    return Check(
        subject="gateway",
        what=f"both tools, {title}",
        against=f"{operations:,} plain MCP tools",
        ours=own,
        theirs=plain,
        unit="tokens",
        value=own,
        measure="tokens",
        target=MOST,
        samples=1,
        note=f"1 to {plain / own:,.0f}",
    )


def beside_fastmcp(own: Check, other: Mapping[str, Any]) -> Check:
    """The same beside what FastMCP's own server lists of that API."""
    theirs = counted(other["plain"])
    return Check(
        subject="gateway",
        what=own.what,
        against=f"FastMCP {other['version']}, {len(other['plain']):,} tools",
        ours=own.ours,
        theirs=theirs,
        unit="tokens",
        value=100 * (1 - own.ours / theirs),
        measure="% fewer",
        samples=1,
    )
