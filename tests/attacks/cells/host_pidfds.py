"""Asks its socket who is at the other end: a descriptor, the number, the groups and the label of the host.

Layer: kernel
Escape: a descriptor or a number of the host's process, or a signal that the host is to get
Control: a socket's type and error can be read
"""

# control
import ctypes
import errno
import fcntl
import os
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(x86_64, aarch64, *args):
    """A system call by its number on either processor: the result, and the name of its error."""
    number = x86_64 if os.uname().machine == "x86_64" else aarch64
    words = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *words), errno.errorcode.get(ctypes.get_errno(), "")


line = socket.socket(fileno=os.dup(3))
(line.type, line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)) == (socket.SOCK_STREAM, 0)

# attack
loot = []
refused = ("EPERM", "ENOPROTOOPT", "EINVAL", "EOPNOTSUPP", "EACCES")
PEERCRED, PEERSEC, PEERGROUPS, PEERPIDFD, COOKIE, NETNS_COOKIE = 17, 31, 59, 77, 57, 71
for level in (socket.SOL_SOCKET, socket.SOL_SOCKET | 1 << 32, 0, 6, 41, 282):
    for option in (PEERCRED, PEERSEC, PEERGROUPS, PEERPIDFD, COOKIE, NETNS_COOKIE, PEERPIDFD | 1 << 32, 26, 55, 56, 66):
        value, size = ctypes.create_string_buffer(256), ctypes.c_int(256)
        result, why = syscall(55, 209, line.fileno(), level, option, ctypes.addressof(value), ctypes.addressof(size))
        loot.append(
            why if result < 0 and why in refused else f"ESCAPED: {level}/{option} gave {value.raw[: size.value]}"
        )
for option in (16, 34, 76, 83, 26, 50, 8, 7):  # pass credentials, labels, pidfds, descriptors; filters; buffers
    try:
        line.setsockopt(socket.SOL_SOCKET, option, 1)
        loot.append(f"ESCAPED: set {option}")
    except OSError as error:
        loot.append(error.errno)
F_SETOWN, F_SETSIG, F_SETOWN_EX, F_GETOWN_EX = 8, 10, 15, 16
for command, value in (
    (F_SETOWN, os.getpid()),
    (F_SETOWN, places["host_pid"]),
    (F_SETSIG, 9),
    (F_SETOWN_EX, struct.pack("ii", 1, places["host_pid"])),
    (F_GETOWN_EX, bytes(8)),
):
    try:
        fcntl.fcntl(line, command, value)
        loot.append(f"ESCAPED: fcntl {command} {value}")
    except OSError as error:
        loot.append(error.errno)
for request in (
    0x541B - 0x0F,
    0x8912,
    0x8913,
    0x8927,
    0x8901,
    0x8902,
    0x5452,
    0x5412,
    0x89F0,
    0xC040FF0B,
    0xFF01,
    0xFF02,
):
    result, why = syscall(16, 29, line.fileno(), request, ctypes.create_string_buffer(256))
    loot.append(why if result < 0 else f"ESCAPED: ioctl {request:#x}")
loot
