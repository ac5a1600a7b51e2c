"""Which system calls a guest may make: an allow-list, with conditions on the arguments of some.

Threads always work; new processes only where the session has `processes`. Guests without a root of their own have a
stricter list. Knows nothing of how a program is assembled (`bpf`) or installed (`cellwright_guest.confinement`).
"""

from __future__ import annotations

import platform
from dataclasses import replace
from errno import EACCES, EINVAL, ENOPROTOOPT, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM

from cellwright.errors import IsolationMissing
from cellwright.sandboxes.bpf import ALLOW, ArgumentCheck, SyscallVerdict, assemble
from cellwright.sandboxes.syscalls import AUDIT_ARCHITECTURE, NUMBERS

_CLONE_FS, _CLONE_FILES = 0x200, 0x400
_CLONE_THREAD, _CLONE_PARENT, _CLONE_PTRACE, _CLONE_NEW_ANY = 0x1_0000, 0x8000, 0x2000, 0x7E02_0000
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_GROWSDOWN, _MAP_HUGETLB = 0x01, 0x20, 0x0100, 0x4_0000
_SET_ID_BITS = 0o6000
_AF_UNIX = 1
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_NONBLOCK, _SOCK_CLOEXEC = 1, 5, 0o4000, 0o200_0000
_SOCKET_FLAGS = (0, _SOCK_NONBLOCK, _SOCK_CLOEXEC, _SOCK_NONBLOCK | _SOCK_CLOEXEC)
# descriptors, flags, locks, sizes of pipes, seals; not: owners, signals, notices; nor leases, for which the host waits
_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 36, 37, 38, 1030, 1031, 1032, 1034)
_AF_INET, _TCP, _FAST_OPEN = 2, 6, 0x2000_0000
_SOL_SOCKET = 1
# REUSEADDR, TYPE, ERROR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVLOWAT, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL, DOMAIN;
# not those that tell of the peer, which is the host: its pidfd, its number, its groups
_SOCKET_OPTIONS = (2, 3, 4, 7, 8, 9, 13, 18, 20, 21, 30, 38, 39)
# of a guest with a network; a number means one option at the level of sockets and another at that of TCP, and each of
# these is harmless at both: NODELAY, REUSEADDR, ERROR / KEEPIDLE, KEEPINTVL, KEEPCNT, KEEPALIVE, USER_TIMEOUT, timeouts
_SET_OPTIONS = (1, 2, 4, 5, 6, 9, 18, 20, 21)
_TCP_OPTIONS = (*_SOCKET_OPTIONS, 1, 5, 6, 11)  # and INFO, to read
# All but HWPOISON, MERGEABLE (equal pages of other sessions would show in the time that a write takes), COLLAPSE, and
# PAGEOUT, because `memory_watch` does not count what was swapped out
_ADVICE = (0, 1, 2, 3, 4, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23)
_O_NOTIFICATION_PIPE = 0o200
_RENAME_WHITEOUT = 4
_CLOSE_RANGE_UNSHARE = 2
_OF_A_PROCESS = 0x8000_0000  # the bit of clocks that are made from the number of a process or a thread
# FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS, TCGETS2, TIOCGWINSZ
_IOCTLS = (0x541B, 0x5421, 0x5451, 0x5450, 0x5401, 0x802C_542A, 0x5413)
# get PDEATHSIG, get DUMPABLE, set NAME, get NAME, get SECCOMP, read CAPBSET, get TIMERSLACK, get NO_NEW_PRIVS, set VMA
_PRCTLS = (2, 3, 15, 16, 21, 23, 30, 39, 0x5356_4D41)

ALWAYS = """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close lseek dup dup2 dup3
    stat lstat fstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir
    getdents getdents64 mkdir mkdirat rmdir unlink unlinkat rename renameat symlink symlinkat
    truncate ftruncate fsync fdatasync flock umask utime utimes futimesat utimensat fadvise64 readahead
    sendfile copy_file_range getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    munmap mprotect mremap brk msync membarrier
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd eventfd2 pipe
    sendto sendmsg recvfrom recvmsg shutdown getsockname getpeername
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack pause
    alarm getitimer setitimer timer_create timer_settime timer_gettime timer_delete timer_getoverrun
    timerfd_create timerfd_settime timerfd_gettime kill tgkill restart_syscall
    futex set_robust_list set_tid_address rseq arch_prctl gettid exit exit_group wait4 waitid
    nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage getrlimit
    sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler sched_get_priority_max
    sched_get_priority_min getcpu getpriority getpid getppid getpgid getpgrp getsid getuid geteuid getgid getegid
    getresuid getresgid getgroups capget uname sysinfo getrandom
""".split()
# Not link and linkat: a file that was changed by a name that it had for a while would be changed without a word of the
# kernel's to who watches its directory (`changes`). Programs know of file systems without hard links.
PROGRAMS = "execve execveat fork vfork setsid setpgid".split()

