"""A guest that dies, or meets a limit, while cells are run again: a fresh one is tried, and nothing is lost."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.worlds import agent_with
from tests.guard.keeping import LOOP, Office, carried_on, waits
from tests.guard.people import Mail
from tests.journal.killing import Killing
from tests.journal.lasting import PATIENT, SESSION, Post, Sessions, run, value

from cellwright import Limits, Runtime, operation
from cellwright.errors import RestoreFailed, WorkspaceLimit
from cellwright.journal import checkpoint_schedule, replay_deaths
from cellwright.runtime import replay
from cellwright.sessions import Sessions as StoredSessions
from cellwright.store import MemoryStore
from cellwright.testing import code

pytestmark = pytest.mark.usefixtures("warm")

CELLS = ("a = post.send('a')", "b = post.send('b') + post.send('c')", "n = a + b")


@pytest.fixture(autouse=True)
def no_checkpoint_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only at the close: not because a cell was slow."""
    monkeypatch.setattr(checkpoint_schedule, "FIRST_S", math.inf)


class Letters(Post):
    def __init__(self) -> None:
        super().__init__()
        self.undone: list[Any] = []

    def take_back(self, result: int, what: Any) -> None:
        self.undone.append(what)

    @operation(undo=take_back)
    def put(self, what: Any) -> int:
        return self.send(what)


async def record(sessions: Sessions, post: Letters, *, checkpoint: bool = False) -> None:
    async with sessions.life(scope={"post": post}) as rt:
        for cell in CELLS:
            await value(rt, cell)
        if checkpoint:
            await rt.close()  # in order, unlike other lives


def entries(sessions: Sessions) -> int:
    return sessions.journal.summary(SESSION).entries


def is_whole(rt: Runtime) -> bool:
    assert rt.restored is not None
    return rt.restored.diverged is None and not rt.restored.lost


@pytest.mark.parametrize("moment", ["cell 1", "call 1", "call 2", "call 3", "after 2", "cell 3", "after 3", "reveal"])
async def test_a_guest_that_dies_in_replay_is_followed_by_another(moment: str, sessions: Sessions) -> None:
    post = Letters()
    await record(sessions, post)
    sandbox = await Killing.make(moment, moment)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        assert is_whole(rt)
        assert await value(rt, "a, b, n") == (1, 5, 6)
    assert (sandbox.opened, post.sent) == (3, ["a", "b", "c"])
    await sandbox.close()


@pytest.mark.parametrize("moment", ["load", "reveal"])
async def test_one_that_dies_with_a_checkpoint_is_followed_by_another_with_it(moment: str, sessions: Sessions) -> None:
    post = Letters()
    await record(sessions, post, checkpoint=True)
    sandbox = await Killing.make(moment, moment)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        assert is_whole(rt)
        assert rt.restored is not None
        assert rt.restored.checkpoint == 3
        assert await value(rt, "n") == 6
    await sandbox.close()


@pytest.mark.parametrize("moment", ["cell 1", "call 2", "after 3", "reveal"])
async def test_after_three_deaths_nothing_is_written_and_the_next_resume_succeeds(
    moment: str, sessions: Sessions
) -> None:
    post = Letters()
    await record(sessions, post)
    before = entries(sessions)
    sandbox = await Killing.make(moment, moment, moment)
    with pytest.raises(RestoreFailed, match=r"'s1' was not brought back: 3 guests ended .* was run again"):
        async with sessions.life(scope={"post": post, "more": Letters()}, sandbox=sandbox):
            pass
    assert entries(sessions) == before
    assert sessions.journal.summary(SESSION).holder is None
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        assert is_whole(rt)
        assert await value(rt, "a, b, n") == (1, 5, 6)
    assert post.sent == ["a", "b", "c"]
    await sandbox.close()


async def test_what_a_checkpoint_has_is_not_given_up_for_guests_that_died_over_it(sessions: Sessions) -> None:
    unrepeatable = "import os\nopen('f', 'w').close()\nx = os.stat('f').st_mtime_ns"
    async with sessions.life() as rt:
        await value(rt, unrepeatable)
        await rt.close()
    before = entries(sessions)
    sandbox = await Killing.make("load", "load", "load")
    with pytest.raises(RestoreFailed, match="checkpoint"):
        async with sessions.life(sandbox=sandbox):
            pass
    assert entries(sessions) == before
    async with sessions.life(sandbox=sandbox) as rt:
        assert is_whole(rt)
        assert await value(rt, "x > 0") is True
    await sandbox.close()


