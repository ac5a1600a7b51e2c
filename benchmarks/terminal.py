"""The report as tables in a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.page import AGENT_COLUMNS, COLUMNS, LASTING_COLUMNS, Columns, aimed, judged, valued
from benchmarks.results import Peer, Report, shown


def show(report: Report, console: Console) -> None:
    rounds = ((report.peers, COLUMNS), (report.lasting, LASTING_COLUMNS), (report.agents, AGENT_COLUMNS))
    console.print(*([_checks(report)] if report.checks else []))
    console.print(*(_peers(peers, columns) for peers, columns in rounds if peers))
    for each in report.conversations:
        said = f"{each.task}, {each.wire}, {each.way}: {each.requests} requests, {each.tokens:,} tokens"
        console.print(said, markup=False, highlight=False)
    for line in report.remarks:
        console.print(line, style="dim", markup=False, highlight=False)
    for peer in (*report.peers, *report.lasting, *report.agents):
        for remark in (peer.missing, *peer.notes):
            if remark:
                console.print(f"{peer.name}: {remark}", style="dim", markup=False, highlight=False)


def _checks(report: Report) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    for title in ("ours", "beside"):
        table.add_column(title)
        table.add_column("", justify="right", no_wrap=True)
    table.add_column("is", justify="right", style="bold", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("")
    for check in report.checks:
        mark = judged(check)
        style = {"✓": "green", "✗": "red"}.get(mark, "")
        figures = shown(check.ours, check.unit), shown(check.theirs, check.unit)
        table.add_row(
            check.what.replace("`", ""),
            figures[0],
            check.against.replace("`", ""),
            figures[1],
            valued(check),
            aimed(check),
            f"[{style}]{mark}[/]" if style else "",
        )
    return table


def _peers(peers: tuple[Peer, ...], columns: Columns) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1))
    table.add_column("")
    for _, title, _ in columns:
        table.add_column(title.replace("`", ""), justify="right")
    for peer in peers:
        figures = [shown(peer.figures[task], unit) if task in peer.figures else "—" for task, _, unit in columns]
        table.add_row(f"{peer.name} {peer.version}", *figures)
    return table
