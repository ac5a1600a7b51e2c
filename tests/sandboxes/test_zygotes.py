"""Zygotes from the host's side: shared, ended, killed, replaced; and their children's ends."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cells import eventually
from tests.sandboxes.jails import ANSWER_S, PLAN, Jailed, started, told

from cellwright import Runtime
from cellwright.errors import IsolationMissing, JournalFailed, SandboxDied, UsageError
from cellwright.sandboxes import cgroup, jail, zygotes
from cellwright.sandboxes.base import Limits
from cellwright.sandboxes.jail import InterpreterPaths, JailPlan
from cellwright.store import Claim, Facts, LeaseHolder, MemoryStore

pytestmark = pytest.mark.anyio

SPIN = "while True: pass"


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def gone(*pids: int) -> None:
    async with asyncio.timeout(ANSWER_S):
        while any(running(pid) for pid in pids):  # noqa: ASYNC110 -- they are nobody's children here: no event tells
            await asyncio.sleep(0.01)


async def test_equal_plans_share_a_zygote_that_stays_warm_when_nobody_uses_it() -> None:
    first = await zygotes.acquire(PLAN)
    second = await zygotes.acquire(replace(PLAN))
    assert first is second
    await zygotes.release(first)
    await zygotes.release(second)
    assert running(second.pid)
    third = await zygotes.acquire(PLAN)
    assert third is second
    await zygotes.release(third)
    await zygotes.end_idle()
    assert not running(second.pid)


async def test_only_the_last_two_unused_zygotes_stay() -> None:
    plans = [replace(PLAN, ask=(name,)) for name in ("numpy", "pandas", "polars")]
    started_ = [await zygotes.acquire(plan) for plan in plans]
    for zygote in started_:
        await zygotes.release(zygote)
    assert [running(zygote.pid) for zygote in started_] == [False, True, True]
    await zygotes.end_idle()


async def test_event_loops_in_other_threads_share_it_too(tmp_path: Path) -> None:
    async with started() as zygote:
        answers: list[object] = []

        def other() -> None:
            answers.append(asyncio.run(told("answer = 7", tmp_path)))

        thread = threading.Thread(target=other)
        thread.start()
        await asyncio.to_thread(thread.join)
        assert answers == [{"answer": 7}]
        assert running(zygote.pid)


async def test_a_dead_zygote_takes_its_children_along_and_is_replaced(tmp_path: Path) -> None:
    async with started() as zygote:
        jailed = Jailed(zygote, tmp_path, SPIN)
        pid = await jailed.child.pid()
        os.kill(zygote.pid, signal.SIGKILL)
        assert os.WTERMSIG(await jailed.close()) == signal.SIGKILL
        assert not running(pid)
        async with started() as other:
            assert other is not zygote
            assert other.alive
        late = Jailed(zygote, tmp_path, SPIN)
        with pytest.raises(SandboxDied):
            await late.child.pid()
        await late.close()


async def test_deaths_of_zygotes_leave_no_descriptor_thread_or_process_behind() -> None:
    async def opened() -> None:
        async with Runtime() as rt:
            await rt.execute("1")

    async def die(*tasks: asyncio.Task[None]) -> None:
        """The zygote dies while these open their guests, or while it forks a spare; then a guest answers again."""
        for pid in zygote_pids():
            os.kill(pid, signal.SIGKILL)
        await asyncio.gather(*tasks, return_exceptions=True)
        for rt in (kept, other):
            await eventually(lambda rt=rt: _answers(rt))

    async with Runtime(store="memory:") as kept, Runtime() as other:
        await die()
        await die(asyncio.create_task(opened()))
        before = await settled()
        await die()
        opening = [asyncio.create_task(opened()) for _ in range(4)]
        await asyncio.sleep(0)
        await die(*opening)
        await opened()  # the zygote forks the next spare now
        await die()
        after = await settled()
        assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after)
    await zygotes.end_idle()


async def test_a_guest_that_cannot_be_started_is_an_error_of_the_platform_and_no_crash_of_the_cell() -> None:
    await zygotes.end_idle()
    async with Runtime() as rt:
        assert await _answers(rt)
        (zygote,) = (int(inner) for pid in zygote_pids() for inner in _children(pid))
        await eventually(lambda: _has(zygote, children=2, sockets=2))  # a guest, and one that waits for a request
        for pid in _children(zygote):
            os.kill(int(pid), signal.SIGKILL)
        await eventually(lambda: _has(zygote, children=0, sockets=1))
        limit = resource.prlimit(zygote, resource.RLIMIT_NOFILE)
        taken = {int(fd) for fd in os.listdir(f"/proc/{zygote}/fd")}
        free = [fd for fd in range(len(taken) + 3) if fd not in taken]
        resource.prlimit(zygote, resource.RLIMIT_NOFILE, (free[2], limit[1]))  # two: it hears a request and cannot fork
        try:
            async with Runtime() as refused:
                with pytest.raises(SandboxDied, match=r"cannot start a guest: .*Too many open files"):
                    await refused.execute("1")
                resource.prlimit(zygote, resource.RLIMIT_NOFILE, limit)
                assert await _answers(refused)
        finally:
            resource.prlimit(zygote, resource.RLIMIT_NOFILE, limit)


def _children(pid: int) -> list[str]:
    return _read(Path(f"/proc/{pid}/task/{pid}/children")).split()


async def _has(pid: int, *, children: int, sockets: int) -> bool:
    return len(_children(pid)) == children and sum(map(_is_socket, os.scandir(f"/proc/{pid}/fd"))) == sockets


def _is_socket(fd: os.DirEntry[str]) -> bool:
    with suppress(FileNotFoundError):  # closed since it was listed
        return os.readlink(fd).startswith("socket:")
    return False


async def _answers(rt: Runtime) -> bool:
    return (await rt.execute("1")).error is None


def zygote_pids() -> list[int]:
    """The children of this process that guests are forked from."""
    return [pid for pid in children() if "zygote.py" in _read(Path(f"/proc/{pid}/cmdline"))]


def children() -> list[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for task in tasks for pid in _read(task).split()]


def _read(path: Path) -> str:
    """Of a process or thread that may have ended since it was listed."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return path.read_text()
    return ""


