"""The report as Markdown: tables, and what a peer does better than we do. `rewrite` puts it into docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.results import Check, Conversation, Peer, Report, Unit, digits, shown

BEGIN, END = "<!-- begin: python -m benchmarks --write -->", "<!-- end -->"
PARTS = {
    name: f"<!-- begin: python -m benchmarks --only {name} --write -->"
    for name in ("guard", "privacy", "network", "sessions", "gateway", "at_once")
}
ABOUT = {"isolation": "isolation", "language": "Python", "keeps": "what is kept"}
WIRE = "Anthropic Messages"  # whose tokens are in the first table
Columns = tuple[tuple[str, str, Unit], ...]
COLUMNS: Columns = (
    ("cold", "first session", "s"),
    ("start", "new session", "s"),
    ("eval", "`1+1`", "s"),
    ("call", "sync host call", "s"),
    ("call_async", "async host call", "s"),
    ("fib", "`fib(22)`", "s"),
    ("memory", "idle memory", "B"),
)
LASTING_COLUMNS: Columns = (
    ("kept_call", "kept call", "s"),
    ("suspend", "return to a waiting call", "s"),
    ("bring_back", "100 cells restored", "s"),
)
AGENT_COLUMNS: Columns = (
    ("turn", "turn of three steps", "s"),
    ("further", "further turn", "s"),
    ("first", "`stream` to first piece", "s"),
)


def judged(check: Check) -> str:
    return {True: "✓", False: "✗", None: ""}[check.ok]


def valued(check: Check) -> str:
    return f"{digits(check.value)} {check.measure}"


def aimed(check: Check) -> str:
    if check.target is None:
        return ""
    return f"{'≥' if check.at_least else '≤'} {check.target:g} {check.measure}"


def markdown(report: Report) -> str:
    parts = (_head, _checks, _unmeasured, _peers, _lasting, _agents, _conversations, _losses)
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part(report))))


def _head(report: Report) -> Iterator[str]:
    where = report.machine
    yield (
        f"Measured on {report.date} with `{report.command}`: {where['cores']} cores ({where['architecture']}), "
        f"{where['memory']}, {where['kernel']}, {where['python']}, {where['files']}, {where['user']} user, "
        f"load before the run {where['load']}."
    )


def _checks(report: Report) -> Iterator[str]:
    """An empty cell repeats the one above it."""
    yield "| ours | | beside | | is, target |"
    yield "|---|--:|---|--:|--:|"
    above = ["", "", ""]
    for check in report.checks:
        if check.target is None and check.what.startswith("journal added"):
            continue  # other ways to look at the same commit: the terminal and `--json` have them
        if check.subject == "tokens" and WIRE not in check.what + check.note:
            continue  # the table of tokens has the other wires
        what = f"{check.what} ({check.note})" if check.note else check.what
        ours, theirs = shown(check.ours, check.unit), shown(check.theirs, check.unit)
        target = f"{aimed(check).removesuffix(check.measure).strip()} {judged(check)}".strip()
        own, against, other = f"{what} | {ours}", check.against, f"{check.against} | {theirs}"
        row = " | ".join(
            (
                own if own != above[0] else " | ",
                against if against != above[1] else "",
                theirs if other != above[2] else "",
            )
        )
        above = [own, against, other]
        yield f"| {row} | **{valued(check)}** {target}".rstrip() + " |"


def _unmeasured(report: Report) -> Iterator[str]:
    yield from (f"- {line}" for line in report.remarks)


def _peers(report: Report) -> Iterator[str]:
    picture = ("![Start and host-call times, ours and others'](images/benchmarks.svg)", "")
    about = ("isolation", "language")
    return _table("Beside others", report.peers, COLUMNS, about, picture)


def _lasting(report: Report) -> Iterator[str]:
    return _table("Sessions that last", report.lasting, LASTING_COLUMNS, ("keeps", "isolation"))


def _agents(report: Report) -> Iterator[str]:
    about = ("isolation", "language")
    return _table("Agents: a turn without the model's time", report.agents, AGENT_COLUMNS, about)


def _table(
    title: str, peers: Sequence[Peer], columns: Columns, about: Sequence[str], before: Sequence[str] = ()
) -> Iterator[str]:
    """A row for each peer: what is told `about` it, its figures; and the remarks below."""
    if not peers:
        return
    yield from (f"### {title}", "", *before)
    yield f"| | {' | '.join(ABOUT[name] for name in about)} | {' | '.join(title for _, title, _ in columns)} |"
    yield f"|---|{'---|' * len(about)}{'--:|' * len(columns)}"
    for peer in peers:
        told = " | ".join(getattr(peer, name) for name in about)
        yield f"| {_named(peer)} | {told} | {' | '.join(_figures(peer, columns))} |"
    yield from _remarks(peers)


def _conversations(report: Report) -> Iterator[str]:
    if not report.conversations:
        return
    yield "### Tokens on the wire"
    yield ""
    wires = list(dict.fromkeys(each.wire for each in report.conversations))
    yield f"| task | | requests | tokens out | {' | '.join(wires)} |"
    yield f"|---|---|--:|--:|{'--:|' * len(wires)}"
    above = ""
    for task, way in dict.fromkeys((each.task, each.way) for each in report.conversations):
        turns = {each.wire: each for each in report.conversations if (each.task, each.way) == (task, way)}
        first = next(iter(turns.values()))
        sent = " | ".join(_sent(turns[wire]) if wire in turns else "—" for wire in wires)
        yield f"| {task if task != above else ''} | {way} | {first.requests:,} | {first.output_tokens:,} | {sent} |"
        above = task


def _sent(each: Conversation) -> str:
    return f"{each.input_bytes:,}; {each.input_tokens:,}; {each.input_tokens - each.cached_tokens:,}"


def _named(peer: Peer) -> str:
    return f"{peer.name} {peer.version}".strip()


def _figures(peer: Peer, columns: Columns) -> list[str]:
    return [shown(peer.figures[task], unit) if task in peer.figures else "—" for task, _, unit in columns]


def _remarks(peers: Sequence[Peer]) -> Iterator[str]:
    for peer in peers:
        remarks = [*([peer.missing] if peer.missing else []), *peer.notes]
        if remarks:
            yield f"\n{peer.name}: {'; '.join(remarks)}."


def _losses(report: Report) -> Iterator[str]:
    if not (report.peers or report.lasting or report.agents):
        return
    yield "### Where we lose"
    yield ""
    rounds = ((report.peers, COLUMNS), (report.lasting, LASTING_COLUMNS), (report.agents, AGENT_COLUMNS))
    lost = [line for peers, columns in rounds for line in _lost(peers, columns)]
    yield from lost or ["In this run, nowhere by more than 5 %."]


def _lost(peers: tuple[Peer, ...], columns: Columns) -> Iterator[str]:
    """For each figure who needs less, and by which factor. Peers whose name begins with the first one's are ours."""
    for task, title, _ in columns:
        own = peers[0].figures.get(task) if peers else None
        better: list[str] = []
        for peer in (peer for peer in peers[1:] if not peer.name.startswith(peers[0].name)):
            theirs = peer.figures.get(task)
            if theirs is not None and own is not None and theirs < own * 0.95:
                better.append(f"{peer.name} {f'{digits(own / theirs)} ×' if theirs > 0 else '(nothing measurable)'}")
        if better:
            yield f"- {title}: {', '.join(better)}"


def rewrite(page: Path, report: Report, begin: str = BEGIN) -> None:
    """Puts the report between the marks."""
    put_between(page, begin, END, markdown(report))


def put_between(page: Path, begin: str, end: str, text: str) -> None:
    """Rewrites what stands between two marks of a page."""
    head, rest = page.read_text(encoding="utf-8").split(begin, 1)
    _, tail = rest.split(end, 1)
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")
