"""What a small task is: words for the agent, fresh live objects, and a check of the answer and of what was done.

Knows no agent and no model: a task can be run by anything that binds names and gets back a value.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from toolwright import operation
from toolwright.sandboxes import GUEST_UID

Check = Callable[[Any], str]
"""From the value that came back to "", or to what is wrong with it or with what was done."""

TAGS = {
    "lookup": "one fact, by one or two calls",
    "aggregate": "a count, a sum, an extreme of many",
    "loop": "the same call for each of several",
    "join": "two sources that have to be brought together",
    "effect": "something has to be done, exactly once",
    "transform": "the answer has to be computed from a text or a format",
    "big-result": "a result that is too long to be read",
    "error-recovery": "a call that fails, and the task says what then",
    "async": "functions that have to be awaited",
    "files": "files of the workspace",
    "handles": "objects that are got from other objects",
}

reading = operation(reads=True, direct=True)
acting = operation(direct=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """Live objects for one run, and the check that is asked once when it is over."""

    scope: Mapping[str, Any]
    check: Check


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One task. `returns` is the type of its answer, None where only what is done counts.

    `prepare` is given the workspace and makes everything anew. `solution` is a cell that is right, each of `wrong` one
    that comes to an end and is not. `code_only` says that its objects make no sense one call at a time.
    """

    id: str
    prompt: str
    returns: Any
    tags: tuple[str, ...]
    solution: str
    wrong: tuple[str, ...]
    prepare: Callable[[Path], Trial]
    code_only: bool = False

    @property
    def classes(self) -> dict[str, type]:
        """The class that the answer is to be made of, where it is one that code has to build."""
        built: Any = self.returns
        return {built.__name__: built} if isinstance(built, type) and is_dataclass(built) else {}


def task(
    *,
    id: str,
    prompt: str,
    returns: Any,
    tags: str,
    solution: str,
    wrong: tuple[str, ...],
    code_only: bool = False,
) -> Callable[[Callable[[Path], Trial]], Task]:
    """Make a task of the function that prepares it. `tags` are words."""

    def made(prepare: Callable[[Path], Trial]) -> Task:
        return Task(
            id=id,
            prompt=" ".join(prompt.split()),
            returns=returns,
            tags=tuple(tags.split()),
            solution=solution,
            wrong=wrong,
            prepare=prepare,
            code_only=code_only,
        )

    return made


@contextmanager
def workspace() -> Generator[Path]:
    """A directory for one run, which the guest owns also where the host is root."""
    with tempfile.TemporaryDirectory(prefix="toolwright-eval-") as place:
        if os.geteuid() == 0:
            os.chown(place, GUEST_UID, GUEST_UID)
        yield Path(place)
