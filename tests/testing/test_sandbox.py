"""`check_sandbox` passes on our rung, and fails on rungs that break a promise, with the promise in its words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cellwright import Outcome
from cellwright.errors import CodeError
from cellwright.sandboxes import Environment, Interpreter, Limits, OnEvent, Opening, ProcessSandbox, Sandbox, SavedState
from cellwright.testing import check_sandbox
from cellwright.testing.sandbox import SECRET

PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@pytest.fixture
def process(warm: None) -> ProcessSandbox:
    return ProcessSandbox(Environment(python=PYTHON))


async def test_the_process_sandbox_passes(process: ProcessSandbox) -> None:
    secrets = [text for name, text in os.environ.items() if len(text) > 8 and name != "PATH"]
    await check_sandbox(process, secrets=secrets)
    await process.close()


@dataclass
class Broken:
    """A sandbox round another, whose cells and openings can be tampered with."""

    inside: Sandbox
    rung: str = "broken"
    opening: Callable[[Opening], Opening] = lambda opening: opening
    code: Callable[[str], str] = lambda code: code
    outcome: Callable[[Outcome], Outcome] = lambda outcome: outcome
    events: bool = True

    async def open(self, opening: Opening) -> Interpreter:
        return BrokenInterpreter(self, await self.inside.open(self.opening(opening)))

    async def pins(self) -> dict[str, str]:
        return await self.inside.pins()

    async def close(self) -> None:
        await self.inside.close()


@dataclass
class BrokenInterpreter:
    broken: Broken
    inside: Interpreter

    @property
    def alive(self) -> bool:
        return self.inside.alive

    @property
    def reason(self) -> Any:
        return getattr(self.inside, "reason", None)

    async def run(
        self, cell: int, code: str, on_event: OnEvent | None = None, *, at: float = 0.0, seed: bytes = b""
    ) -> Outcome:
        heard = on_event if self.broken.events else None
        return self.broken.outcome(await self.inside.run(cell, self.broken.code(code), heard, at=at, seed=seed))

    async def reveal(self) -> None:
        await self.inside.reveal()

    async def save(self) -> SavedState | None:
        return await self.inside.save()

    async def load(self, content: bytes) -> None:
        await self.inside.load(content)

    async def close(self) -> None:
        await self.inside.close()


def unlimited(opening: Opening) -> Opening:
    return replace(opening, limits=Limits(wall_s=1.5))


def uncovered(opening: Opening) -> Opening:
    return replace(opening, scratch=None)


def forgets(code: str) -> str:
    return f"{code}\nfor name in [*globals()]: name.startswith('_') or globals().pop(name)"


def loses_value(outcome: Outcome) -> Outcome:
    return replace(outcome, value=None)


def loses_calls(outcome: Outcome) -> Outcome:
    return replace(outcome, calls=())


def hides_error(outcome: Outcome) -> Outcome:
    return replace(outcome, error=None)


def blurs_error(outcome: Outcome) -> Outcome:
    return replace(outcome, error=outcome.error and CodeError("x", type="X", message="x"))


BREAKS: dict[str, tuple[dict[str, Any], str]] = {
    "forgets": ({"code": forgets}, "names of one cell"),
    "loses values": ({"outcome": loses_value}, "names of one cell"),
    "loses calls": ({"outcome": loses_calls}, "runs on the host object"),
    "hides errors": ({"outcome": hides_error}, "leading underscore"),
    "blurs errors": ({"outcome": blurs_error}, "what a cell raises is its outcome"),
    "does not stream": ({"events": False}, "prints arrive while the cell runs"),
    "ignores a scratch": ({"opening": uncovered}, "with a scratch"),
    "has no limits": ({"opening": unlimited}, "beyond `(memory_mb|output_kb)`"),
}


@pytest.mark.parametrize("name", BREAKS)
async def test_a_rung_that_breaks_a_promise_is_told_which(
    name: str, process: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    tampering, words = BREAKS[name]
    monkeypatch.setattr("cellwright.testing.sandbox.PATIENCE_S", 3.0)
    with pytest.raises(AssertionError, match=words) as told:
        await check_sandbox(Broken(process, **tampering))
    assert "the broken rung breaks a promise" in str(told.value)
    await process.close()


async def test_a_rung_without_isolation_is_told_so(process: ProcessSandbox) -> None:
    def outside(outcome: Outcome) -> Outcome:
        """As if the file had been there."""
        missing = isinstance(outcome.error, CodeError) and outcome.error.type == "FileNotFoundError"
        return replace(outcome, error=None, value=SECRET) if missing else outcome

    with pytest.raises(AssertionError, match="it reached a file"):
        await check_sandbox(Broken(process, outcome=outside))
    await process.close()
