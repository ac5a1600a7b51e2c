"""What a jailed child can and cannot do, seen from inside it."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cells import BESIDE
from tests.sandboxes.jails import ENTRY, PLAN, WITH_PACKAGES, told

from cellwright.sandboxes import bpf, seccomp, syscalls
from cellwright.sandboxes.base import Limits

pytestmark = pytest.mark.anyio


async def test_the_root_holds_the_interpreter_the_workspace_and_nothing_else_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    places = "/sys", "/home", "/root", "/var", "/run", "/opt", "/boot", "/tmp"
    code = (
        f"{BESIDE}\nanswer = [[path for place in {places} for path in beside(place, {str(ENTRY)!r})], "
        "os.getcwd(), open('file.txt').read(), os.listdir('/.host')]"
    )
    assert (await told(code, tmp_path))["answer"] == [[], "/workspace", "mine", []]


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/hostname", "/proc/self/status", "/sys/kernel", "/root/.ssh"])
async def test_files_of_the_machine_are_not_there(path: str, tmp_path: Path) -> None:
    assert "FileNotFoundError" in (await told(f"import os; os.stat({path!r})", tmp_path))["error"]


async def test_a_file_gets_no_second_name_by_which_it_could_be_changed_unseen(tmp_path: Path) -> None:
    made = "open('a', 'w').close(); os.mkdir('d')"
    for make in ("os.link('a', 'd/b')", "os.link('a', 'd/b', follow_symlinks=False)"):
        assert "PermissionError" in (await told(f"import os; {made}; {make}", tmp_path))["error"]
        (tmp_path / "d").rmdir()


async def test_the_environment_is_empty_but_for_what_the_jail_sets(tmp_path: Path) -> None:
    answer = (await told("import os; answer = dict(os.environ)", tmp_path))["answer"]
    assert answer == {"HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}


async def test_the_hash_seed_is_one_constant(tmp_path: Path) -> None:
    code = "import sys; answer = [hash('cellwright'), sys.flags.hash_randomization]"
    first = (await told(code, tmp_path))["answer"]
    assert (await told(code, tmp_path, plan=replace(PLAN, ask=())))["answer"] == first


async def test_only_its_own_descriptors_are_open(tmp_path: Path) -> None:
    code = """
import os
answer = []
for fd in range(256):
    try: os.fstat(fd); answer.append(fd)
    except OSError: pass
"""
    assert (await told(code, tmp_path))["answer"] == [0, 1, 2, 3]


@pytest.mark.parametrize("target", ["/usr/x", "/x", "/dev/x", "/etc/x", "/.host/x"])
async def test_only_the_workspace_and_tmp_can_be_written(target: str, tmp_path: Path) -> None:
    error = (await told(f"open({target!r}, 'w')", tmp_path))["error"]
    assert "PermissionError" in error or "Read-only" in error
    written = "import tempfile; tempfile.TemporaryFile().write(b'x'); open('y', 'w').write('y'); answer = 1"
    assert (await told(written, tmp_path))["answer"] == 1
    assert (tmp_path / "y").read_text() == "y"


REFUSED = {
    "socket": "import socket; socket.socket()",
    "vsock": "import socket; socket.socket(40, socket.SOCK_STREAM)",
    "fork": "import _posixsubprocess, os; os.fork()",
    "exec": "import os; os.execv('/usr/bin/true', ['true'])",
    "setuid file": "import os; open('f', 'w'); os.chmod('f', 0o4755)",
    "setuid at open": "import os; os.open('f', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "fifo": "import os; os.mkfifo('f')",
    "shared memory": "import mmap; mmap.mmap(-1, 4096)",
    "chroot": "import os; os.chroot('/tmp')",
    "memfd": "import os; os.memfd_create('x')",
    "pidfd": "import os; os.pidfd_open(1)",
    "lease": "import fcntl; f = open('f', 'w'); fcntl.fcntl(f, 1024, 1)",
    "nice": "import os; os.setpriority(os.PRIO_PROCESS, 0, 1)",
}


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
async def test_a_call_beyond_the_list_is_refused(code: str, tmp_path: Path) -> None:
    assert "PermissionError" in (await told(code, tmp_path))["error"]


CALLS = {
    "unshare": (0x1000_0000,), "mount": (0, 0, 0, 0, 0), "setns": (3, 0), "ptrace": (0, 0, 0, 0),
    "shmget": (0, 4096, 0), "personality": (0xFFFF_FFFF,), "klogctl": (10, 0, 0), "inotify_init": (),
    "prctl": (1, 0, 0, 0, 0), "swapoff": (0,),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_by_libc_is_refused_too(name: str, tmp_path: Path) -> None:
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
answer = [libc[{name!r}](*[ctypes.c_ulong(x) for x in {CALLS[name]!r}]), ctypes.get_errno()]
"""
    assert (await told(code, tmp_path))["answer"] == [-1, 1]


