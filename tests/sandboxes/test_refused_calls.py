"""Where the kernel refuses a step of the jail, the layer is missing, with the refused call, and the others hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from errno import EINVAL, ENOSYS
from pathlib import Path
from typing import Any

import pytest
from tests.layers import SYS_ADMIN, has_capability
from tests.sandboxes.jails import PLAN, PYTHON, Jailed, started
from tests.sandboxes.refusing import CONTAINER_CAPABILITIES, refusing

from cellwright import Runtime
from cellwright.errors import IsolationMissing
from cellwright.sandboxes import GUEST_UID, Environment, ProcessSandbox, Workspace
from cellwright.sandboxes.bpf import ArgumentCheck
from cellwright.sandboxes.jail import LAYERS
from cellwright_guest import kernel
from cellwright_guest.confinement import Confinement
from cellwright_guest.namespaces import Layers, ZygoteOwner

pytestmark = [pytest.mark.anyio, pytest.mark.needs_layers]

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have some capabilities and lack others")
EVERY = frozenset(LAYERS) - {"cgroup"}
MOUNT_FLAGS, MS_PRIVATE, MS_REMOUNT, CLONE_NEWNET = 3, 1 << 18, 32, 0x4000_0000


def without_bit(argument: int, bit: int) -> ArgumentCheck:
    return ArgumentCheck(argument=argument, kind="no_bit", values=(bit,))


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """Where a guest without a root of its own gets too: no directory above it is closed."""
    made = Workspace.create(None, GUEST_UID)
    yield made
    made.remove()


REFUSED: dict[str, tuple[tuple[str, ...], ArgumentCheck | None, int, dict[str, str]]] = {
    "the machine's name": (("sethostname",), None, 1, {"uts": "sethostname: Operation not permitted"}),
    "one namespace": (
        ("unshare",),
        without_bit(0, CLONE_NEWNET),
        1,
        {"net": "unshare(CLONE_NEWNET): Operation not permitted"},
    ),
    "making mounts private": (
        ("mount",),
        without_bit(MOUNT_FLAGS, MS_PRIVATE),
        1,
        {"mount": "mount(none, /): Operation not permitted"},
    ),
    "the last mount of the root": (("pivot_root",), None, 1, {"mount": "pivot_root: Operation not permitted"}),
    "unmounting, which only children do": (("umount2",), None, 1, {"mount": "umount2: Operation not permitted"}),
    "the way back from a child's namespaces": (
        ("setns",),
        None,
        1,
        {
            "mount": "setns(CLONE_NEWNS): Operation not permitted",
            "pid": "setns(CLONE_NEWPID): Operation not permitted",
        },
    ),
    "descriptors of processes": (("pidfd_open",), None, ENOSYS, {"pid": "pidfd_open: Function not implemented"}),
    "limits": (
        ("prlimit64",),
        ArgumentCheck(argument=2, kind="one_of", values=(0,)),
        EINVAL,
        {"rlimits": "setrlimit(RLIMIT_"},
    ),
    "Landlock": (("landlock_create_ruleset",), None, ENOSYS, {"landlock": "this kernel has no Landlock"}),
    "what the jail can do without": (("chroot", "close_range", "mount_setattr"), None, ENOSYS, {}),
}


@pytest.mark.parametrize(("calls", "unless", "errno", "missing"), REFUSED.values(), ids=REFUSED)
async def test_a_refused_call_costs_its_layer_and_no_more(
    calls: tuple[str, ...],
    unless: ArgumentCheck | None,
    errno: int,
    missing: dict[str, str],
    tmp_path: Path,
    workspace: Workspace,
) -> None:
    python = refusing(tmp_path, *calls, errno=errno, unless=unless)
    async with started(replace(PLAN, python=python, required=frozenset())) as zygote:
        others = {"uts", "landlock"} - missing.keys()  # not in the minimum: the machine itself may lack them
        assert zygote.missing.keys() - others == missing.keys()
        assert all(zygote.missing[name].startswith(words) for name, words in missing.items()), zygote.missing
        assert zygote.layers == EVERY - zygote.missing.keys()
        for _ in range(2):  # the second was forked ahead
            jailed = Jailed(zygote, workspace.path, "open('f', 'w').write('mine'); answer = open('f').read()")
            assert await jailed.line() == b'{"answer": "mine"}\n', os.read(jailed.output, 1000)
            assert await jailed.close() == 0


async def test_a_layer_that_the_minimum_lacks_is_refused_with_the_call(tmp_path: Path) -> None:
    with pytest.raises(IsolationMissing, match=r"mount \(pivot_root: Operation not permitted\)\. `cellwright doctor`"):
        async with started(replace(PLAN, python=refusing(tmp_path, "pivot_root"))):
            pass


async def test_the_machines_name_is_not_in_the_minimum(tmp_path: Path) -> None:
    async with started(replace(PLAN, python=refusing(tmp_path, "sethostname"))) as zygote:
        assert zygote.missing.keys() - {"landlock"} == {"uts"}


async def read(sandbox: ProcessSandbox, path: Path) -> None:
    async with Runtime(sandbox=sandbox) as rt:
        raise AssertionError(f"a guest has run, and read {(await rt.execute(f'open({str(path)!r}).read()')).value}")


async def test_where_nothing_guards_files_no_session_opens_whatever_is_required(
    tmp_path: Path, workspace: Workspace
) -> None:
    secret = workspace.path / "secret"
    secret.write_text("a neighbour's")
    if workspace.owner_uid is not None:
        os.chown(secret, workspace.owner_uid, workspace.owner_uid)
    python = refusing(tmp_path, "unshare", "landlock_create_ruleset")
    sandbox = ProcessSandbox(Environment(python=python), required=frozenset())
    try:
        with pytest.raises(IsolationMissing, match=r"files.*: mount \(unshare.*; landlock \(this kernel"):
            await read(sandbox, secret)
    finally:
        await sandbox.close()


def test_a_landlock_that_does_not_refuse_truncate_is_no_guard_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "landlock_abi", lambda: 2)
    layers = Layers(["landlock"])
    layers.got.add("landlock")
    plan: dict[str, Any] = {"tmp": "", "inner_uid": 0, "count_nproc": True}
    plan |= {key: {} for key in ("seccomp", "landlock", "network")}
    with pytest.raises(OSError, match="does not refuse truncate"):
        Confinement(plan, layers, ZygoteOwner(-1), "/proc").ahead()


@pytest.mark.parametrize(
    ("without", "guarded"),
    [({"mount", "landlock"}, "files"), ({"pid", "landlock", "seccomp"}, "memory"), ({"uid", "user", "caps"}, "root")],
)
async def test_layers_that_must_not_lack_together_are_named(without: set[str], guarded: str) -> None:
    plan = replace(PLAN, without=frozenset(without), required=frozenset())
    with pytest.raises(IsolationMissing, match=f"{guarded}.* so none is run.*turned off"):
        async with started(plan):
            pass


@ROOT
async def test_guests_that_cannot_become_the_owner_of_their_workspaces_are_not_run(tmp_path: Path) -> None:
    plan = replace(PLAN, python=refusing(tmp_path, "setresuid"), required=frozenset())
    with pytest.raises(IsolationMissing, match=f"cannot become uid {GUEST_UID}.*setresuid: Operation not permitted"):
        async with started(plan):
            pass


@ROOT
async def test_root_without_the_right_to_mount_gives_guests_another_uid_by_a_user_namespace(tmp_path: Path) -> None:
    closed = tmp_path / "closed"  # as the home directory of root is
    closed.mkdir(mode=0o700)
    workspace = closed / "workspace"
    workspace.mkdir()
    async with started(replace(PLAN, python=refusing(tmp_path, capabilities=CONTAINER_CAPABILITIES))) as zygote:
        assert zygote.missing.keys() <= {"uts", "landlock"}
        jailed = Jailed(
            zygote, workspace, "import os; open('made', 'w').close(); answer = [os.getuid(), os.getgroups()]"
        )
        assert await jailed.line() == b'{"answer": [1000, []]}\n'
        await jailed.close()
    assert (workspace / "made").stat().st_uid == GUEST_UID


IN_CHROOT = """#!{python} -IS
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.unshare(0x20000)
libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None)
libc.mount(b"/", {place!r}, None, 1 << 12 | 1 << 14, None)
os.chroot({place!r})
os.chdir("/")
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


