"""One process at a time has a session: the others are told, until it closes it, dies, or says nothing for too long."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.journal.lasting import PATIENT

from cellwright import Runtime
from cellwright.errors import Fenced, SessionBusy
from cellwright.journal import HEART
from cellwright.journal.heartbeat import Heart
from cellwright.store import LEASE_S, Claim, Facts, LeaseHolder, MemoryStore, SqliteStore, Store, this_process
from cellwright.testing.samples import facts
from cellwright_guest.wire import NOTHING

pytestmark = pytest.mark.usefixtures("warm")
ELSEWHERE = LeaseHolder(machine="another boot", process=7, started="1", name="far-away")


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "agents.db")
    yield made
    made.close()


def new(store: Store, session: str = "s1") -> Runtime:
    return Runtime(store=store, session=session, limits=PATIENT)


def again(store: Store, session: str = "s1", **options: Any) -> Runtime:
    return Runtime.resume(session, store=store, limits=PATIENT, **options)


async def test_a_session_that_is_open_in_this_process_is_busy_until_it_is_closed(store: Store) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
        with pytest.raises(
            SessionBusy, match=r"'s1' is open in this process; close it there, or .* with take_over=True"
        ):
            async with again(store):
                pass
        assert (await first.execute("x")).value == 1  # it noticed nothing
    async with again(store) as second:
        assert (await second.execute("x")).value == 1


async def test_who_wants_it_all_the_same_takes_it_over(store: Store) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
        async with again(store, take_over=True) as second:
            assert (await second.execute("x")).value == 1
            with pytest.raises(Fenced):
                await first.execute("x")


HOLDS = """
import asyncio, sys
from cellwright import Runtime

async def main():
    async with Runtime(store=sys.argv[1], session="s1") as rt:
        await rt.execute("x = 41")
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


async def test_a_session_of_another_process_is_busy_while_that_lives_and_free_when_it_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else is to go on meanwhile
        [sys.executable, "-c", HOLDS, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(SessionBusy, match=f"'s1' is open in process {other.pid}.*take_over=True"):
            async with Runtime.resume("s1", store=place, limits=PATIENT):
                pass
        other.kill()
        other.wait()
        async with Runtime.resume("s1", store=place, limits=PATIENT) as rt:
            assert (await rt.execute("x + 1")).value == 42


async def test_a_session_of_another_machine_is_free_when_its_lease_has_run_out(store: Any) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
    store.claim("s1", ELSEWHERE)
    with pytest.raises(SessionBusy, match="far-away"):
        async with again(store):
            pass
    now = store.clock()
    store.clock = lambda: now + LEASE_S + 1
    async with again(store) as second:
        assert (await second.execute("x")).value == 1


async def test_a_lease_is_renewed_while_the_session_is_open_and_by_nobody_afterwards(store: Any) -> None:
    now = store.clock()
    async with new(store) as first:
        assert HEART.beats
        for later in (20, 40, 60):
            store.clock = lambda later=later: now + later
            HEART.beat()
        with pytest.raises(SessionBusy):
            async with again(store):
                pass
        assert (await first.execute("1")).ok
    assert store.summary("s1").holder is None


async def test_a_process_that_slept_too_long_and_was_overtaken_is_told_by_the_next_beat(store: Any) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
        store.claim("s1", ELSEWHERE)
        HEART.beat()
        with pytest.raises(Fenced, match="taken over"):
            await first.execute("x")


async def test_a_process_that_slept_and_that_nobody_overtook_goes_on(store: Any) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
        now = store.clock()
        store.clock = lambda: now + 10 * LEASE_S
        assert store.summary("s1").holder is None  # anybody may have it
        HEART.beat()
        assert store.summary("s1").holder is not None
        assert (await first.execute("x")).value == 1


async def test_a_thousand_sessions_that_sleep_cost_no_lease(store: Any) -> None:
    async with new(store) as first:
        await first.execute("x = 1")
    renewed, renew = list[Claim](), store.renew

    def counted(*claims: Claim) -> Any:
        renewed.extend(claims)
        return renew(*claims)

    store.renew = counted
    HEART.beat()
    assert renewed == []


def test_a_heart_beats_while_something_is_open_and_keeps_no_process_alive() -> None:
    store, heart = MemoryStore(), Heart(every_s=3600)
    claim = store.create(Facts(id="s1", created=1.0, seed=b"", pins={}, names=NOTHING), this_process())
    assert not heart.beats
    heart.add(store, claim, lambda: None)
    (thread,) = [one for one in threading.enumerate() if one is heart.thread]
    assert thread.daemon
    assert heart.beats
    heart.remove(store, claim)
    thread.join(20)
    assert not heart.beats


async def test_a_session_that_could_not_be_opened_is_free(store: Store) -> None:
    async with new(store):
        pass
    broken = again(store, workspace=Path("/proc/nowhere"))
    with pytest.raises(Exception, match="nowhere"):
        await broken.__aenter__()
    async with again(store) as second:
        assert (await second.execute("1")).ok


async def test_a_store_that_is_closed_under_its_session_stops_no_other_lease(store: Any, tmp_path: Path) -> None:
    gone = SqliteStore(tmp_path / "gone.db")
    lost: list[str] = []
    claims = [(one, one.create(facts())) for one in (gone, store)]
    for one, claim in claims:
        HEART.add(one, claim, lambda: lost.append(""))
    gone.close()
    HEART.beat()
    try:
        assert len(lost) == 1
    finally:
        for one, claim in claims:
            HEART.remove(one, claim)
