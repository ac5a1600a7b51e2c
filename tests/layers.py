"""Which layers the kernel gives to the process that runs the tests, and the skips that follow where one is refused.

The calls are made here, without the code of the jail: a defect in that code never looks like a lack of the machine.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Generator
from typing import cast

import pytest

from cellwright.errors import IsolationMissing
from cellwright.sandboxes import STANDARD

SKIPPED = "needs layer "
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


def skip_where_refused(said: str) -> None:
    """Skips where the words of a command say that it got no jail, and the kernel does not give the standard minimum."""
    if "this machine does not give" in said and (why := lacking()):
        pytest.skip(why)


def lacking(*layers: str) -> str:
    """Why a test that needs these layers (the standard minimum unless named) cannot run here; empty where it can.

    LAYERS=required, which CI sets, is for machines that must give all: nothing is skipped there.
    """
    if os.environ.get("LAYERS") == "required":
        return ""
    missing = sorted(refused().keys() & (layers or STANDARD))
    return SKIPPED + ", ".join(f"{name} ({refused()[name]})" for name in missing) if missing else ""


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
    skipped = [report for report in terminalreporter.getreports("skipped") if SKIPPED in str(report.longrepr)]
    if skipped:
        names = ", ".join(sorted(refused()))
        terminalreporter.write_line(
            f"{len(skipped)} tests were skipped: this machine does not give {names} "
            "(`cellwright doctor` says why; pytest -rs names the tests)"
        )
