"""The report as Markdown: tables, and what a peer does better than we do. `rewrite` puts it into docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Check, Conversation, Peer, Report, Unit, digits, shown

BEGIN, END = "<!-- begin: python -m benchmarks --write -->", "<!-- end -->"
Columns = tuple[tuple[str, str, Unit], ...]
COLUMNS: Columns = (
    ("cold", "first session, nothing warm", "s"),
    ("start", "new session to `1+1`", "s"),
    ("eval", "`1+1` in a live one", "s"),
    ("call", "sync host call", "s"),
    ("call_async", "async host call", "s"),
    ("fib", "`fib(22)`", "s"),
    ("memory", "memory, live and idle", "B"),
)
LASTING_COLUMNS: Columns = (
    ("kept_call", "a call that is kept", "s"),
    ("suspend", "from standing at a call to standing there again, afresh", "s"),
    ("bring_back", "100 cells' names brought back", "s"),
)
AGENT_COLUMNS: Columns = (
    ("turn", "a turn of three steps, in a session of its own", "s"),
    ("further", "a further turn of that session", "s"),
    ("first", "from `stream` to the first piece of a reply", "s"),
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
    parts = (_head, _checks, _peers, _lasting, _agents, _conversations, _losses)
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part(report))))


def _head(report: Report) -> Iterator[str]:
    where = report.machine
    yield (
        f"Measured on {report.date} with `{report.command}`: {where['cores']} cores ({where['architecture']}), "
        f"{where['memory']}, {where['kernel']}, {where['python']}, as {where['user']} user, "
        f"load before the run {where['load']}."
    )


def _checks(report: Report) -> Iterator[str]:
    yield "| ours | | beside | | is | target | |"
    yield "|---|--:|---|--:|--:|--:|---|"
    for check in report.checks:
        what = f"{check.what} ({check.note})" if check.note else check.what
        ours, theirs = shown(check.ours, check.unit), shown(check.theirs, check.unit)
        yield (
            f"| {what} | {ours} | {check.against} | {theirs} | **{valued(check)}** | {aimed(check)} | {judged(check)} |"
        )


def _peers(report: Report) -> Iterator[str]:
    if not report.peers:
        return
    yield "### Beside others"
    yield ""
    yield "![Start and host-call times, ours and others'](images/benchmarks.svg)"
    yield ""
    yield f"| | isolation | Python | {' | '.join(title for _, title, _ in COLUMNS)} |"
    yield f"|---|---|---|{'--:|' * len(COLUMNS)}"
    for peer in report.peers:
        yield f"| {_named(peer)} | {peer.isolation} | {peer.language} | {' | '.join(_figures(peer, COLUMNS))} |"
    yield from _remarks(report.peers)


def _lasting(report: Report) -> Iterator[str]:
    if not report.lasting:
        return
    yield "### Sessions that last"
    yield ""
    yield f"| | what is kept | isolation | {' | '.join(title for _, title, _ in LASTING_COLUMNS)} |"
    yield f"|---|---|---|{'--:|' * len(LASTING_COLUMNS)}"
    for peer in report.lasting:
        yield f"| {_named(peer)} | {peer.keeps} | {peer.isolation} | {' | '.join(_figures(peer, LASTING_COLUMNS))} |"
    yield from _remarks(report.lasting)


def _agents(report: Report) -> Iterator[str]:
    if not report.agents:
        return
    yield "### Agents: a turn without the model's time"
    yield ""
    yield f"| | isolation | Python | {' | '.join(title for _, title, _ in AGENT_COLUMNS)} |"
    yield f"|---|---|---|{'--:|' * len(AGENT_COLUMNS)}"
    for peer in report.agents:
        yield f"| {_named(peer)} | {peer.isolation} | {peer.language} | {' | '.join(_figures(peer, AGENT_COLUMNS))} |"
    yield from _remarks(report.agents)


def _conversations(report: Report) -> Iterator[str]:
    if not report.conversations:
        return
    yield "### Tokens on the wire"
    yield ""
    yield "| task | wire | | requests | bytes sent | tokens in | of them new | tokens out | in and out |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|"
    yield from map(_conversation, report.conversations)


def _conversation(each: Conversation) -> str:
    new = each.input_tokens - each.cached_tokens
    figures = (each.requests, each.input_bytes, each.input_tokens, new, each.output_tokens, each.tokens)
    return f"| {each.task} | {each.wire} | {each.way} | {' | '.join(f'{figure:,}' for figure in figures)} |"


def _named(peer: Peer) -> str:
    return f"{peer.name} {peer.version}".strip()


def _figures(peer: Peer, columns: Columns) -> list[str]:
    return [shown(peer.figures[task], unit) if task in peer.figures else "—" for task, _, unit in columns]


def _remarks(peers: tuple[Peer, ...]) -> Iterator[str]:
    for peer in peers:
        remarks = [*([peer.missing] if peer.missing else []), *peer.notes]
        if remarks:
            yield f"\n{peer.name}: {'; '.join(remarks)}."


def _losses(report: Report) -> Iterator[str]:
    yield "### Where we lose"
    yield ""
    rounds = ((report.peers, COLUMNS), (report.lasting, LASTING_COLUMNS), (report.agents, AGENT_COLUMNS))
    lost = [line for peers, columns in rounds for line in _lost(peers, columns)]
    yield from lost or ["In this run, nowhere by more than 5 %."]


def _lost(peers: tuple[Peer, ...], columns: Columns) -> Iterator[str]:
    """The first is ours, and so is who begins with its name."""
    for task, title, unit in columns:
        for peer in (peer for peer in peers[1:] if not peer.name.startswith(peers[0].name)):
            theirs, own = peer.figures.get(task), peers[0].figures.get(task)
            if theirs is not None and own is not None and theirs < own * 0.95:
                factor = f"{digits(own / theirs)} × less" if theirs > 0 else "nothing measurable"
                figures = f"{shown(theirs, unit)} against our {shown(own, unit)}"
                yield f"- {title}: {peer.name} takes {factor} ({figures})."


def rewrite(page: Path, report: Report) -> None:
    """Puts the report between the marks."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    page.write_text(f"{head}{BEGIN}\n\n{markdown(report)}\n\n{END}{tail}", encoding="utf-8")
