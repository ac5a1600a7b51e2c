"""What a run yields: checks with both of their figures, peers with theirs, conversations, and where it ran."""

from __future__ import annotations

import datetime
import os
import platform
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Unit = Literal["s", "B", "tokens", "%"]
Measure = Literal["×", "MB", "GB", "% fewer", "%", "tokens"]
AGENT_TASKS = ("turn", "further", "first")
LASTING_TASKS = ("kept_call", "suspend", "bring_back")
TASKS = ("cold", "start", "eval", "call", "call_async", "fib", "memory")


@dataclass(frozen=True, kw_only=True)
class Check:
    """`value` is what is judged: mostly how many times `theirs` `ours` is. Without a target nothing is judged."""

    subject: str
    what: str
    against: str
    ours: float
    theirs: float
    unit: Unit = "s"
    value: float
    measure: Measure = "×"
    target: float | None = None
    at_least: bool = False
    samples: int
    note: str = ""

    @property
    def ok(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One executor. `figures` has a number for each task it does, in seconds or bytes; `missing` says why none."""

    name: str
    version: str = ""
    isolation: str
    language: str
    keeps: str = ""  # of a session that lasts
    figures: dict[str, float] = field(default_factory=dict[str, float])
    notes: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A turn as it went over the wire to a model. `input_tokens` are of all requests' bodies, each with all before it.

    `cached_tokens` of them are the body of the request before, which a provider's cache may serve.
    """

    task: str
    wire: str
    way: str
    code: bool
    requests: int
    input_bytes: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole run."""

    command: str
    date: str
    quick: bool
    machine: dict[str, str]
    checks: tuple[Check, ...]
    peers: tuple[Peer, ...]
    lasting: tuple[Peer, ...] = ()
    agents: tuple[Peer, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    remarks: tuple[str, ...] = ()  # what could not be measured, and why

    def as_json(self) -> dict[str, Any]:
        told = asdict(self)
        for check, each in zip(told["checks"], self.checks, strict=True):
            check["ok"] = each.ok
        return told


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def machine() -> dict[str, str]:
    """What kind of machine this is, without its name."""
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    return {
        "cores": str(os.cpu_count()),
        "architecture": platform.machine(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "kernel": f"{platform.system()} {kernel}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def shown(value: float, unit: Unit) -> str:
    """A figure for people, three digits; tokens are counted."""
    if unit == "tokens":
        return f"{value:,.0f}"
    if unit == "%":
        return f"{value:.1f} %"
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if unit == "s" else ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    for scale, name in scales:
        if abs(value) >= scale:
            return f"{digits(value / scale)} {name}"
    scale, name = scales[-1]
    return f"{digits(value / scale)} {name}"


def digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