async def cut_off(sessions: Sessions, post: Letters, cell: str) -> None:
    """A cell whose process dies while it waits."""
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "a = post.send('a')")
        running = asyncio.create_task(run(rt, cell))
        await asyncio.wait_for(post.at_gate.wait(), 20)
        sessions.journal.dead = True
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    post.gate.set()


@pytest.mark.parametrize("moment", ["call 1", "call 2", "cell 2"])
async def test_a_cut_off_cell_is_carried_on_though_guests_die_in_it(moment: str, sessions: Sessions) -> None:
    post = Letters()
    await cut_off(sessions, post, "b = post.send('b') + post.send('c')\nawait post.wait()\nb += post.send('d')\nb")
    sandbox = await Killing.make(moment, moment)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        assert (await rt.outcome()).unwrap() == 9
        assert await value(rt, "a, b") == (1, 9)
    assert post.sent == ["a", "b", "c", "d"]
    await sandbox.close()


async def test_an_open_transaction_of_a_cut_off_cell_is_not_settled_because_guests_died(sessions: Sessions) -> None:
    post = Letters()
    cell = "with transaction():\n    b = post.put('b')\n    c = post.put('c')\n    await post.wait()\nb + c"
    await cut_off(sessions, post, cell)
    before = entries(sessions)
    sandbox = await Killing.make(*["call 3"] * 3)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        with pytest.raises(RestoreFailed, match="cell 2 was run again"):
            await rt.outcome()
        assert (entries(sessions), post.undone) == (before, [])
        assert (await rt.outcome()).unwrap() == 5
    assert (post.sent, post.undone) == (["a", "b", "c"], [])
    await sandbox.close()


@pytest.mark.parametrize("moment", ["cell 1", "call 1"])
async def test_an_approved_call_is_made_once_though_guests_die_before_it(moment: str, tmp_path: Path) -> None:
    office, mail = Office(tmp_path), Mail()
    async with office.open(scope={"mail": mail}) as rt:
        assert waits(await run(rt, LOOP))
        office.say()
        assert waits(await rt.outcome())
    office.say()
    sandbox = await Killing.make(*[moment] * 3)
    async with office.open(scope={"mail": mail}, sandbox=sandbox) as rt:
        with pytest.raises(RestoreFailed):
            await rt.outcome()
        assert mail.sent == ["ann"]
        assert (await carried_on(rt, office)).unwrap() == [1, 2, 3]
    assert mail.sent == ["ann", "bob", "cid"]
    await sandbox.close()


