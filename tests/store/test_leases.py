"""Leases: which process has a session, for how long, and when it is nobody's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import Fenced, SessionBusy
from cellwright.store import LEASE_S, Facts, LeaseHolder, MemoryStore, Row, SqliteStore, this_process
from cellwright.store.leases import is_alive
from cellwright_guest.wire import NOTHING

PATIENCE_S = 60
SPAWN = multiprocessing.get_context("spawn")
ELSEWHERE = LeaseHolder(machine="another machine", process=1, started="1", name="desk")


def facts(id: str) -> Facts:
    return Facts(id=id, created=0.0, seed=b"seed", pins={}, names=NOTHING)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[MemoryStore | SqliteStore]:
    with closing(MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "agents.db")) as store:
        yield store


def test_a_lease_runs_out_when_nobody_renews_it(store: MemoryStore | SqliteStore) -> None:
    now = 1000.0
    store.clock = lambda: now
    claim = store.create(facts("s"), ELSEWHERE)
    now += LEASE_S - 1
    with pytest.raises(SessionBusy):
        store.claim("s", this_process(), take_over=False)
    assert store.renew(claim) == [claim]
    now += LEASE_S - 1
    with pytest.raises(SessionBusy):
        store.claim("s", this_process(), take_over=False)
    now += 2
    assert store.summary("s").holder is None
    store.write(claim, Row(cell=1, path="1#1"))  # late, and nobody has come
    taken = store.claim("s", this_process(), take_over=False)
    assert store.renew(claim, taken) == [taken]
    with pytest.raises(Fenced):
        store.write(claim, Row(cell=1, path="1#2"))


def test_a_busy_session_is_told_in_one_line_with_who_has_it(store: MemoryStore | SqliteStore) -> None:
    store.create(facts("s"), ELSEWHERE)
    with pytest.raises(
        SessionBusy,
        match=r"^session 's' is open in process 1 on desk; close it there, or take it over with take_over=True$",
    ):
        store.claim("s", take_over=False)


def test_this_process_lives_and_is_the_same_each_time() -> None:
    assert is_alive(this_process())
    assert this_process() == this_process()
    assert this_process().process == os.getpid()


@pytest.mark.parametrize("other", [{"started": "1"}, {"process": 0}, {"process": 2**40}], ids=str)
def test_another_process_with_the_same_number_is_dead(other: dict[str, Any]) -> None:
    assert not is_alive(replace(this_process(), **other))


def test_a_process_on_another_machine_may_live() -> None:
    assert is_alive(ELSEWHERE)


def test_a_killed_process_is_dead_before_its_parent_has_heard_of_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=-1, stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    holder = replace(this_process(), process=child.pid, started="")
    assert is_alive(holder)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still in the table
    assert not is_alive(holder)
    child.communicate()
    assert not is_alive(holder)


def _hold(path: Path, line: Connection) -> None:
    store = SqliteStore(path)
    store.create(facts("s"), this_process())
    line.send(this_process().process)
    line.recv()


def told_by(target: Callable[[Path, Connection], None], path: Path) -> tuple[int, Callable[[], None]]:
    """What a process says, and how to kill it."""
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=target, args=(path, theirs), daemon=True)
    child.start()

    def kill() -> None:
        child.kill()
        child.join(PATIENCE_S)

    assert ours.poll(PATIENCE_S)
    return ours.recv(), kill


def test_a_session_of_a_process_that_was_killed_can_be_had_at_once(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    process, kill = told_by(_hold, path)
    with closing(SqliteStore(path)) as store:
        holder = store.summary("s").holder
        assert holder is not None
        assert holder.process == process
        with pytest.raises(SessionBusy, match=f"process {process}"):
            store.claim("s", this_process(), take_over=False)
        kill()
        assert store.summary("s").holder is None
        store.claim("s", this_process(), take_over=False)
        holder = store.summary("s").holder
        assert holder == this_process()


def test_leases_are_not_among_the_writes_that_a_listener_hears_of(tmp_path: Path) -> None:
    heard: list[int] = []
    with closing(SqliteStore(tmp_path / "agents.db")) as store:
        claim = store.create(facts("s"), this_process())
        store.on_write = lambda number, moment: heard.append(number)
        store.renew(claim)
        assert heard == []
        store.release(claim)
    assert heard == [1, 1]
