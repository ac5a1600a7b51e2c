"""Looks for a place where two sessions could meet: abstract sockets, shared memory, queues, keys, /tmp.

Layer: kernel
Escape: an object that another session of the same zygote could open by name
Control: a private pipe works
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


import socket

reader, writer = os.pipe()
os.write(writer, b"x") == 1

# attack
loot = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for end in socket.socketpair(socket.AF_UNIX, kind):
        for name in ("", "\0meeting", "/tmp/meeting", "/workspace/meeting"):
            try:
                end.bind(name)
                loot.append(f"ESCAPED: bound to {name!r}")
            except OSError as error:
                loot.append(error.errno)
for name, call in {
    "shmget": (29, 194, 4242, 4096, 0o1666),
    "semget": (64, 190, 4242, 1, 0o1666),
    "msgget": (68, 186, 4242, 0o1666),
    "mq_open": (240, 180, b"meeting", 0o102, 0o666, 0),
    "add_key": (248, 217, b"user", b"meeting", b"x", 1, -4),
    "listen": (50, 201, 3, 1),
    "accept": (43, 202, 3, 0, 0),
    "bind": (49, 200, 3, b"\1\0\0meeting", 10),
}.items():
    result, why = syscall(*call)
    loot.append(f"ESCAPED: {name}" if result >= 0 else (name, why))
others = [name for name in os.listdir("/tmp") if os.lstat(f"/tmp/{name}").st_dev == os.lstat("/tmp").st_dev]
if others:  # but for the interpreter, which is mounted where it is installed below /tmp
    loot.append(f"ESCAPED: /tmp of another holds {others}")
for path in ("/dev/shm", "/run", "/var/tmp", "/dev/mqueue"):
    try:
        open(f"{path}/meeting", "w").close()
        loot.append(f"ESCAPED: {path} is there")
    except OSError as error:
        loot.append(error.errno)
loot
