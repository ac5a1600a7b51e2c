"""Sessions with private values whose process dies at a write: each mail goes to the right person, and tokens stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cells import PATIENT
from tests.guard.clinic import PATIENTS, Clinic, found_in
from tests.journal.crash.dying import Mortal

from cellwright import Runtime, operation
from cellwright.errors import JournalFailed
from cellwright.store import MemoryStore

pytestmark = pytest.mark.usefixtures("warm")

CELLS = (
    "ps = clinic.patients()\nfirst = [p.email for p in ps]",
    """
def send(p):
    for attempt in range(9):
        try:
            return clinic.mail(p.email, f"to {p.full_name}")
        except Exception as error:
            if type(error).__name__ != "OutcomeUnknown":
                raise
            if clinic.was_sent(p.email):
                return "sent"
for p in ps:
    send(p)
""",
    "[clinic.card(n + 1)['contact']['email'] == ps[n].email == first[n] for n in range(3)]",
)


class LastingClinic(Clinic):
    """What it did is known to the next process, too."""

    @operation(reads=True, may_have=["email"])
    def was_sent(self, to: str) -> bool:
        return any(known == to for known, _ in self.sent)


async def live(store: Mortal, clinic: Clinic, place: Path) -> Any:
    """Runs all that is left; gives the value of the last cell."""
    options: dict[str, Any] = {"scope": {"clinic": clinic}, "store": store, "workspace": place, "limits": PATIENT}
    options |= {"private": True, "session": "s1"}
    known = "s1" in store.sessions()
    rt = Runtime.resume(take_over=True, **options) if known else Runtime(**options)
    async with rt:
        begun = len(store.cells("s1"))
        outcome = await rt.outcome() if begun else None
        for code in CELLS[begun:]:
            outcome = await rt.execute(code)
    assert outcome is not None
    return outcome.unwrap()


async def dies(place: Path, *moments: int) -> int:
    """One session whose processes die at these moments; gives how many moments its last life had."""
    (place / "work").mkdir(parents=True)
    store, clinic = Mortal(MemoryStore()), LastingClinic()
    for end in (*moments, None):
        store.live_until(end)
        try:
            assert await live(store, clinic, place / "work") == [True] * 3
        except JournalFailed:
            continue
        break
    assert [(to, text[:3]) for to, text in clinic.sent] == [(p.email, "to ") for p in PATIENTS]
    assert found_in(repr([*store.entries("s1", 1, None)])) == []
    return store.points


async def test_mails_go_to_the_right_people_whatever_write_a_process_dies_at(tmp_path: Path) -> None:
    moments = await dies(tmp_path / "whole")
    assert moments > 15
    for moment in range(1, moments, 3):
        await dies(tmp_path / str(moment), moment)


@pytest.mark.crash
async def test_the_same_at_every_write_and_again_while_recovering(tmp_path: Path) -> None:
    for moment in range(1, await dies(tmp_path / "whole")):
        await dies(tmp_path / str(moment), moment)
        await dies(tmp_path / f"{moment} twice", moment, 1 + moment % 8)
