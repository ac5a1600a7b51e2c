"""The guest's root directory: built once by the zygote, entered by each child with its own workspace and /tmp.

What it holds is the host's choice (`cellwright.sandboxes.jail`): a list of entries `[kind, target, source]`. After
`build` the zygote itself lives in that root and sees the machine's files under `HOST`; a child detaches `HOST`.
"""

from __future__ import annotations

import errno
import os

from cellwright_guest import kernel
from cellwright_guest.kernel import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REC, MS_REMOUNT

HOST = "/.host"
_HOST = HOST.encode()
_TMP = "/tmp"
_KEPT = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC  # a user namespace may not lift these from a mount


_below_tmp: list[str] = []  # names in the root's /tmp: an interpreter that is installed below the machine's /tmp


def build(entries: list[list[str]], over: str) -> None:
    """In a new mount namespace: makes the root on a tmpfs at `over` (any directory: the mount moves away) and moves
    into it. A failure leaves this process half-way: see `rehearse`."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(b"none", b"/", None, MS_REC | kernel.MS_PRIVATE)
    mask = os.umask(0o022)  # the guest may have another uid, and passes through these directories
    try:
        _build(entries, over)
    finally:
        os.umask(mask)
    _below_tmp[:] = os.listdir(_TMP)


def _build(entries: list[list[str]], over: str) -> None:
    kernel.mount(b"cellwright", os.fsencode(over), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=1m,nr_inodes=2048")
    os.mkdir(over + HOST)
    for kind, target, source in entries:
        _place(kind, over + target, source)
    os.chdir(over)
    kernel.pivot_root(b".", os.fsencode(HOST[1:]))  # takes along every process that has the old root: this one
    if not os.path.samestat(os.stat("."), os.stat("/")):
        raise OSError(errno.EINVAL, "pivot_root: this process still has its old root")
    os.chdir("/")
    kernel.mount(b"none", b"/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _place(kind: str, target: str, source: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if kind == "link":
        os.symlink(source, target)
    elif kind in ("text", "stack"):
        with open(target, "w") as file:
            file.write(source if kind == "text" else _stack_line())
    elif kind == "dir":
        os.makedirs(target, exist_ok=True)
    elif kind == "device":
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _bind(source, target, MS_RDONLY | MS_NOSUID | MS_NOEXEC)
    elif kind == "empty":
        kernel.mount(b"empty", os.fsencode(target), b"tmpfs", _KEPT, b"mode=755,size=4k,nr_inodes=2")
    else:
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _bind(source, target, MS_RDONLY | MS_NOSUID | MS_NODEV)


def _stack_line() -> str:
    """Where the main thread's stack lies: in every guest where it lies here."""
    with open("/proc/self/maps") as maps:
        return next((line for line in maps if line.endswith("[stack]\n")), "")


def _bind(source: str, target: str, flags: int) -> None:
    where, what = os.fsencode(target), os.fsencode(source)
    try:
        kernel.mount(what, where, None, MS_BIND)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # something is mounted below that a user namespace may not uncover: take it along, with the same flags
        kernel.mount(what, where, None, MS_BIND | MS_REC)
        kernel.mount_setattr_recursive(where, flags)  # MOUNT_ATTR_* of these four equal MS_*
        return
    kernel.mount(b"none", where, None, MS_REMOUNT | MS_BIND | flags | os.statvfs(target).f_flag & _KEPT)


def rehearse(entries: list[list[str]], over: str, tmp_options: bytes) -> None:
    """In a process that then ends: all that a zygote and its children do with mounts."""
    build(entries, over)
    own = os.open(f"{HOST}/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    root = os.stat("/")
    begin(tmp_options)
    kernel.setns(own, kernel.CLONE_NEWNS)
    if not os.path.samestat(root, os.stat("/")):  # it leads to the namespace's own root, past any chroot
        raise OSError(errno.EINVAL, "setns(CLONE_NEWNS): leads out of the chroot in which this process runs")
    begin(tmp_options)
    place("/dev")
    enter()


def begin(tmp_options: bytes) -> None:
    """For a child: a mount namespace of its own, with a /tmp of its own. What the root has in /tmp is bound into it."""
    kernel.unshare(kernel.CLONE_NEWNS)
    if _below_tmp:
        os.chdir(_TMP)  # from here relative names lead into the root's /tmp, also when it is covered
    kernel.mount(b"tmp", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, tmp_options)
    for name in _below_tmp:
        target = os.path.join(_TMP, name)
        if os.path.islink(name):
            os.symlink(os.readlink(name), target)
            continue
        if os.path.isdir(name):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        kernel.mount(os.fsencode(name), os.fsencode(target), None, MS_BIND | MS_REC)  # read-only, as its source is
    if _below_tmp:
        os.chdir("/")


def place(workspace: str) -> None:
    """Then its workspace, over what is mounted there already."""
    source = os.fsencode(workspace)
    kept = os.statvfs(source).f_flag & _KEPT
    kernel.mount(source, b"/workspace", None, MS_BIND)
    kernel.mount(b"none", b"/workspace", None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | kept)


def publish(path: str, text: str) -> None:
    """A file that the guest reads and cannot change: on a file system of its own, which is read-only from here on."""
    where = os.fsencode(os.path.dirname(path))
    kernel.mount(b"published", where, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=64k,nr_inodes=8")
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o444)
    kernel.mount(b"none", where, None, MS_REMOUNT | MS_BIND | _KEPT)


def enter() -> None:
    """The machine's own files are gone."""
    kernel.umount(_HOST, kernel.MNT_DETACH)
    os.chdir("/workspace")


def uncover() -> None:
    """By the zygote, in a child's mount namespace: unmount what was placed last, so that what it covered is seen."""
    kernel.umount(b"/workspace", kernel.MNT_DETACH | kernel.UMOUNT_NOFOLLOW)
