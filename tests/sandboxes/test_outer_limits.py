"""What a container's limits look like: the words of an error name the limit that was met, and its number."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from cellwright.errors import Crashed, ProcessLimit
from cellwright.sandboxes import Limits, cgroup, exit_errors
from cellwright.sandboxes.outer_limits import OuterLimits

KILLED = 9  # a wait status
REFUSED = "cannot start a guest: [Errno 11] Resource temporarily unavailable"


class FakeMachine:
    """A root directory with /proc and the control group of a container."""

    def __init__(self, root: Path, *, version: int) -> None:
        self.root = root
        if version == 2:
            mounts, own = "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/\n"
            self.memory = self.tasks = root / "sys/fs/cgroup"
        else:  # as docker shows it: the container's group is the root of the mount, and a long path in /proc
            kinds = {"memory": 5, "pids": 6}
            line = "3{1} 23 0:2{1} /docker/abc /sys/fs/cgroup/{0} ro - cgroup cgroup rw,{0}\n"
            mounts = "".join(line.format(kind, number) for kind, number in kinds.items())
            own = "".join(f"{number}:{kind}:/docker/abc\n" for kind, number in kinds.items())
            self.memory, self.tasks = (root / "sys/fs/cgroup" / kind for kind in kinds)
        self.version = version
        for directory in (root / "proc/self", self.memory, self.tasks):
            directory.mkdir(parents=True, exist_ok=True)
        (root / "proc/self/mountinfo").write_text(f"23 1 0:30 / / rw - overlay overlay rw\n{mounts}")
        (root / "proc/self/cgroup").write_text(own)
        (root / "proc/vmstat").write_text("nr_free_pages 12\noom_kill 3\n")
        self.kills(0)
        self.refusals(0)
        self.limit("max")

    def kills(self, count: int) -> None:
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        (self.memory / name).write_text(f"oom 9\noom_kill {count}\n")

    def refusals(self, count: int) -> None:
        (self.tasks / "pids.events").write_text(f"max {count}\n")

    def limit(self, memory: str, tasks: str = "max") -> None:
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        none = "max" if self.version == 2 else str((1 << 63) - 4096)
        (self.memory / name).write_text(f"{none if memory == 'max' else memory}\n")
        (self.tasks / "pids.max").write_text(f"{tasks}\n")


@pytest.fixture(params=[1, 2])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path, version=request.param)


def crash(outer: OuterLimits) -> str:
    error = exit_errors.of_status(KILLED, "", Limits(), outer)
    assert isinstance(error, Crashed)
    return str(error)


def test_the_group_of_a_container_is_found(machine: FakeMachine) -> None:
    groups = cgroup.own_groups(machine.root)
    assert {machine.memory, machine.tasks} == set(groups.values())


def test_a_guest_that_the_kernel_ended_at_the_containers_memory_limit_says_so(machine: FakeMachine) -> None:
    machine.limit(str(200 << 20))
    outer = OuterLimits(machine.root)
    machine.kills(1)
    assert "SIGKILL (most likely by the kernel: " in crash(outer)
    assert "the container or service has reached its memory limit of 200 MB" in crash(outer)


def test_without_a_limit_it_is_the_machine_that_has_run_out_of_memory(machine: FakeMachine) -> None:
    outer = OuterLimits(machine.root)
    machine.kills(1)
    assert "this machine has run out of memory" in crash(outer)


def test_a_kill_that_the_kernel_did_not_count_has_no_reason(machine: FakeMachine) -> None:
    machine.limit(str(200 << 20))
    machine.kills(4)  # of earlier guests
    assert "ended by SIGKILL. " in crash(OuterLimits(machine.root))


def test_a_machine_that_tells_nothing_gives_no_reason(tmp_path: Path) -> None:
    assert "ended by SIGKILL. " in crash(OuterLimits(tmp_path))


def test_where_the_group_tells_nothing_the_machine_does(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("oom_kill 3\n")
    outer = OuterLimits(tmp_path)
    (tmp_path / "proc/vmstat").write_text("oom_kill 4\n")
    assert "this machine has run out of memory" in crash(outer)


def test_a_process_that_the_container_may_not_have_says_how_many_it_may(machine: FakeMachine) -> None:
    machine.limit("max", tasks="20")
    outer = OuterLimits(machine.root)
    machine.refusals(1)
    for text in (REFUSED, "can't start new thread", "pid (fork: Resource temporarily unavailable)"):
        assert outer.explained(text).endswith("its limit of 20 processes and threads, pids.max)")
    refused = exit_errors.of_report({"type": "RuntimeError", "limit": "threads"}, Limits(), outer)
    assert isinstance(refused, ProcessLimit)
    assert "at once (the container or service has reached its limit of 20" in str(refused)


def test_a_process_that_the_user_may_not_have_says_how_many_he_may(machine: FakeMachine) -> None:
    words = OuterLimits(machine.root).explained(REFUSED)
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    assert ("ulimit -u" in words) == (soft != resource.RLIM_INFINITY)
    assert str(soft) in words or soft == resource.RLIM_INFINITY


def test_another_error_is_left_as_it_is(machine: FakeMachine) -> None:
    text = "cannot start a guest: [Errno 24] Too many open files"
    assert OuterLimits(machine.root).explained(text) == text
