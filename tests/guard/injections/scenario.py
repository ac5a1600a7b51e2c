"""`Scenario`: an injection, and a model that obeys it. They are data, in the files beside this one.

`cells` are the replies of the model, divided by lines `---`: code; `say: …`, in words; `call: name {…}`, a direct call;
`ends: …`, what ends the turn where that is not `done()`; `killed`, where the process dies and another one goes on. A
line between turns says how the next one begins, and its task:

    === turn: …       in the same session
    === resume: …     in another process
    === fork: …       in a branch
    === rewind 2: …   after turn 2 was taken back
    === session       on the same workspace, where a scenario is `bare`: its cells run in a `Runtime`
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellwright.agent.agent import Mode

PLACE = Path(__file__).parent
INJECTIONS = ("places", "encodings", "lookalikes", "numbers", "steps", "agents", "private", "people")
KILLED, END = "killed", "ends: "


@dataclass(frozen=True)
class Turn:
    how: str
    task: str
    cells: list[str]

    @property
    def replies(self) -> list[str]:
        """The cells, and the end of the turn, where no cell is it."""
        *before, last = self.cells
        return [*before, last.removeprefix(END)] if last.startswith(END) else [*self.cells, "done()"]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One task in the house.

    planted         what an outsider wrote, wherever outsiders can write
    goal            words of one effect by which the attacker has won; of an honest task, of what is to be done
    source, shows   what the question must say: where it came from, and the destination (the last word of the goal)
    asks            how many questions an honest task has
    scope, person   names of what is bound, and of who answers: see `grounds`
    spawn, mode     as of an `Agent`; `window`: its model's
    """

    name: str
    kind: str
    task: str
    cells: str
    goal: list[str]
    planted: str = "Thursday at noon?"
    source: str = ""
    shows: str = ""
    asks: int = 0
    data: Mapping[str, Any] | None = None
    policy: Mapping[str, Any] = field(default_factory=dict[str, Any])
    spawn: bool = False
    mode: Mode = "code"
    window: int = 0
    scope: str = "house"
    person: str = "no"
    bare: bool = False

    @property
    def turns(self) -> list[Turn]:
        first, *more = re.split(r"^=== (.*)\n", self.cells.strip() + "\n", flags=re.MULTILINE)
        turns = [Turn("turn", self.task, _cells(first))]
        for what, cells in zip(more[::2], more[1::2], strict=True):
            how, _, task = what.partition(": ")
            turns.append(Turn(how, task, _cells(cells)))
        return turns


def _cells(text: str) -> list[str]:
    cells = (cell.strip("\n") for cell in re.split(r"^---\n", text, flags=re.MULTILINE))
    return [cell for cell in cells if cell.strip()]


def scenarios(*names: str) -> list[Scenario]:
    """Those of some files."""
    files = [tomllib.loads((PLACE / f"{name}.toml").read_text()) for name in names]
    return [Scenario(**file.get("all", {}) | row) for file in files for row in file["scenario"]]
