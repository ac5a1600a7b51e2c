"""A type check before a cell runs: by the warm checker, beside `ty check` started anew on the same cell and stubs.

And the last cells of a long session under `check="strict"`, beside its hundredth.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Check
from benchmarks.run import Run, median, started
from cellwright import Runtime
from cellwright.catalog import TypeChecker
from cellwright.catalog.ty_server import find_ty
from cellwright.scope import Scope, scope_stubs

TARGET = 1 / 3
STEADY = 1.3
CELL = """
found = [c for c in contacts.list("Oslo", limit={number}) if c.score > 1]
names = {{c.name: c.score * {number} for c in found}}
for name, score in sorted(names.items(), key=lambda item: -item[1]):
    print(f"{{name:>10}} {{score:6.2f}}")
made = contacts.create("Zoe", "zoe@example.org")
made.name.upper(), len(names)
"""
LONG = """
def best(found, count):
    return sorted(found, key=lambda c: -c.score)[:count]
found = contacts.list("Oslo", limit={number})
names = {{c.name: c.score * {number} for c in best(found, 3)}}
total = len(names) + {number}
"""


@dataclass
class Contact:
    name: str
    email: str
    score: float = 0.0


class Contacts:
    def list(self, city: str, *, limit: int = 10) -> list[Contact]:
        return []

    def create(self, name: str, email: str) -> Contact:
        return Contact(name, email)


async def measure(run: Run) -> list[Check]:
    scope = Scope({"contacts": Contacts()})
    warm: list[float] = []
    anew: list[float] = []
    checker = TypeChecker(scope)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "ty.toml").write_text("", encoding="utf-8")
        (Path(place) / "scope.pyi").write_text(scope_stubs(scope), encoding="utf-8")
        cell = Path(place) / "cell.py"
        await checker.check("1 + 1")
        for number in run.rounds("type checks", 60, 3):
            code = CELL.format(number=number)
            began = time.perf_counter()
            mistakes = await checker.check(code)
            warm.append(time.perf_counter() - began)
            if mistakes:
                raise RuntimeError(f"a right cell was refused: {mistakes[0]}")
            cell.write_text(f"from scope import *\n{code}", encoding="utf-8")
            anew.append(started(find_ty(), "check", "-qq", "--project", place, str(cell)))
    await checker.close()
    return [
        Check(
            subject="type check",
            what="type check of a cell",
            against="fresh `ty check`",
            ours=median(warm),
            theirs=median(anew),
            value=median(warm) / median(anew),
            target=TARGET,
            samples=len(warm),
            note="warm `ty server`",
        ),
        await _long_session(run),
    ]


async def _long_session(run: Run) -> Check:
    took: list[float] = []
    async with Runtime({"contacts": Contacts()}, check="strict") as rt:
        for number in run.rounds("cells of a long session", 5_000, 20):
            began = time.perf_counter()
            (await rt.execute(LONG.format(number=number))).unwrap()
            took.append(time.perf_counter() - began)
    early, late = took[50:150] or took, took[-100:]
    return Check(
        subject="type check",
        what=f"cell {len(took):,} of a session, checked and run",
        against="its cell 100",
        ours=median(late),
        theirs=median(early),
        value=median(late) / median(early),
        target=STEADY,
        samples=len(late),
        note="each cell rebinds the same names",
    )
