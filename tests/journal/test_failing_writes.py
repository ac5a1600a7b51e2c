"""A disk that is full from the n-th write on, for each n: what happened is known, and the rest comes once."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT, SESSION

from cellwright import Runtime, operation
from cellwright.errors import JournalFailed
from cellwright.runtime import replay
from cellwright.store import Change, Claim, Facts, LeaseHolder, MemoryStore, Row

pytestmark = pytest.mark.usefixtures("warm")

CELLS = (
    "import asyncio\na = post.send('a')\nb = await post.send_later('b')\nopen('f.txt', 'w').write('one')",
    """
async def one(what):
    try:
        return await post.send_later(what)
    except Exception as error:
        assert type(error).__name__ == "OutcomeUnknown", error
        return "unknown"
got = await asyncio.gather(one('c'), one('d'), asyncio.sleep(0, 'slept'))
looked = post.look()
""",
    "post.each(lambda what: post.send(what))",
    "(len(got), looked, open('f.txt').read())",
)
EFFECTS = ("send", "send_later", "each")
FULL = "the disk is full"


class Failing(MemoryStore):
    """Takes so many writes, and none after them."""

    def __init__(self, writes: int | None = None) -> None:
        super().__init__()
        self.writes = writes
        self.made = 0

    def _take(self) -> None:
        if self.writes is not None and self.made >= self.writes:
            raise JournalFailed(FULL)
        self.made += 1

    def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
        self._take()
        return super().create(facts, holder)

    def write(self, claim: Claim, *changes: Change) -> int:
        if changes:
            self._take()
        return super().write(claim, *changes)

    def keep(self, session: str, content: bytes) -> str:
        self._take()
        return super().keep(session, content)

    def begun(self) -> int:
        """How many effects have a row."""
        rows: list[Row] = list(self.rows(SESSION)) if SESSION in self.sessions() else []
        return sum(row.door == "host" and row.name in EFFECTS for row in rows)


class Post:
    """Looks in the middle of each effect whether the journal knows of as many as have happened."""

    def __init__(self, journal: Failing) -> None:
        self.sent: list[Any] = []
        self.unwritten: list[Any] = []
        self._journal = journal

    def send(self, what: Any) -> int:
        self._happen(what)
        return len(self.sent)

    async def send_later(self, what: Any) -> int:
        await asyncio.sleep(0)
        return self.send(what)

    def each(self, function: Any) -> list[Any]:
        self._happen("each")
        return [function("e"), function("f")]

    @operation(reads=True)
    def look(self) -> str:
        return "looked"

    def _happen(self, what: Any) -> None:
        self.sent.append(what)
        if self._journal.begun() < len(self.sent):
            self.unwritten.append(what)


def opened(journal: Failing, post: Post, workspace: Path) -> Runtime:
    options: dict[str, Any] = {"scope": {"post": post}, "store": journal, "workspace": workspace, "limits": PATIENT}
    if SESSION in journal.sessions():
        return Runtime.resume(SESSION, **options)
    return Runtime(session=SESSION, **options)


async def carry_on(journal: Failing, post: Post, workspace: Path) -> None:
    """The rest of the session, as much as is left of it. A cell that was cut off may end in doubt."""
    async with opened(journal, post, workspace) as rt:
        begun = len(journal.cells(SESSION))
        if begun:
            outcome = await rt.outcome()
            assert outcome.error is None or "OutcomeUnknown" in str(outcome.error), outcome.error
        for code in CELLS[begun:]:
            await rt.execute(code)


@pytest.mark.slow
async def test_whichever_write_fails_the_journal_knows_each_effect_and_none_runs_twice(tmp_path: Path) -> None:
    journal = Failing()
    whole = Post(journal)
    (tmp_path / "whole").mkdir()
    await carry_on(journal, whole, tmp_path / "whole")
    writes, failed = journal.made, 0
    assert (whole.sent, whole.unwritten) == (["a", "b", "c", "d", "each", "e", "f"], [])
    assert writes > 20
    for number in range(writes):
        journal, workspace = Failing(number), tmp_path / str(number)
        post = Post(journal)
        workspace.mkdir()
        try:
            await carry_on(journal, post, workspace)
        except JournalFailed:
            failed += 1
        journal.writes = None
        await carry_on(journal, post, workspace)
        assert post.unwritten == [], f"write {number}"
        assert max(Counter(post.sent).values()) == 1, f"write {number}: {post.sent}"
        assert set(post.sent) <= set(whole.sent)
        again = await replay(SESSION, store=journal)
        assert again.same, f"write {number}: {again}"
    assert failed >= writes - 2  # those of the checkpoint at the close are nobody's loss


async def test_the_effect_whose_row_cannot_be_written_has_not_happened(tmp_path: Path) -> None:
    journal = Failing()
    post = Post(journal)
    async with opened(journal, post, tmp_path) as rt:
        journal.writes = journal.made + 3  # the cell, and the first call before and after it
        with pytest.raises(JournalFailed, match=FULL):
            await rt.execute("a = post.send('a')\nb = post.send('b')")
    assert post.sent == ["a"]
    journal.writes = None
    async with opened(journal, post, tmp_path) as rt:
        assert (await rt.outcome()).unwrap() == 2
        assert (await rt.execute("a, b")).unwrap() == (1, 2)
    assert post.sent == ["a", "b"]


async def test_the_guest_is_ended_and_the_next_use_brings_it_back_when_there_is_room(tmp_path: Path) -> None:
    journal = Failing()
    post = Post(journal)
    async with opened(journal, post, tmp_path) as rt:
        await rt.execute("x = 1")
        journal.writes = journal.made
        with pytest.raises(JournalFailed, match=FULL):
            await rt.execute("post.send('never')")
        parts: Any = rt._open  # pyright: ignore[reportPrivateUsage]  no public way to ask for the guest itself
        assert not parts.session.guest.alive
        with pytest.raises(JournalFailed, match=FULL):
            await rt.execute("post.send('never')")
        journal.writes = None
        assert (await rt.execute("x + 1")).unwrap() == 2
    assert post.sent == []
    async with opened(journal, post, tmp_path) as rt:
        assert (await rt.execute("x")).unwrap() == 1


async def test_a_session_that_could_not_be_made_is_not_there(tmp_path: Path) -> None:
    journal = Failing(0)
    with pytest.raises(JournalFailed, match=FULL):
        async with opened(journal, Post(journal), tmp_path):
            pass
    assert journal.sessions() == []
