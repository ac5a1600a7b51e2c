"""Calls the kernel's large and dangerous interfaces: io_uring, bpf, perf, keys, userfaultfd, kexec and others.

Layer: kernel
Escape: any of them answers
Control: a plain system call answers
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


syscall(39, 172)[0] == os.getpid()

# attack
block = ctypes.create_string_buffer(256)
calls = {
    "io_uring_setup": (425, 425, 8, block),
    "io_uring_enter": (426, 426, 3, 0, 0, 0, 0),
    "io_uring_register": (427, 427, 3, 0, 0, 0),
    "bpf": (321, 280, 0, block, 72),
    "perf_event_open": (298, 241, block, 0, -1, -1, 0),
    "userfaultfd": (323, 282, 1),
    "add_key": (248, 217, b"user", b"x", b"y", 1, -3),
    "request_key": (249, 218, b"user", b"x", b"", -3),
    "keyctl": (250, 219, 0, -3, 1),
    "kexec_load": (246, 104, 0, 0, 0, 0),
    "kexec_file_load": (320, 294, 3, 3, 0, block, 0),
    "init_module": (175, 105, block, 256, b""),
    "finit_module": (313, 273, 3, b"", 0),
    "delete_module": (176, 106, b"x", 0),
    "reboot": (169, 142, 0xFEE1DEAD, 672274793, 0),
    "sethostname": (170, 161, b"x", 1),
    "setdomainname": (171, 162, b"x", 1),
    "settimeofday": (164, 170, block, 0),
    "clock_settime": (227, 112, 0, block),
    "adjtimex": (159, 171, block),
    "acct": (163, 89, b"/tmp/acct"),
    "syslog": (103, 116, 3, block, 256),
    "fanotify_init": (300, 262, 0, 0),
    "inotify_init1": (294, 26, 0),
    "memfd_create": (319, 279, b"x", 0),
    "memfd_secret": (447, 447, 0),
    "signalfd4": (289, 74, -1, block, 8, 0),
    "mq_open": (240, 180, b"/x", 0o102, 0o600, 0),
    "shmget": (29, 194, 0, 1 << 20, 0o1600),
    "semget": (64, 190, 0, 1, 0o1600),
    "msgget": (68, 186, 0, 0o1600),
    "splice": (275, 76, 1, 0, 1, 0, 1, 0),
    "vmsplice": (278, 75, 1, block, 1, 0),
    "tee": (276, 77, 1, 1, 1, 0),
    "remap_file_pages": (216, 234, 0, 0, 0, 0, 0),
    "mlockall": (151, 230, 1),
    "mlock": (149, 228, block, 4096),
    "setpriority": (141, 140, 0, 0, -20),
    "ioprio_set": (251, 30, 1, 0, 0),
    "sched_setscheduler": (144, 119, 0, 1, block),
    "sched_setattr": (314, 274, 0, block, 0),
    "personality": (135, 92, 0x0040000),
    "lookup_dcookie": (212, 18, 0, block, 1),
    "uselib": (134, 1000, b"x"),
    "modify_ldt": (154, 1000, 1, block, 16),
    "iopl": (172, 1000, 3),
    "ioperm": (173, 1000, 0x80, 1, 1),
    "nfsservctl": (180, 42, 0, 0, 0),
    "vhangup": (153, 58),
    "landlock_restrict_self": (446, 446, 3, 0),
    "seccomp": (317, 277, 1, 0, block),
    "lsm_set_self_attr": (460, 460, 100, block, 32, 0),
    "pkey_alloc": (330, 289, 0, 0),
    "io_setup": (206, 0, 8, block),
    "set_mempolicy": (238, 237, 0, 0, 0),
    "cachestat": (451, 451, 3, block, block, 0),
    "map_shadow_stack": (453, 453, 0, 4096, 0),
    "process_mrelease": (448, 448, 3, 0),
    "futex_waitv": (449, 449, block, 1, 0, 0, 0),
}
loot = []
for name, call in calls.items():
    result, why = syscall(*call)
    loot.append(f"ESCAPED: {name} gave {result}" if result >= 0 or why not in ("EPERM", "ENOSYS", "EACCES") else name)
loot