async def settled() -> tuple[int, int, int]:
    """Descriptors, threads and children of this process, when what ends has ended."""
    found = [(0, 0, 0)]

    async def same() -> bool:
        await asyncio.sleep(0.05)
        pools = ("asyncio_", "cellwright-store")  # threads of these are started when they are needed, and stay
        threads = [thread for thread in threading.enumerate() if not thread.name.startswith(pools)]
        found.append((len(os.listdir("/proc/self/fd")), len(threads), len(children())))
        return found[-1] == found[-2] == found[max(0, len(found) - 4)]

    await eventually(same)
    return found[-1]


async def test_a_guest_whose_names_cannot_be_given_leaves_nothing_behind() -> None:
    class Refusing(MemoryStore):
        def create(self, facts: Facts, holder: LeaseHolder | None = None) -> Claim:
            raise JournalFailed("no room")

    async with Runtime():
        counts: list[tuple[int, int, int]] = []
        for _ in range(3):
            with pytest.raises(JournalFailed):
                async with Runtime(store=Refusing()):
                    pass
            counts.append(await settled())
        assert all(now <= then for now, then in zip(counts[-1], counts[0], strict=True)), counts


@pytest.mark.needs_layers
async def test_a_killed_host_leaves_no_process_behind(tmp_path: Path) -> None:
    program = ("-m", "tests.sandboxes.hosts", str(tmp_path))
    root = Path(__file__).parents[2]
    host = await asyncio.create_subprocess_exec(sys.executable, *program, stdout=subprocess.PIPE, cwd=root)
    assert host.stdout is not None
    pids = [int(word) for word in (await host.stdout.readline()).split()]
    assert len(pids) == 3
    assert all(running(pid) for pid in pids)
    host.kill()
    await gone(*pids)
    await host.communicate()


async def test_a_child_is_killed_at_once_as_often_as_asked(tmp_path: Path) -> None:
    async with started() as zygote:
        jailed = Jailed(zygote, tmp_path, SPIN)
        jailed.child.kill()
        jailed.child.kill()
        status = await jailed.close()
        assert os.WIFSIGNALED(status)
        assert os.WTERMSIG(status) == signal.SIGKILL
        jailed.child.kill()


async def test_a_child_ends_with_its_zygote(tmp_path: Path) -> None:
    async with started() as zygote:
        pid = await Jailed(zygote, tmp_path, SPIN).child.pid()
    assert not running(pid)


