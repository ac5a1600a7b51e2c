"""The cells of `cells/right` and `cells/wrong`, as tests read them.

# %%                              a cell that begins a session
# %% +                            one that goes on with the session before it
# %% 2 fails: what is wrong       a wrong one, and its line: it raises when it runs
# %% 2 errs: what is wrong        a wrong one that runs to its end and does not do what it says
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CELLS = Path(__file__).parent / "cells"
HEADER = re.compile(r"# %%(?P<goes_on> \+)?(?: (?P<line>\d+) (?P<how>fails|errs): (?P<wrong>.+))?$")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A cell, those of its session before it, and what is wrong with it."""

    title: str
    code: str
    before: tuple[str, ...]
    line: int = 0
    fails: bool = False
    wrong: str = ""


def samples(kind: str) -> list[Sample]:
    return [sample for file in sorted((CELLS / kind).glob("*.py")) for sample in read(file)]


def read(file: Path) -> list[Sample]:
    found: list[Sample] = []
    session: tuple[str, ...] = ()
    lines = file.read_text(encoding="utf-8").splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("# %%")]
    for head, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        marked = HEADER.match(lines[head])
        assert marked, f"{file.name}:{head + 1}: not a header"
        code = "\n".join(lines[head + 1 : end]).strip("\n")
        session = session if marked["goes_on"] else ()
        found.append(
            Sample(
                title=f"{file.stem}:{head + 1}",
                code=code,
                before=session,
                line=int(marked["line"] or 0),
                fails=marked["how"] == "fails",
                wrong=marked["wrong"] or "",
            )
        )
        session = (*session, code)
    return found