_NO_SET_ID = {  # the workspace is the host's disk: a set-id file there would serve other users outside the jail
    "open": 2, "openat": 3, "creat": 1, "chmod": 1, "fchmod": 1, "fchmodat": 2,
}  # fmt: skip


def _special(programs: bool) -> dict[str, SyscallVerdict]:
    def when(*checks: ArgumentCheck, errno: int = EPERM) -> SyscallVerdict:
        return SyscallVerdict(errno=errno, checks=checks)

    new_ones = ArgumentCheck(argument=0, kind="no_bit", values=(_CLONE_NEW_ANY | _CLONE_PARENT | _CLONE_PTRACE,))
    # A thread with descriptors of its own could hold deleted files where the host does not look for them.
    thread = [ArgumentCheck(argument=0, kind="any_bit", values=(b,)) for b in (_CLONE_THREAD, _CLONE_FS, _CLONE_FILES)]
    return {
        **{
            name: when(ArgumentCheck(argument=mode, kind="no_bit", values=(_SET_ID_BITS,)))
            for name, mode in _NO_SET_ID.items()
        },
        "clone": when(new_ones) if programs else when(new_ones, *thread),
        "clone3": SyscallVerdict(errno=ENOSYS),  # its flags are behind a pointer; libc falls back to clone
        "openat2": SyscallVerdict(errno=ENOSYS),
        "fchmodat2": SyscallVerdict(errno=ENOSYS),
        "renameat2": when(
            ArgumentCheck(argument=4, kind="no_bit", values=(_RENAME_WHITEOUT,)), errno=EINVAL
        ),  # makes a device
        "epoll_pwait2": SyscallVerdict(errno=ENOSYS),
        # the other way to a thread with descriptors of its own
        "close_range": when(ArgumentCheck(argument=2, kind="no_bit", values=(_CLOSE_RANGE_UNSHARE,)), errno=EINVAL),
        "fallocate": SyscallVerdict(
            errno=EOPNOTSUPP
        ),  # with KEEP_SIZE it takes the whole disk at once, past RLIMIT_FSIZE
        "mmap": _mmap(),
        "socket": SyscallVerdict(errno=EACCES),
        "socketpair": when(ArgumentCheck(argument=0, kind="one_of", values=(_AF_UNIX,)), errno=EACCES),
        "prctl": when(ArgumentCheck(argument=0, kind="one_of", values=_PRCTLS)),
        "prlimit64": when(ArgumentCheck(argument=2, kind="one_of", values=(0,))),
        "ioctl": when(ArgumentCheck(argument=1, kind="one_of", values=_IOCTLS), errno=ENOTTY),
        "fcntl": when(ArgumentCheck(argument=1, kind="one_of", values=_FCNTLS)),
        "getsockopt": when(
            ArgumentCheck(argument=1, kind="one_of", values=(_SOL_SOCKET,)),
            ArgumentCheck(argument=2, kind="one_of", values=_SOCKET_OPTIONS),
            errno=ENOPROTOOPT,
        ),
        "madvise": when(ArgumentCheck(argument=2, kind="one_of", values=_ADVICE), errno=EINVAL),
        "pipe2": when(ArgumentCheck(argument=1, kind="no_bit", values=(_O_NOTIFICATION_PIPE,))),
    }


def _mmap() -> SyscallVerdict:
    """RLIMIT_DATA counts private writable memory. Shared anonymous, growing-down and huge mappings would pass it by.

    What passes it by later, by `mremap` of a stack or `mprotect` of what was written, is counted in `memory_watch`.
    """
    flags = 3
    return SyscallVerdict(
        errno=EPERM,
        checks=(
            ArgumentCheck(argument=flags, kind="no_bit", values=(_MAP_GROWSDOWN | _MAP_HUGETLB,)),
            ArgumentCheck(argument=flags, kind="not_all_bits", values=(_MAP_SHARED | _MAP_ANONYMOUS,)),
        ),
    )