@pytest.mark.slow
async def test_replay_has_its_own_time_whatever_the_cells_may_take_now(sessions: Sessions) -> None:
    post = Letters()
    async with sessions.life(scope={"post": post}) as rt:
        await value(rt, "slow = sum(range(8_000_000))")
    await cut_off(
        sessions, post, "b = post.send('b')\nc = sum(range(8_000_000)) + post.send('c')\nawait post.wait()\nc"
    )
    async with sessions.life(scope={"post": post}, limits=Limits(wall_s=0.1, cpu_s=0.1)) as rt:
        assert is_whole(rt)
        assert (await rt.outcome()).unwrap() > 0
        assert (await run(rt, "while True: pass")).error is not None  # a new cell has what it is given
        assert await value(rt, "slow > 0") is True
    assert post.sent == ["a", "b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("waits_for", ["while True: pass", "await __import__('asyncio').Event().wait()"])
async def test_a_cell_that_never_ends_again_is_given_up_with_its_journal_unchanged(
    waits_for: str, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_deaths, "REPLAY_S", 0.2)
    monkeypatch.setattr(replay_deaths, "TIMES", 0)
    post = Letters()
    await record(sessions, post)
    rewrite(sessions, waits_for)
    before = entries(sessions)
    with pytest.raises(RestoreFailed, match=r"cell 3 was run again.* the cell took longer than 0\.2 s"):
        async with sessions.life(scope={"post": post}):
            pass
    assert entries(sessions) == before
    assert str(await replay(SESSION, store=sessions.journal)) == "died: cell 3: the cell took longer than 0.2 s"


def rewrite(sessions: Sessions, code: str) -> None:
    """Another code for the last cell, as if what a clock of C decides in it were decided the other way."""
    sessions.journal.live_until(None)
    last = sessions.journal.cells(SESSION)[-1]
    sessions.journal.write(sessions.journal.claim(SESSION), replace(last, code=code))


@pytest.mark.parametrize(("then", "now"), [(1, 64), (64, 1)])
async def test_that_a_workspace_is_too_full_after_a_cell_is_neither_a_death_nor_a_difference(
    then: int, now: int, sessions: Sessions
) -> None:
    async with sessions.life(limits=replace(PATIENT, workspace_mb=then)) as rt:
        outcome = await run(rt, "n = open('f', 'wb').write(bytes(3 << 20))")
        assert isinstance(outcome.error, WorkspaceLimit) == (then == 1)
    async with sessions.life(limits=replace(PATIENT, workspace_mb=now)) as rt:
        assert is_whole(rt)
        assert (await run(rt, "import os; os.remove('f'); n")).value == 3 << 20


async def test_a_session_whose_cell_ends_every_guest_is_rewound_to_before_it(sessions: Sessions) -> None:
    post = Letters()
    await record(sessions, post)
    rewrite(sessions, "import os; os._exit(3)")
    with pytest.raises(RestoreFailed, match=r"cell 3 was run again.* exit code 3.* rewind"):
        async with sessions.life(scope={"post": post}):
            pass
    sessions.journal.live_until(None)
    with StoredSessions(sessions.journal) as stored:
        stored.rewind(SESSION, to=2)
    async with sessions.life(scope={"post": post}) as rt:
        assert is_whole(rt)
        assert await value(rt, "a, b") == (1, 5)


async def test_a_live_session_whose_guest_is_not_brought_back_tries_again_at_the_next_cell(sessions: Sessions) -> None:
    post, moments = Letters(), ["after 1", "cell 1", "cell 1", "cell 1", "cell 1"]
    sandbox = await Killing.make(*moments)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        await value(rt, "a = post.send('a')")
        before = entries(sessions)
        with pytest.raises(RestoreFailed, match="cell 1 was run again"):
            await run(rt, "a += 1")
        assert entries(sessions) == before
        assert await value(rt, "a += 1\na") == 2
    assert (post.sent, sandbox.opened) == (["a"], 6)
    await sandbox.close()


async def test_a_rewind_that_is_written_holds_though_no_guest_comes_back_then(sessions: Sessions) -> None:
    post = Letters()
    sandbox = await Killing.make("", *["cell 1"] * 3)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        for cell in CELLS:
            await value(rt, cell)
        with pytest.raises(RestoreFailed):
            await rt.rewind(1)
        assert await value(rt, "a, 'b' in globals()") == (1, False)
    await sandbox.close()


async def test_a_fork_whose_guests_died_can_be_resumed(sessions: Sessions) -> None:
    post = Letters()
    sandbox = await Killing.make("", *["call 1"] * 3)
    async with sessions.life(scope={"post": post}, sandbox=sandbox) as rt:
        for cell in CELLS:
            await value(rt, cell)
        with pytest.raises(RestoreFailed, match="'branch'"):
            await rt.fork(session="branch")
        async with Runtime.resume("branch", scope={"post": post}, store=sessions.journal, limits=PATIENT) as branch:
            assert await value(branch, "n") == 6
    await sandbox.close()


async def test_an_offline_replay_whose_guests_die_tells_that_and_no_difference(sessions: Sessions) -> None:
    post = Letters()
    await record(sessions, post)
    sandbox = await Killing.make("call 2")
    assert (await replay(SESSION, store=sessions.journal, sandbox=sandbox)).same
    sandbox.moments += ["call 2"] * 3
    died = await replay(SESSION, store=sessions.journal, sandbox=sandbox)
    assert (died.same, died.difference) == (False, None)
    assert str(died) == "died: cell 2: the guest process was ended by SIGKILL"
    await sandbox.close()


async def test_a_turn_whose_session_is_not_brought_back_can_be_carried_on_later() -> None:
    store = MemoryStore()
    sandbox = await Killing.make("after 1", *["cell 1"] * 3)
    agent, _ = agent_with(code("n = 6"), code("done(n * 7)"), store=store, sandbox=sandbox)
    with pytest.raises(RestoreFailed):
        async with agent.session("s1") as session:
            await session.run("How much?", returns=int)
    assert [turn.status for turn in store.turns("s1")] == ["running"]
    (recovered,) = await agent.recover(returns=int)
    assert recovered.value == 42
    await sandbox.close()