@pytest.mark.skipif(not has_capability(SYS_ADMIN), reason="only root with CAP_SYS_ADMIN can make it")
async def test_a_chroot_is_not_left_by_the_way_back_from_a_childs_namespace(
    tmp_path: Path, workspace: Workspace
) -> None:
    python, place = tmp_path / "python", tmp_path / "root"
    place.mkdir()
    python.write_text(IN_CHROOT.format(python=str(PYTHON), place=os.fsencode(place)))
    python.chmod(0o755)
    async with started(replace(PLAN, python=python, required=frozenset())) as zygote:
        assert "chroot" in zygote.missing["mount"]
        jailed = Jailed(zygote, workspace.path, "answer = 1")
        assert await jailed.line() == b'{"answer": 1}\n', os.read(jailed.output, 1000)
        await jailed.close()


HOST = """
import asyncio
from cellwright import Runtime
from cellwright.errors import IsolationMissing
async def main():
    for require in ({"uid"}, {"landlock", "seccomp"}):
        try:
            async with Runtime(require=require) as rt:
                print((await rt.execute("open('f', 'w').write('mine')")).unwrap())
        except IsolationMissing as error:
            print(error)
asyncio.run(main())
"""


@ROOT
def test_root_without_any_capability_is_refused_in_one_line_or_shares_its_uid(tmp_path: Path) -> None:
    python = refusing(tmp_path, capabilities=())
    done = subprocess.run(
        [python, "-c", HOST],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    refused, shared = done.stdout.splitlines()
    assert done.stderr == ""
    assert refused.startswith("this machine does not give: uid (the host is root without the cap")
    assert shared == "4"