async def test_a_limit_cannot_be_changed_from_inside(tmp_path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))"
    assert "ValueError: not allowed" in (await told(code, tmp_path))["error"]


MAPPINGS = {"shared": 0x21, "growing down": 0x122, "huge": 0x40022}


@pytest.mark.parametrize("flags", MAPPINGS.values(), ids=MAPPINGS)
async def test_memory_that_the_limit_would_not_count_is_refused(flags: int, tmp_path: Path) -> None:
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
answer = [libc.mmap(None, ctypes.c_long(1 << 30), 3, {flags}, -1, ctypes.c_long(0)), ctypes.get_errno()]
"""
    assert (await told(code, tmp_path))["answer"] == [-1, 1]


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("flag", [0x1000_0000, 0x2_0000, 0x4000_0000, 0x2000_0000, 0x8000])
async def test_clone_makes_no_namespace_and_no_sibling(flag: int, programs: bool, tmp_path: Path) -> None:
    code = f"""
import ctypes, platform
number = {{"x86_64": 56, "aarch64": 220}}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
answer = [libc.syscall(number, ctypes.c_ulong({flag} | 17), 0, 0, 0, 0), ctypes.get_errno()]
"""
    limits = Limits(processes=4 if programs else 0)
    assert (await told(code, tmp_path, limits, replace(PLAN, programs=programs)))["answer"] == [-1, 1]


async def test_memory_beyond_the_limit_is_a_memory_error_and_not_an_end(tmp_path: Path) -> None:
    code = """
held = []
try:
    while True: held.append(bytearray(1 << 20))
except MemoryError:
    answer = len(held)
"""
    assert 40 <= (await told(code, tmp_path, Limits(memory_mb=64)))["answer"] <= 64


async def test_threads_start_up_to_their_limit(tmp_path: Path) -> None:
    code = """
import threading
stop, threads = threading.Event(), []
try:
    while True:
        t = threading.Thread(target=stop.wait); t.start(); threads.append(t)
except RuntimeError as error:
    answer = [len(threads), str(error)]
stop.set()
"""
    assert (await told(code, tmp_path, Limits(threads=20)))["answer"] == [20, "can't start new thread"]


async def test_open_files_and_file_size_are_bound(tmp_path: Path) -> None:
    many = "held = [open('/dev/null') for _ in range(100)]"
    assert "Too many open files" in (await told(many, tmp_path, Limits(open_files=50)))["error"]
    large = "open('f', 'wb').write(bytes(3 << 20))"
    assert "File too large" in (await told(large, tmp_path, Limits(file_mb=2)))["error"]


async def test_a_child_sees_no_process_but_itself(tmp_path: Path) -> None:
    code = f"""
import os
answer = [os.getpid(), os.getuid()]
try: os.kill({os.getpid()}, 0)
except ProcessLookupError: answer.append("none")
"""
    assert (await told(code, tmp_path))["answer"] == [1, 1000, "none"]


@pytest.mark.needs_layers("uts")
async def test_the_machine_has_another_name_inside(tmp_path: Path) -> None:
    assert await told("import os; answer = os.uname().nodename", tmp_path) == {"answer": "guest"}


async def test_asyncio_works(tmp_path: Path) -> None:
    code = """
import asyncio
async def main():
    return await asyncio.gather(asyncio.to_thread(sum, [1, 2]), asyncio.sleep(0.01, 4))
