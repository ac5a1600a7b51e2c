"""What a small task is: words for the agent, fresh live objects, and a check of the answer and of what was done.

Knows no agent and no model: a task can be run by anything that binds names and gets back a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from cellwright import operation
from cellwright.sandboxes import Files

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
    """Live objects for one run, and the check that is asked once when it is over.

    `files` are in the workspace at the beginning; at the end it also has those of `makes`, as far as they are there.
    """

    scope: Mapping[str, Any]
    check: Check
    files: dict[str, str] = field(default_factory=dict[str, str])
    makes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One task. `returns` is the type of its answer, None where only what is done counts.

    `prepare` makes everything anew. `solution` is a cell that is right, each of `wrong` one
    that comes to an end and is not. `code_only` says that what it needs makes no sense one call at a time.
    """

    id: str
    prompt: str
    returns: Any
    tags: tuple[str, ...]
    solution: str
    wrong: tuple[str, ...]
    prepare: Callable[[], Trial]
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
) -> Callable[[Callable[[], Trial]], Task]:
    """Make a task of the function that prepares it. `tags` are words."""

    def made(prepare: Callable[[], Trial]) -> Task:
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


async def put_files(trial: Trial, workspace: Files) -> None:
    """Before a run: the files that it begins with."""
    for name, text in trial.files.items():
        await workspace.write(name, text)


async def take_files(trial: Trial, workspace: Files) -> None:
    """After it: what was to be written, for the check. What is not there stays away."""
    for name in trial.makes:
        with suppress(FileNotFoundError):
            trial.files[name] = await workspace.read_text(name)
