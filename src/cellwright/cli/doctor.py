"""`cellwright doctor`: what this machine gives, each layer and rung proven by running it, and what adds the rest."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cellwright.cli.answers import json_text
from cellwright.cli.arguments import PLATFORM, ended, exit_on_error
from cellwright.cli.options import option
from cellwright.errors import CellwrightError, IsolationMissing
from cellwright.settings import Settings, variable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cellwright.sandboxes import Container, LayerReport


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedRung:
    """A rung, and whether a cell ran on it."""

    name: str
    ok: bool
    seen: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """All that was tried. `wanted` is the sandbox that programs get here: process, landlock or best."""

    report: LayerReport
    rungs: tuple[TriedRung, ...]
    wanted: str

    @property
    def process_ok(self) -> bool:
        return self.report.ok and self.rungs[0].ok

    @property
    def landlock_ok(self) -> bool:
        return self.rungs[1].ok

    @property
    def ok(self) -> bool:
        """Whether programs get the sandbox that they ask for here."""
        if self.wanted == "landlock":
            return self.landlock_ok
        return self.process_ok or (self.wanted == "best" and self.landlock_ok)


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

    Exit codes: 0 the sandbox that programs get here runs (CELLWRIGHT_SANDBOX, else process), 4 it does not.
    """
    import asyncio

    if seccomp:
        from cellwright.sandboxes import container_profile

        print(json_text(container_profile(), indent=1))
        return
    if not sys.platform.startswith("linux"):
        raise ended(PLATFORM, f"the process sandbox needs Linux; this is {sys.platform}")
    with exit_on_error():
        examined = asyncio.run(_examine(Settings.from_environment().sandbox))
    if as_json:
        print(json_text(_described(examined), ensure_ascii=False, indent=2))
    else:
        _show(examined)
    raise typer.Exit(0 if examined.ok else PLATFORM)


async def _examine(wanted: str) -> Examined:
    from cellwright.sandboxes import probe_layers

    report = await probe_layers(kubernetes=variable("KUBERNETES_SERVICE_HOST") is not None)
    rungs = (await _try_rung("process", report), await _try_rung("landlock", report))
    return Examined(report=report, rungs=rungs, wanted="process" if wanted == "auto" else wanted)


async def _try_rung(name: Literal["process", "landlock"], report: LayerReport) -> TriedRung:
    import time

    from cellwright.runtime import Runtime

    try:
        async with Runtime(sandbox=name) as runtime:  # the first session also waits for its zygote
            (await runtime.execute("1 + 1")).unwrap()
            began = time.perf_counter()
            async with Runtime(sandbox=name) as second:
                value = (await second.execute("1 + 1")).unwrap()
            took = time.perf_counter() - began
    except IsolationMissing as error:
        told = name == "process" and not report.ok  # by the layers, with the reasons
        text = str(error).partition(". `cellwright doctor`")[0]
        return TriedRung(name=name, ok=False, seen="refused, because layers are missing" if told else text)
    except CellwrightError as error:
        return TriedRung(name=name, ok=False, seen=str(error))
    return TriedRung(name=name, ok=value == 2, seen=f"opened a session, ran 1 + 1 and closed it in {took * 1e3:.1f} ms")


def _lacking(limit: HeldLimit, report: LayerReport) -> list[str]:
    missing = {finding.name for finding in report.findings if not finding.ok}
    return [layer for layer in limit.needs if layer in missing]


def _by(limit: HeldLimit, report: LayerReport) -> str:
    grouped = any(finding.name == "cgroup" and finding.ok for finding in report.findings)
    return limit.by if grouped or not limit.ungrouped else limit.ungrouped


