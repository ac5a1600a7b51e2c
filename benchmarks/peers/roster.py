"""Who takes part, and the environments that peers are installed in: `benchmarks/peers-3.x` in the cache directory."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INSTALL_S = 300


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One contestant: a module of this package, and what it needs installed."""

    name: str
    module: str
    requirements: tuple[str, ...] = ()
    isolation: str
    language: str
    keeps: str = ""  # of a session that lasts: what is kept of it, and what that outlives
    notes: tuple[str, ...] = ()
    environment: str = "peers"  # those that cannot be installed beside each other have one each


US = Entry(name="Cellwright", module="jail", isolation="kernel jail, own process", language="CPython")

ROSTER = (
    US,
    Entry(
        name="Monty",
        module="monty",
        requirements=("pydantic-monty==1.4.0",),
        isolation="own interpreter, plain process",
        language="a subset",
    ),
    Entry(
        name="FastMCP CodeMode",
        module="code_mode",
        requirements=("fastmcp[code-mode]==4.1.2", "pydantic-monty==1.4.0"),
        isolation="as Monty",
        language="a subset",
    ),
    Entry(
        name="smolagents local",
        module="local_executor",
        requirements=("smolagents==1.26.0",),
        isolation="none: the host's process",
        language="most of Python",
    ),
    Entry(name="a subprocess a cell", module="process", isolation="none: a plain process", language="CPython"),
)

LASTING = (
    Entry(
        name="Cellwright",
        module="journaled",
        isolation="kernel jail, own process",
        language="CPython",
        keeps="each call and result, in SQLite; survives `kill -9`",
        notes=("a resume runs the cells again with the recorded results",),
    ),
    Entry(
        name="Monty",
        module="monty",
        requirements=("pydantic-monty==1.4.0",),
        isolation="own interpreter, plain process",
        language="a subset",
        keeps="the interpreter as bytes, when the host asks",
        notes=(
            "the bytes stay in memory here, unauthenticated; a death loses what happened since the last dump; nothing "
            "is computed again",
        ),
    ),
    Entry(
        name="DBOS",
        module="steps",
        requirements=("dbos==3.3.0",),
        isolation="none: the host's process",
        language="the host's own",
        keeps="each step's result, in SQLite; survives `kill -9`",
        notes=(
            "a step is a plain function call; set to WAL and `synchronous = normal` as ours (its default is slower); "
            "its recovery was not timed",
        ),
    ),
)

AGENTS = (
    Entry(
        name="Cellwright",
        module="agent",
        isolation="kernel jail, own process",
        language="CPython",
        notes=(
            "each cell is type-checked by a checker started for the session; a turn opens and closes its session; the "
            "zygote is warm",
        ),
    ),
    Entry(
        name='Cellwright, `check="off"`',
        module="agent_unchecked",
        isolation="kernel jail, own process",
        language="CPython",
    ),
    Entry(
        name="pydantic-ai + harness CodeMode",
        module="harness",
        requirements=("pydantic-ai-harness[code-mode]==0.62.0", "pydantic-monty==1.4.0"),
        isolation="own interpreter, plain process",
        language="a subset",
        environment="agents",
        notes=(
            "the third reply is a `final_result` call, because code cannot end a run; only an interpreter's first cell "
            "is type-checked; a further turn has the messages and, by `repl_store`, the names",
        ),
    ),
    Entry(
        name="smolagents CodeAgent",
        module="code_agent",
        requirements=("smolagents==1.26.0",),
        isolation="none: the host's process",
        language="most of Python",
        environment="agents",
        notes=(
            "the local executor; `LogLevel.OFF`; a further turn is `run(reset=False)`; streaming draws Markdown to a "
            "null console",
        ),
    ),
    Entry(
        name="openai-agents",
        module="function_tools",
        requirements=("openai-agents==0.24.0",),
        isolation="none: nothing is executed",
        language="no code: function tools",
        environment="agents",
        notes=(
            "function calls: ten in one reply, one that adds up, the answer; tracing off; a further turn has the "
            "first one's items",
        ),
    ),
)


class Environment:
    """The peers' virtual environments. A requirement that was installed once is not looked at again."""

    def __init__(self, cache: Path, say: Callable[[str], None]) -> None:
        self._place = cache / "benchmarks"
        self._say = say

    def python(self, entry: Entry, *, install: bool) -> tuple[str, str]:
        """The interpreter for this contestant, or why there is none."""
        if not entry.requirements:
            return sys.executable, ""
        wanted = " ".join(entry.requirements)
        root = self._place / f"{entry.environment}-{sys.version_info[0]}.{sys.version_info[1]}"
        python = root / "bin" / "python"
        stamp = root / f".installed-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
        if stamp.exists():
            return str(python), ""
        if not install:
            return "", "not installed here; a full run installs it"
        self._say(f"installing {wanted} into {root}")
        try:
            _install(python, root, entry.requirements)
        except subprocess.TimeoutExpired:
            return "", f"not installed: {wanted} took longer than {INSTALL_S} s"
        except subprocess.CalledProcessError as error:
            last = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-1:]
            return "", f"not installed: {' '.join(last)[:200] or error}"
        stamp.touch()
        return str(python), ""


VENV = [sys.executable, "-m", "venv", "--without-pip"]
PIP = ["install", "--quiet", "--disable-pip-version-check", "--retries", "1"]


def _install(python: Path, root: Path, requirements: tuple[str, ...]) -> None:
    uv = shutil.which("uv")
    if not python.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        make = [uv, "venv", "--quiet", "--no-project", "--python"] if uv else None
        _do([*make, sys.executable, str(root)] if make else [*VENV, str(root)])
    if uv:
        _do([uv, "pip", "install", "--quiet", "--python", str(python), *requirements])
    else:
        _do([sys.executable, "-m", "pip", "--python", str(python), *PIP, *requirements])


def _do(argv: list[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=INSTALL_S)