async def test_the_exit_status_of_a_child_is_told(tmp_path: Path) -> None:
    async with started() as zygote:
        assert os.waitstatus_to_exitcode(await Jailed(zygote, tmp_path, "import os; os._exit(3)").child.exited) == 3


async def test_a_child_that_cannot_be_confined_says_why(tmp_path: Path) -> None:
    async with started() as zygote:
        ours, theirs = socket.socketpair()
        reader, writer = os.pipe()
        missing = tmp_path / "missing"
        child = zygote.spawn(conn=theirs, output=writer, workspace=missing, limits=Limits(), entry="run_code", code="")
        assert os.waitstatus_to_exitcode(await child.exited) == zygotes.SETUP_FAILED
        assert os.read(reader, 1000).startswith(b"setup: ")
        ours.close()
        os.close(reader)


async def test_many_children_at_once_all_start(tmp_path: Path) -> None:
    async with started() as zygote:
        many = [Jailed(zygote, tmp_path, f"answer = {n}") for n in range(150)]
        for n, jailed in enumerate(many):
            assert await jailed.line() == b'{"answer": %d}\n' % n
        assert [await jailed.close() for jailed in many] == [0] * 150


async def test_a_child_killed_while_it_waits_for_its_turn_never_starts(tmp_path: Path) -> None:
    async with started() as zygote:
        many = [Jailed(zygote, tmp_path, f"open('ran', 'a').write('{n} ')") for n in range(100)]
        many[-1].child.kill()
        assert os.WIFSIGNALED(await many[-1].close())
        assert [await jailed.line() for jailed in many[:-1]] == [b'{"answer": null}\n'] * 99
    assert "99" not in (tmp_path / "ran").read_text().split()


async def test_a_forked_child_of_the_host_does_not_keep_the_zygote_alive() -> None:
    zygote = await zygotes.acquire(PLAN)
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try:
        await zygotes.release(zygote)
        await asyncio.wait_for(zygotes.end_idle(), ANSWER_S)
        assert not running(zygote.pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(os.waitpid, pid, 0)


async def test_a_missing_layer_of_the_minimum_is_named() -> None:
    with pytest.raises(IsolationMissing, match="landlock"):
        await zygotes.acquire(replace(PLAN, without=frozenset({"landlock"}), required=frozenset({"landlock"})))


async def test_a_python_that_is_none_is_named() -> None:
    with pytest.raises(SandboxDied, match="/bin/false"):
        await zygotes.acquire(replace(PLAN, python=Path("/bin/false")))
    with pytest.raises(SandboxDied, match="/no/such"):
        await zygotes.acquire(replace(PLAN, python=Path("/no/such")))


async def test_a_zygote_that_dies_while_it_starts_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def killing(plan: JailPlan, interpreter: InterpreterPaths) -> dict[str, Any]:
        for pid in zygote_pids():
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return jail.render(plan, interpreter)

    await zygotes.end_idle()
    monkeypatch.setattr(zygotes, "render", killing)
    with pytest.raises(SandboxDied, match="did not start"):
        await zygotes.acquire(replace(PLAN, ask=("wave",)))


async def test_a_package_that_cannot_be_imported_is_a_warning() -> None:
    async with started(replace(PLAN, preload=("run_code", "no_such_package"))) as zygote:
        assert any("no_such_package" in warning for warning in zygote.warnings)


async def test_processes_need_a_plan_with_programs(tmp_path: Path) -> None:
    async with started() as zygote:
        with pytest.raises(UsageError, match="programs=True"):
            Jailed(zygote, tmp_path, "", Limits(processes=1))


async def test_a_group_bounds_the_memory_of_all_processes_together(tmp_path: Path) -> None:
    limits = Limits(memory_mb=64, processes=4)
    group = cgroup.create(limits)
    if group is None:
        pytest.skip("this machine gives no control group")
    code = """
conn.recv(1)
import os
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(40 << 20); import time; time.sleep(60)
answer = [os.wait()[1]]
"""
    async with started(replace(PLAN, programs=True)) as zygote:
        jailed = Jailed(zygote, tmp_path, code, limits)
        group.add(await jailed.child.pid())
        jailed.conn.send(b"x")
        await jailed.line()
        assert group.out_of_memory()
        jailed.child.kill()
        await jailed.close()
    group.remove()
    assert not group.directories["memory"].exists()
