"""Opens and drives devices: memory, disks, terminals, KVM, FUSE, and what /dev has.

Layer: kernel
Escape: a device beyond null, full, random and urandom, or an ioctl that types into a terminal
Control: /dev/null swallows and /dev/urandom gives
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


with open("/dev/null", "wb") as null:
    null.write(b"x")
len(open("/dev/urandom", "rb").read(8)) == 8

# attack
loot = []
for name in "mem kmem port kmsg vda sda tty tty0 console ptmx pts/0 kvm fuse net/tun loop0 loop-control mapper/control shm vsock vhost-net uinput zero hwrng cuse".split():
    try:
        loot.append(f"ESCAPED: /dev/{name} opens as {os.open('/dev/' + name, os.O_RDONLY | os.O_NONBLOCK)}")
    except OSError as error:
        loot.append(error.errno)
if set(os.listdir("/dev")) - {"null", "full", "random", "urandom"}:
    loot.append(f"ESCAPED: {os.listdir('/dev')}")
TIOCSTI, TIOCLINUX, TIOCSCTTY, RNDADDENTROPY, FS_IOC_SETFLAGS, FIFREEZE, FICLONE = (
    0x5412,
    0x541C,
    0x540E,
    0x40085203,
    0x40086602,
    0xC0045877,
    0x40049409,
)
workspace = os.open("/workspace", os.O_RDONLY)
data = ctypes.create_string_buffer(b"\x10" + bytes(63))
for fd in (0, 1, 2, 3, os.open("/dev/random", os.O_RDONLY), workspace):
    for request in (
        TIOCSTI,
        TIOCLINUX,
        TIOCSCTTY,
        RNDADDENTROPY,
        FS_IOC_SETFLAGS,
        FIFREEZE,
        FICLONE,
        TIOCSTI | 1 << 32,
    ):
        result, why = syscall(16, 29, fd, request, data)
        loot.append(f"ESCAPED: ioctl {request:#x} on {fd}" if result >= 0 else why)
loot
