"""What the machine that runs the tests lacks, the layers of the kernel above all, and the skips that follow.

The calls are made here, without the code of the jail: a defect in that code never looks like a lack of the machine.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, cast

import pytest
from tests.attacks.report import one_line

from cellwright.errors import IsolationMissing
from cellwright.sandboxes import STANDARD, Limits, cgroup

LACKS = "this machine lacks "
_TRY = r"""
import ctypes, json, os
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
SYS_ADMIN, SETGID, SETUID = 21, 6, 7
libc = ctypes.CDLL(None, use_errno=True)
refused = {}

def attempt(layer, call, *arguments):
    if layer not in refused and getattr(libc, call)(*arguments) < 0:
        refused[layer] = f"{call}: {os.strerror(ctypes.get_errno())}"

with open("/proc/self/status") as status:
    effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
if not effective >> SYS_ADMIN & 1:
    if os.getuid() == 0 and effective >> SETUID & effective >> SETGID & 1:
        os.setresgid(65533, 65533, 65533)
        os.setresuid(65533, 65533, 65533)
        libc.prctl(4, 1, 0, 0, 0)  # dumpable again: who is not may not write the next files
    elif os.getuid() == 0:
        refused["uid"] = "root without CAP_SETUID"
    uid, gid = os.getuid(), os.getgid()
    attempt("user", "unshare", NEWUSER)
    if "user" not in refused:
        for name, text in (("setgroups", "deny"), ("gid_map", f"0 {gid} 1"), ("uid_map", f"0 {uid} 1")):
            try:
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
            except OSError as error:
                refused["user"] = f"{name}: {error.strerror}"
for layer, flag in (("mount", NEWNS), ("net", NEWNET), ("ipc", NEWIPC), ("uts", NEWUTS), ("pid", NEWPID)):
    attempt(layer, "unshare", flag)
attempt("uts", "sethostname", b"guest", 5)
attempt("mount", "mount", b"none", b"/", None, ctypes.c_ulong(16384 | 1 << 18), None)
attempt("mount", "mount", b"none", b"/proc", b"tmpfs", ctypes.c_ulong(0), b"size=1m,nr_inodes=16")
if "mount" not in refused:
    os.chdir("/proc")
    attempt("mount", "pivot_root", b".", b".")
    attempt("mount", "umount2", b".", 2)
attempt("seccomp", "prctl", 21, 0, 0, 0, 0)
print(json.dumps(refused))
"""


@functools.cache
def refused() -> dict[str, str]:
    """Each layer that the kernel refuses, with the call and its error."""
    tried = subprocess.run([sys.executable, "-I", "-S", "-c", _TRY], capture_output=True, text=True, timeout=60)
    assert tried.returncode == 0, tried.stderr  # nothing is skipped because of a mistake above
    return json.loads(tried.stdout)


SYS_PTRACE, SYS_ADMIN = 19, 21


@functools.cache
def has_capability(number: int) -> bool:
    """Of the process that runs the tests. With SYS_PTRACE it may look into guests, which are not dumpable."""
    status = Path("/proc/self/status").read_text().split("\n")
    return bool(next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:")) >> number & 1)


@functools.cache
def has_groups() -> bool:
    """Whether this process may make control groups."""
    group = cgroup.create(Limits())
    if group is not None:
        group.remove()
    return group is not None


def skip_where_refused(said: str) -> None:
    """Skips where the words of a command say that it got no jail, and the kernel does not give the standard minimum."""
    if "this machine does not give" in said and (why := lacking()):
        pytest.skip(why)


def skip_for_lack_of(what: str) -> NoReturn:
    """Skips the test for something that this machine lacks, by its name; where nothing may be skipped it fails."""
    (pytest.fail if _whole() else pytest.skip)(LACKS + what)


def _whole() -> bool:
    """SKIPS=none, which CI sets, is for machines that must have all."""
    return os.environ.get("SKIPS") == "none"


def lacking(*layers: str) -> str:
    """Why a test that needs these layers (the standard minimum unless named) cannot run here; empty where it can."""
    missing = [] if _whole() else sorted(refused().keys() & (layers or STANDARD))
    told = ", ".join(f"{name} ({refused()[name]})" for name in missing)
    return f"{LACKS}the layers {told}: `cellwright doctor`" if missing else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_layers"):
        if why := lacking(*mark.args):
            pytest.skip(why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure because a Runtime was refused is a skip, where the kernel does not give the standard minimum."""
    report = yield
    if report.failed and call.excinfo and _of_isolation(call.excinfo.value) and (why := lacking()):
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {why}")
    return report


def _of_isolation(error: BaseException | None) -> bool:
    """Whether the error is `IsolationMissing`, or holds it as cause, as context or in its group."""
    if error is None or isinstance(error, IsolationMissing):
        return error is not None
    inner: list[BaseException | None] = [error.__cause__, error.__context__]
    if isinstance(error, BaseExceptionGroup):
        inner += cast("BaseExceptionGroup[BaseException]", error).exceptions
    return any(map(_of_isolation, inner))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if any(report.nodeid.startswith("tests/attacks/test_attacks") for report in terminalreporter.getreports("passed")):
        with suppress(ValueError):  # an attack names no layer: a test says so
            terminalreporter.write_line(f"{one_line()} (`python -m tests.attacks`)")
    places = [report.longrepr for report in terminalreporter.getreports("skipped")]
    told = [cast("tuple[str, int, str]", place)[2] for place in places if isinstance(place, tuple)]
    reasons = Counter(reason for said in told if (reason := said.removeprefix("Skipped: ")).startswith(LACKS))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} {'test was' if count == 1 else 'tests were'} skipped: {reason}")
    if reasons:
        terminalreporter.write_line("`make tests ARGS=-rs` names them")
