"""The peers' start and host-call times as bars on a logarithmic scale, drawn as SVG text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from benchmarks.results import Peer, Report, shown

WIDTH, LEFT, RIGHT = 1000, 220, 110
BAR, GAP, HEAD, FOOT = 24, 12, 56, 34
OURS, OTHERS, INK, SOFT, GRID = "#b45309", "#94a3b8", "#0f172a", "#475569", "#e2e8f0"
PANELS = (
    ("A new session to its first result", ("start",), {"start": ""}),
    (
        "A call from guest code to a host function and back",
        ("call", "call_async"),
        {"call": "sync", "call_async": "async"},
    ),
)
Bar = tuple[str, float, bool]


def svg(report: Report) -> str:
    panels: list[str] = []
    y = 20.0
    for title, tasks, kinds in PANELS:
        bars = list(_bars(report.peers, tasks, kinds))
        if bars:
            panels += _panel(title, bars, y)
            y += HEAD + len(bars) * (BAR + GAP) + FOOT
    y += 22
    first = report.peers[0].name
    where = f"{report.machine['cores']} cores, {report.machine['python']}, {report.date}"
    words = "; ".join(
        f"{name} {shown(value, 's')}" for _, t, k in PANELS for name, value, _ in _bars(report.peers, t, k)
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" role="img" aria-labelledby="t d"',
            '     font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" font-size="14">',
            f'  <title id="t">Start and host-call times of {escape(first)} and others</title>',
            f'  <desc id="d">{escape(words)}</desc>',
            f'  <rect width="{WIDTH}" height="{y:.0f}" rx="10" fill="#fff"/>',
            *panels,
            _text(20, y - 14, f"medians, logarithmic scale, shorter is better; {where}", fill=SOFT, size=12),
            "</svg>",
            "",
        ]
    )


def _bars(peers: tuple[Peer, ...], tasks: tuple[str, ...], kinds: dict[str, str]) -> Iterator[Bar]:
    for peer in peers:
        for task in tasks:
            if task in peer.figures:
                yield (
                    " ".join(filter(None, (peer.name + ("," if kinds[task] else ""), kinds[task]))),
                    peer.figures[task],
                    peer is peers[0],
                )


def _panel(title: str, bars: list[Bar], y: float) -> Iterator[str]:
    low = math.floor(math.log10(min(value for _, value, _ in bars)))
    high = math.ceil(math.log10(max(value for _, value, _ in bars)))
    high = max(high, low + 1)
    top, bottom = y + HEAD - 16, y + HEAD + len(bars) * (BAR + GAP)

    def at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / (high - low)

    yield _text(20, y + 20, title, size=17, bold=True)
    for power in range(low, high + 1):
        x = at(10.0**power)
        yield f'  <line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{GRID}"/>'
        yield _text(x, bottom + 16, _tick(power), fill=SOFT, size=12, anchor="middle")
    for i, (name, value, ours) in enumerate(bars):
        line = y + HEAD + i * (BAR + GAP)
        width = max(at(value) - LEFT, 2)
        place, fill = f'x="{LEFT}" y="{line:.1f}" width="{width:.1f}" height="{BAR}"', OURS if ours else OTHERS
        yield f'  <rect {place} rx="3" fill="{fill}"/>'
        yield _text(LEFT - 10, line + 17, name, anchor="end", bold=ours)
        yield _text(LEFT + width + 8, line + 17, shown(value, "s"), bold=ours)


def _tick(power: int) -> str:
    return f"{10 ** (power % 3)} {('ns', 'µs', 'ms', 's', 'ks')[power // 3 + 3]}"


def _text(
    x: float, y: float, words: str, *, fill: str = INK, size: int = 14, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'  <text {place} font-size="{size}" fill="{fill}"{weight}>{escape(words)}</text>'
