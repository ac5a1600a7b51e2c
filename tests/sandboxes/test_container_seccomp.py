"""The profile for containers: docker's default, five calls more, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from cellwright.sandboxes import container_profile, seccomp
from cellwright.sandboxes.container_seccomp import JAIL_CALLS
from cellwright.sandboxes.syscalls import NUMBERS

# Refused by docker's default without capabilities: each would give a container more than a jail needs.
REFUSED = """
    acct add_key bpf chroot clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick
    get_mempolicy
    init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl
    lookup_dcookie mbind mount_setattr move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open
    pidfd_getfd process_madvise quotactl quotactl_fd reboot request_key set_mempolicy setdomainname sethostname
    settimeofday stime swapoff swapon sysfs syslog umount userfaultfd ustat vhangup vm86 vm86old
""".split()


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    command = [sys.executable, "-m", "cellwright", "doctor", "--seccomp"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def rules(profile: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [rule for rule in profile["syscalls"] if name in rule["names"]]


def test_doctor_prints_the_profile_and_tries_nothing(printed: dict[str, Any]) -> None:
    assert printed == container_profile()
    assert printed["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"} <= set(printed["architectures"])


def test_the_calls_that_make_a_jail_are_allowed_without_conditions(printed: dict[str, Any]) -> None:
    assert len(JAIL_CALLS) == 5
    for name in JAIL_CALLS:
        (rule,) = rules(printed, name)
        assert rule.keys() == {"names", "action"}
        assert rule["action"] == "SCMP_ACT_ALLOW"


@pytest.mark.parametrize("name", REFUSED)
def test_what_docker_refuses_stays_refused(name: str, printed: dict[str, Any]) -> None:
    assert rules(printed, name) == []


def test_every_name_is_one_of_a_call_and_stands_once(printed: dict[str, Any]) -> None:
    names = [name for rule in printed["syscalls"] if "args" not in rule for name in rule["names"]]
    assert [name for name in names if not re.fullmatch(r"_?[a-z][a-z0-9_]+", name)] == []
    assert len(names) == len(set(names))


def test_conditions_are_only_those_that_every_runtime_obeys(printed: dict[str, Any]) -> None:
    """containerd skips `includes`: a condition on capabilities would allow the call to everybody."""
    conditions = {
        (name, str(rule["includes"])) for rule in printed["syscalls"] if "includes" in rule for name in rule["names"]
    }
    assert conditions == {
        (name, "{'minKernel': '4.8'}") for name in ("ptrace", "process_vm_readv", "process_vm_writev")
    }
    assert [rule["names"] for rule in printed["syscalls"] if "args" in rule and rule["names"] == ["clone"]] == [
        ["clone"]
    ]


def test_a_guest_may_make_no_call_that_the_profile_refuses(printed: dict[str, Any]) -> None:
    allowed = {name for rule in printed["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert {*seccomp.ALWAYS, *seccomp.PROGRAMS} <= allowed


@pytest.mark.parametrize("machine", NUMBERS)
def test_the_guest_s_own_filter_refuses_the_calls_that_make_a_jail(machine: str) -> None:
    assert {*JAIL_CALLS} & {*NUMBERS[machine], *seccomp.ALWAYS, *seccomp.PROGRAMS} == set()