def _bare() -> dict[str, SyscallVerdict]:
    """For guests that see the host's files and processes, and may have its uid: what Landlock does not govern."""

    def equals(argument: int, *values: int) -> ArgumentCheck:
        return ArgumentCheck(argument=argument, kind="one_of", values=values)

    connected = [kind | flag for kind in (_SOCK_STREAM, _SOCK_SEQPACKET) for flag in _SOCKET_FLAGS]
    only = {
        # process 0 is the caller
        "sched_setaffinity": (equals(0, 0),),
        "getpriority": (equals(1, 0),),
        "prlimit64": (equals(0, 0), equals(2, 0)),
        # a datagram goes to any address. That of sendmsg is behind a pointer, so there are no datagram sockets at all
        "socketpair": (equals(0, _AF_UNIX), equals(1, *connected)),
        "sendto": (equals(4, 0),),
    }
    # The guest's own files cannot be told from the host's: nobody's mode or time is changed, and programs go on.
    special = _special(False)
    # the clocks of the host's processes tell how much they compute, and a timer on one costs that process time
    clock = ArgumentCheck(argument=0, kind="no_bit", values=(_OF_A_PROCESS,))
    clocks = ("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create")
    modes = {name: replace(special[name], pretended=True) for name in ("chmod", "fchmod", "fchmodat")}
    times = dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), SyscallVerdict(errno=0, pretended=True))
    attributes = [name for name in ALWAYS if name.endswith("xattr")]
    return {
        **{name: SyscallVerdict(errno=EPERM, checks=checks) for name, checks in only.items()},
        **{name: SyscallVerdict(errno=EINVAL, checks=(clock,)) for name in clocks},
        **modes,
        **times,
        **dict.fromkeys(attributes, SyscallVerdict(errno=EOPNOTSUPP)),
    }


def _network() -> dict[str, SyscallVerdict]:
    """TCP over IPv4, and only outward: neither bind nor listen nor accept."""

    def when(errno: int, *checks: tuple[int, tuple[int, ...]]) -> SyscallVerdict:
        made = tuple(ArgumentCheck(argument=place, kind="one_of", values=values) for place, values in checks)
        return SyscallVerdict(errno=errno, checks=made)

    streams = tuple(_SOCK_STREAM | flags for flags in _SOCKET_FLAGS)
    levels = (_SOL_SOCKET, _TCP)
    plain = {  # with the flag a message connects, which Landlock does not see
        name: SyscallVerdict(errno=EPERM, checks=(ArgumentCheck(argument=place, kind="no_bit", values=(_FAST_OPEN,)),))
        for name, place in (("sendto", 3), ("sendmsg", 2))
    }
    return plain | {
        "socket": when(EACCES, (0, (_AF_INET,)), (1, streams), (2, (0, _TCP))),
        "connect": ALLOW,
        "setsockopt": when(ENOPROTOOPT, (1, levels), (2, _SET_OPTIONS)),
        "getsockopt": when(ENOPROTOOPT, (1, levels), (2, _TCP_OPTIONS)),
    }


def program(*, programs: bool, bare: bool = False, network: bool = False) -> bytes:
    """The filter for this machine's processor. `programs` allows fork and exec besides threads."""
    machine = platform.machine()
    if machine not in NUMBERS:
        raise IsolationMissing(f"seccomp: no table of system calls for {machine!r}; there is one for {sorted(NUMBERS)}")
    numbers = NUMBERS[machine]
    by_name = (
        dict.fromkeys((*ALWAYS, *(PROGRAMS if programs else ())), ALLOW)
        | _special(programs)
        | (_bare() if bare else {})
        | (_network() if network else {})
    )
    verdicts = {numbers[name]: verdict for name, verdict in by_name.items() if name in numbers}
    return assemble(
        AUDIT_ARCHITECTURE[machine],
        verdicts,
        otherwise=SyscallVerdict(errno=EPERM),
        beyond=SyscallVerdict(errno=ENOSYS),
    )
