"""Mounts, moves, uncovers and changes file systems, with the old calls and the new ones.

Layer: kernel
Escape: any of them succeeds
Control: the guest sees its mounts' files
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


os.path.samefile(os.environ["HOME"], ".") and not (os.path.exists("/.host") and os.listdir("/.host"))

# attack
try:
    os.makedirs("/tmp/m", exist_ok=True)
except OSError:
    pass  # there is no /tmp of its own
attributes = ctypes.create_string_buffer(32)
old = {
    "proc": (165, 40, b"proc", b"/tmp/m", b"proc", 0, 0),
    "sysfs": (165, 40, b"sys", b"/tmp/m", b"sysfs", 0, 0),
    "tmpfs": (165, 40, b"t", b"/tmp/m", b"tmpfs", 0, 0),
    "bind": (165, 40, b"/", b"/tmp/m", b"", 4096 | 16384, 0),
    "writable": (165, 40, b"", b"/", b"", 32 | 4096, 0),
    "move": (165, 40, b"/workspace", b"/tmp/m", b"", 8192, 0),
    "shared": (165, 40, b"", b"/", b"", 1 << 20 | 16384, 0),
    "ext4": (165, 40, b"/dev/vda", b"/tmp/m", b"ext4", 0, 0),
    "overlay": (165, 40, b"o", b"/tmp/m", b"overlay", 0, b"lowerdir=/,upperdir=/tmp,workdir=/tmp"),
    "umount /tmp": (166, 39, b"/tmp", 0),
    "umount lazily": (166, 39, b"/workspace", 2),
    "umount /": (166, 39, b"/", 2),
    "umount mask": (166, 39, os.fsencode(os.path.dirname(os.__file__) + "/site-packages"), 2),
    "pivot_root": (155, 41, b"/tmp", b"/tmp/m"),
    "pivot_root dot": (155, 41, b".", b"."),
    "open_tree": (428, 428, -100, b"/", 1 | 0x8000),
    "move_mount": (429, 429, -100, b"/", -100, b"/tmp/m", 0),
    "fsopen": (430, 430, b"proc", 0),
    "fsconfig": (431, 431, 3, 6, 0, 0, 0),
    "fsmount": (432, 432, 3, 0, 0),
    "fspick": (433, 433, -100, b"/", 0),
    "mount_setattr": (442, 442, -100, b"/", 0x8000, attributes, 32),
    "open_tree_attr": (467, 467, -100, b"/", 1, attributes, 32),
    "statmount": (457, 457, attributes, attributes, 32, 0),
    "listmount": (458, 458, attributes, attributes, 4, 0),
    "quotactl": (179, 60, 0x800002, b"/dev/vda", 0, 0),
    "swapon": (167, 224, b"/tmp/m", 0),
    "swapoff": (168, 225, b"/dev/vda"),
    "sync": (162, 81),
}
loot = []
for name, call in old.items():
    result, why = syscall(*call)
    loot.append(f"ESCAPED: {name}" if result >= 0 and name != "sync" else (name, why))
loot
