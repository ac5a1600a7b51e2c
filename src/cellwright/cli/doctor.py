"""`cellwright doctor`: what this machine gives, each layer and rung proven by running it, and what adds the rest."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cellwright.cli.arguments import PLATFORM, ended
from cellwright.cli.options import option
from cellwright.errors import CellwrightError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cellwright.sandboxes import LayerReport


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedRung:
    """A rung, and whether a cell ran on it."""

    name: str
    ok: bool
    seen: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldLimit:
    """A limit: what enforces it (`ungrouped`: without a control group), the layers that needs, and its error."""

    name: str
    by: str
    outcome: str
    needs: tuple[str, ...] = ()
    ungrouped: str = ""


LIMITS = (
    HeldLimit(name="wall_s", by="the host's clock", outcome="TimeLimit"),
    HeldLimit(name="cpu_s", by="the host, from the kernel's account", outcome="CpuLimit"),
    HeldLimit(
        name="memory_mb",
        by="RLIMIT_DATA; with processes, a control group",
        ungrouped="RLIMIT_DATA; with processes, for each by itself",
        outcome="MemoryLimit",
        needs=("rlimits",),
    ),
    HeldLimit(
        name="processes",
        by="seccomp at 0; above, RLIMIT_NPROC and a control group",
        ungrouped="seccomp at 0; above, RLIMIT_NPROC",
        outcome="ProcessLimit",
        needs=("seccomp", "rlimits", "user"),
    ),
    HeldLimit(name="threads", by="RLIMIT_NPROC", outcome="ProcessLimit", needs=("rlimits", "user")),
    HeldLimit(name="open_files", by="RLIMIT_NOFILE", outcome="OpenFilesLimit", needs=("rlimits",)),
    HeldLimit(name="file_mb", by="RLIMIT_FSIZE", outcome="FileSizeLimit", needs=("rlimits",)),
    HeldLimit(name="workspace_mb", by="the host, which counts files", outcome="WorkspaceLimit"),
    HeldLimit(name="output_kb", by="the host, at its end of the pipe", outcome="OutputLimit"),
    HeldLimit(name="host_calls", by="the host, at its door", outcome="CallLimit"),
)


def doctor(
    as_json: Annotated[bool, option("Print one JSON object in place of the tables.", "--json")] = False,
    seccomp: Annotated[
        bool, option("Print a seccomp profile for docker, podman or Kubernetes, and try nothing.", "--seccomp")
    ] = False,
) -> None:
    """Try every layer of isolation on this machine, run a cell, and say what is missing and what adds it.

    Exit codes: 0 the standard minimum is there, 4 it is not.
    """
    import asyncio

    if seccomp:
        from cellwright.sandboxes import container_profile

        print(json.dumps(container_profile(), indent=1))
        return
    if not sys.platform.startswith("linux"):
        raise ended(PLATFORM, f"the process sandbox needs Linux; this is {sys.platform}")
    report, rung = asyncio.run(_examine())
    if as_json:
        print(json.dumps(_described(report, rung), ensure_ascii=False, indent=2))
    else:
        _show(report, rung)
    raise typer.Exit(0 if report.ok and rung.ok else PLATFORM)


async def _examine() -> tuple[LayerReport, TriedRung]:
    from cellwright.sandboxes import probe_layers

    return await probe_layers(), await _try_process_rung()


async def _try_process_rung() -> TriedRung:
    import time

    from cellwright.runtime import Runtime

    try:
        async with Runtime() as runtime:  # the first session also waits for its zygote
            (await runtime.execute("1 + 1")).unwrap()
            began = time.perf_counter()
            async with Runtime() as second:
                value = (await second.execute("1 + 1")).unwrap()
            took = time.perf_counter() - began
    except CellwrightError as error:
        return TriedRung(name="process", ok=False, seen=str(error))
    return TriedRung(
        name="process", ok=value == 2, seen=f"opened a session, ran 1 + 1 and closed it in {took * 1e3:.1f} ms"
    )


def _lacking(limit: HeldLimit, report: LayerReport) -> list[str]:
    missing = {finding.name for finding in report.findings if not finding.ok}
    return [layer for layer in limit.needs if layer in missing]


def _by(limit: HeldLimit, report: LayerReport) -> str:
    grouped = any(finding.name == "cgroup" and finding.ok for finding in report.findings)
    return limit.by if grouped or not limit.ungrouped else limit.ungrouped


def _described(report: LayerReport, rung: TriedRung) -> dict[str, object]:
    from cellwright.sandboxes import STANDARD, Limits

    return {
        "ok": report.ok and rung.ok,
        "machine": {
            "kernel": platform.release(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        },
        "layers": [asdict(finding) | {"required": finding.name in STANDARD} for finding in report.findings],
        "rungs": [asdict(rung)],
        "limits": [
            {
                "name": limit.name,
                "default": getattr(Limits(), limit.name),
                "enforced": not _lacking(limit, report),
                "by": _by(limit, report),
                "outcome": limit.outcome,
            }
            for limit in LIMITS
        ],
    }


def _show(report: LayerReport, rung: TriedRung) -> None:
    from rich.console import Console
    from rich.markup import escape

    from cellwright.sandboxes import STANDARD, Limits

    console = Console(highlight=False)
    machine = f"Linux {platform.release()} on {platform.machine()}, Python {platform.python_version()}"
    console.print(machine, style="dim", markup=False)
    layers = _table("layer", "what was tried, and seen")
    for finding in report.findings:
        optional = "" if finding.name in STANDARD else " [dim](optional)[/dim]"
        layers.add_row(_mark(finding.ok), finding.name + optional, escape(finding.seen))
        if finding.fix and finding.tried:  # else one cause for all, told at the end
            layers.add_row("", "", f"[yellow]→ {escape(finding.fix)}[/yellow]")
    rungs = _table("rung", "what was tried, and seen")
    rungs.add_row(_mark(rung.ok), rung.name, escape(rung.seen))
    limits = _table("limit", "default", "held by", "outcome")
    for limit in LIMITS:
        lacking = _lacking(limit, report)
        by = _by(limit, report) + (f" [red](needs {', '.join(lacking)})[/red]" if lacking else "")
        limits.add_row(_mark(not lacking), limit.name, f"{getattr(Limits(), limit.name):g}", by, limit.outcome)
    for table in (layers, rungs, limits):
        console.print()
        console.print(table)
    _close(console, report, rung)


def _close(console: Console, report: LayerReport, rung: TriedRung) -> None:
    from cellwright.sandboxes import STANDARD

    missing = [finding.name for finding in report.findings if not finding.ok]
    untried = [finding for finding in report.findings if not finding.tried and finding.name in STANDARD]
    needed = [name for name in missing if name in STANDARD]
    console.print()
    if untried:
        console.print("[red]No jail could be started here[/red], so the layers are not known. The reason:")
        console.print(untried[0].fix, markup=False, soft_wrap=True)
    elif needed or not rung.ok:
        lack = f"missing: {', '.join(needed)}" if needed else "the process rung does not run"
        console.print(f"[red]This machine does not give the standard minimum[/red] ({lack}).")
    elif missing:
        console.print(f"[green]The standard minimum is there.[/green] Optional and missing: {', '.join(missing)}.")
    else:
        console.print("[green]Everything is there.[/green]")


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    return table


def _mark(ok: bool) -> str:
    return "[green]✓[/green]" if ok else "[red]✗[/red]"