answer = asyncio.SelectorEventLoop().run_until_complete(main())  # not the guest's own loop, which needs the door
"""
    assert (await told(code, tmp_path))["answer"] == [3, 4]


LIBRARIES = {
    "numpy": "np = numpy; answer = float((np.ones((200, 200)) @ np.ones((200, 200)))[0, 0])",
    "pandas": "answer = float(pandas.DataFrame({'a': [1, 1, 2], 'b': [50, 150, 9]}).groupby('a').b.sum()[1])",
    "polars": "answer = float(polars.DataFrame({'a': [50, 150]}).lazy().select(polars.sum('a')).collect()[0, 0])",
    "pyarrow": "import pyarrow.compute as pc; answer = float(pc.sum(pyarrow.array([50, 150])).as_py())",
}


@pytest.mark.parametrize("preload", [True, False], ids=["preloaded", "imported later"])
@pytest.mark.parametrize("name", LIBRARIES)
async def test_a_library_with_threads_of_its_own_works(name: str, preload: bool, tmp_path: Path) -> None:
    pytest.importorskip(name)
    plan = replace(WITH_PACKAGES, preload=("run_code", name)) if preload else WITH_PACKAGES
    assert await told(f"import {name}; {LIBRARIES[name]}", tmp_path, Limits(memory_mb=512), plan) == {"answer": 200.0}


async def test_programs_run_where_processes_are_allowed(tmp_path: Path) -> None:
    code = """
import subprocess, sys
answer = [subprocess.run(["sh", "-c", "echo $((1 + 1)); cat /etc/shadow"], capture_output=True, text=True).stdout]
answer += [subprocess.run([sys.executable, "-c", "print(3)"], capture_output=True, text=True).stdout]
"""
    answer = await told(code, tmp_path, Limits(processes=4), replace(PLAN, programs=True))
    assert answer == {"answer": ["2\n", "3\n"]}


async def test_processes_are_bound_in_number(tmp_path: Path) -> None:
    code = """
import os
answer = 0
try:
    while answer < 50:
        if os.fork() == 0:
            import time; time.sleep(60)
        answer += 1
except OSError: pass
"""
    answer = (await told(code, tmp_path, Limits(processes=4, threads=1), replace(PLAN, programs=True)))["answer"]
    assert answer == 5  # four, and the one thread unused


def open_to_all(path: Path) -> None:
    """Pytest's own directories are 0700: what stops the guest must be Landlock."""
    for parent in (path, *path.parents[:4]):
        if parent.stat().st_uid == os.geteuid() and "pytest" in str(parent):
            parent.chmod(0o755)


async def test_a_jail_without_mount_namespace_leaves_the_workspace_to_landlock(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host's")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    open_to_all(tmp_path)
    plan = replace(PLAN, without=frozenset({"mount"}), required=frozenset({"landlock"}))
    code = f"open('mine', 'w').write('x'); open({str(secret)!r})"
    assert "PermissionError" in (await told(code, workspace, plan=plan))["error"]


@pytest.mark.parametrize("machine", syscalls.NUMBERS)
def test_every_call_of_the_policy_has_a_number_somewhere(machine: str) -> None:
    named = {*seccomp.ALWAYS, *seccomp.PROGRAMS}
    assert named <= {name for numbers in syscalls.NUMBERS.values() for name in numbers}
    assert len(set(syscalls.NUMBERS[machine].values())) == len(syscalls.NUMBERS[machine])


def test_the_program_is_short_enough_for_the_kernel() -> None:
    assert len(seccomp.program(programs=True)) // 8 < 4096
    assert (
        len(bpf.assemble(1, {5: bpf.ALLOW}, otherwise=bpf.SyscallVerdict(errno=1), beyond=bpf.SyscallVerdict(errno=38)))
        % 8
        == 0
    )


async def test_a_socketpair_works_and_another_family_does_not(tmp_path: Path) -> None:
    code = "import socket; a, b = socket.socketpair(); a.send(b'x'); answer = b.recv(1).decode()"
    assert await told(code, tmp_path) == {"answer": "x"}
    other = f"import socket; socket.socketpair({int(socket.AF_INET)})"
    assert "PermissionError" in (await told(other, tmp_path))["error"]
