"""What the host reads of a guest whose first thread has ended, and of one whose threads fork."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from cellwright.sandboxes.inotify import mapped
from cellwright.sandboxes.memory_watch import held
from cellwright.sandboxes.process_tree import family, living_task

ENDS_ITS_FIRST_THREAD = """
import mmap, os, sys, threading, time
file = open(sys.argv[1], "r+b")
mapping = mmap.mmap(file.fileno(), 4096)
def go_on():
    while True:
        with open("/proc/self/stat") as stat:
            if stat.read().rpartition(")")[2].split()[0] == "Z":
                break
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=go_on).start()
import ctypes
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""
FORKS_IN_A_THREAD = """
import os, sys, threading
def fork():
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    print(child, flush=True)
    sys.stdin.read()
threading.Thread(target=fork).start()
"""

FORKS_MANY = """
import os, sys
for _ in range(900):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
print(900, flush=True)
sys.stdin.read()
"""


@contextmanager
def program(code: str, *args: str) -> Generator[tuple[int, str]]:
    """A program that goes on until the block ends: its number, and the first line that it prints."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-S", "-c", code, *args], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()


def test_memory_and_mappings_are_seen_after_the_first_thread_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "shared"
    file.write_bytes(bytes(4096))
    with program(ENDS_ITS_FIRST_THREAD, str(file)) as (pid, line):
        assert line == "ready"
        assert living_task(pid) != pid
        assert min(held(pid)) > 1 << 20
        assert file.stat().st_ino in mapped([pid])


def test_a_child_of_any_thread_is_in_the_family() -> None:
    with program(FORKS_IN_A_THREAD) as (pid, line):
        assert list(family(pid)) == [pid, int(line)]


def test_all_children_of_a_large_family_are_found() -> None:
    with program(FORKS_MANY) as (pid, line):
        assert len(set(family(pid))) == int(line) + 1


def test_a_process_that_is_gone_holds_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    assert held(process.pid) == (0, 0)
    assert list(family(process.pid)) == [process.pid]
