"""`Suites`: AgentDojo's suites, asked for in another process. Gives plain data; it knows no agent."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.peers.roster import Entry, Environment

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(__file__).with_name("suite_server.py")
LOCK = ROOT / "tests" / "interop" / "pip" / "agentdojo.txt"


def entry() -> Entry:
    """AgentDojo as a peer is installed: another lock file is another environment."""
    return Entry(
        name="AgentDojo",
        module="",
        requirements=("--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCK)),
        isolation="",
        language="",
        environment=f"agentdojo-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]}",
    )


class Missing(Exception):
    """AgentDojo is not installed here, and why."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """`parameters` are names, each with whether it must be given, and its default."""

    name: str
    object: str
    description: str
    parameters: list[list[Any]]


@dataclass(frozen=True, kw_only=True)
class UserTask:
    """`seen`: the places that outsiders write which the calls of the solution show; the `first` of these calls."""

    id: str
    prompt: str
    answer: str
    seen: list[str]
    first: int


@dataclass(frozen=True, kw_only=True)
class InjectionTask:
    """`is_said`: its goal is a sentence, and no call of a tool."""

    id: str
    goal: str
    answer: str
    is_said: bool


@dataclass(frozen=True, kw_only=True)
class Suite:
    name: str
    tools: list[Tool]
    users: list[UserTask]
    injections: list[InjectionTask]


class Trial:
    """One environment of a suite. `truth` solves the user's task; `obedience` is AgentDojo's own way to the goal."""

    def __init__(self, suites: Suites, number: int, truths: list[list[dict[str, Any]]]) -> None:
        self._suites = suites
        self._number = number
        calls = [[ToolCall(**call) for call in truth] for truth in truths]
        self.truth, self.obedience = calls[0], calls[1] if len(calls) > 1 else []

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self._suites.ask("call", trial=self._number, tool=tool, arguments=arguments)

    def judged(self, answer: str) -> tuple[bool, bool]:
        """Whether the task was done, and whether the goal of the injection was reached. Ends the trial."""
        verdict = self._suites.ask("close", trial=self._number, answer=answer)
        return verdict["utility"], verdict.get("security", False)


class Suites:
    """A context manager. Asked from several threads, one question at a time."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._lock = threading.Lock()

    @classmethod
    def installed(cls, environment: Environment, *, install: bool = True) -> Suites:
        python, why = environment.python(entry(), install=install)
        if not python:
            raise Missing(why)
        return cls(python)

    def __enter__(self) -> Suites:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, do: str, **arguments: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            stdin.flush()
            line = stdout.readline()
        if not line:
            raise RuntimeError("AgentDojo's process ended")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["value"]

    def suites(self) -> list[Suite]:
        return [
            Suite(
                name=each["name"],
                tools=[Tool(**tool) for tool in each["tools"]],
                users=[UserTask(**task) for task in each["users"]],
                injections=[InjectionTask(**task) for task in each["injections"]],
            )
            for each in self.ask("describe")
        ]

    def open(self, suite: Suite, user: UserTask, injection: InjectionTask | None = None, text: str = "") -> Trial:
        """`text` stands in every place that an outsider can write and the task's solution shows."""
        opened = self.ask(
            "open",
            suite=suite.name,
            user=user.id,
            injection=injection.id if injection else "",
            text=text,
            vectors=user.seen if injection else [],
        )
        return Trial(self, opened["trial"], opened["truths"])