def _described(examined: Examined) -> dict[str, object]:
    from cellwright.sandboxes import STANDARD, Limits

    report = examined.report
    return {
        "ok": examined.ok,
        "sandbox": examined.wanted,
        "container": asdict(report.container) if report.container else None,
        "help": _help(examined),
        "machine": {
            "kernel": platform.release(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        },
        "layers": [asdict(finding) | {"required": finding.name in STANDARD} for finding in report.findings],
        "rungs": [asdict(rung) for rung in examined.rungs],
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


def _help(examined: Examined) -> str:
    """The one line that would help here; "" where all of the standard minimum is there, or nothing is known to."""
    untried = [finding for finding in examined.report.findings if not finding.tried]
    return examined.report.remedy or (untried[0].fix if untried else "")


def _where(container: Container | None) -> str:
    if container is None:
        return f"as uid {os.geteuid()}"
    return f"as uid {os.geteuid()} in a container ({container.kind}{', gVisor' if container.gvisor else ''})"


def _show(examined: Examined) -> None:
    from rich.console import Console
    from rich.markup import escape

    from cellwright.sandboxes import STANDARD, Limits

    console, report = Console(highlight=False), examined.report
    machine = f"Linux {platform.release()} on {platform.machine()}, Python {platform.python_version()}"
    console.print(f"{machine}, {_where(report.container)}", style="dim", markup=False)
    layers = _table("layer", "what was tried, and seen")
    told = {"", report.remedy}  # the latter at the end, for all layers
    for finding in report.findings:
        optional = "" if finding.name in STANDARD else " [dim](optional)[/dim]"
        seen = finding.seen if finding.tried else "not tried"
        layers.add_row(_mark(finding.ok), finding.name + optional, escape(seen))
        if finding.fix not in told and finding.tried:
            layers.add_row("", "", f"[yellow]→ {escape(finding.fix)}[/yellow]")
            told.add(finding.fix)
    rungs = _table("rung", "what was tried, and seen")
    for rung in examined.rungs:
        optional = " [dim](optional)[/dim]" if rung.name != "process" else ""
        rungs.add_row(_mark(rung.ok), rung.name + optional, escape(rung.seen))
    limits = _table("limit", "default", "held by", "outcome")
    for limit in LIMITS:
        lacking = _lacking(limit, report)
        by = _by(limit, report) + (f" [red](needs {', '.join(lacking)})[/red]" if lacking else "")
        limits.add_row(_mark(not lacking), limit.name, f"{getattr(Limits(), limit.name):g}", by, limit.outcome)
    for table in (layers, rungs, limits):
        console.print()
        console.print(table)
    _close(console, examined)


def _close(console: Console, examined: Examined) -> None:
    from cellwright.sandboxes import STANDARD

    findings = examined.report.findings
    missing = [finding.name for finding in findings if not finding.ok]
    missing += ["the landlock rung"] if not examined.landlock_ok else []
    needed = [finding.name for finding in findings if finding.name in STANDARD and not finding.ok and finding.tried]
    untried = [finding for finding in findings if finding.name in STANDARD and not finding.tried]
    console.print()
    if examined.process_ok:
        rest = f" Optional and missing: {', '.join(missing)}." if missing else ""
        console.print(f"[green]{'The standard minimum' if missing else 'Everything'} is there.[/green]{rest}")
        return
    lack = f"missing: {', '.join(needed)}" if needed else "not known" if untried else "no session opens"
    console.print(f"[red]This machine does not give the standard minimum[/red] ({lack}).")
    for finding in untried[:1]:
        console.print(f"Some layers could not be tried: {finding.fix}", markup=False, soft_wrap=True)
    if line := examined.report.remedy:
        console.print("What would help here:")
        console.print(f"    {line}", markup=False, soft_wrap=True)
    if examined.landlock_ok and examined.wanted in ("landlock", "best"):
        console.print(f"CELLWRIGHT_SANDBOX={examined.wanted}: programs get the landlock sandbox, which runs here.")
    elif examined.landlock_ok:
        otherwise = "Where that is not possible" if line else "The landlock sandbox runs here"
        console.print(
            f'{otherwise}: sandbox="landlock", or CELLWRIGHT_SANDBOX=landlock. It guards less: docs/sandboxes.md.',
            markup=False,
            soft_wrap=True,
        )


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    return table


def _mark(ok: bool) -> str:
    return "[green]✓[/green]" if ok else "[red]✗[/red]"
