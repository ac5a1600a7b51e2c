"""Looks for the live workspace below the scratch that covers it.

Escape: the canary in the live workspace's `live.txt`, or a name of it
Control: the scratch can be written and holds nothing else
Scratch: yes
"""

# control
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


open("mine.txt", "w").write("x")
here = os.environ["HOME"]
os.listdir(here) == ["mine.txt"]

# attack
loot = []
for name, call in {
    "umount2": (166, 39, b"/workspace", 2),
    "umount2 here": (166, 39, b".", 2),
    "mount move": (165, 40, b"/workspace", b"/tmp", b"none", 8192, 0),
    "mount bind": (165, 40, b"/workspace", b"/tmp", b"none", 4096, 0),
    "pivot_root": (155, 41, b"/workspace", b"/workspace"),
    "open_tree": (428, 428, -100, b"/workspace", 1),
    "move_mount": (429, 429, -100, b"/workspace", -100, b"/tmp", 0),
    "mount_setattr": (442, 442, -100, b"/workspace", 0x8000, ctypes.create_string_buffer(32), 32),
    "name_to_handle_at": (303, 264, -100, b"/workspace", ctypes.create_string_buffer(256), bytes(8), 0),
    "open_by_handle_at": (304, 265, 3, ctypes.create_string_buffer(256), 0),
    "unshare": (272, 97, 0x0002_0000),
    "setns": (308, 268, 3, 0x0002_0000),
    "chroot": (161, 51, b"/workspace"),
}.items():
    result, why = syscall(*call)
    loot.append(f"ESCAPED: {name}" if result >= 0 else (name, why))

starts = [os.open("/", os.O_PATH), os.open(here, os.O_RDONLY), os.open(here, os.O_PATH), os.open("/tmp", os.O_PATH)]
starts += [fd for fd in (4, 5, 6) if fd not in starts]
ways = ["", "workspace", "./workspace/.", "workspace/..", "../workspace", "workspace/../workspace", "..", "../.."]
ways += [".host", ".host/tmp", "proc/self/root/workspace", "proc/1/cwd", "proc/self/cwd", "proc/self/mountinfo"]
for start in starts:
    for way in ways:
        for name in ("live.txt", "workspace/live.txt"):
            try:
                fd = os.open(os.path.join(way, name), os.O_RDONLY, dir_fd=start)
                loot.append(os.read(fd, 1000))
            except OSError as error:
                loot.append(error.errno)
for make in (os.link, os.rename):
    try:
        make(here + "/live.txt", here + "/got.txt")
        loot.append("ESCAPED: a name of the live workspace")
    except OSError as error:
        loot.append(error.errno)
loot
