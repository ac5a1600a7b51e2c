"""A seccomp profile for the container that the host runs in: what docker allows by default, and five calls more.

The names are those of docker's own default profile (moby/profiles, June 2026) for a container without capabilities,
on x86_64 and aarch64. There are no conditions on capabilities: docker and podman would obey them, containerd, which
reads the file for Kubernetes, would skip the condition and allow the calls. The five are for the host process, which
builds jails with them; what a guest may call is in `seccomp`.
"""

from __future__ import annotations

from typing import Any

JAIL_CALLS = ("unshare", "setns", "mount", "umount2", "pivot_root")
_ARCHITECTURES = ("X86_64", "X86", "X32", "AARCH64", "ARM")  # X86, X32 and ARM are for 32-bit programs

_CALLS = """
    open openat openat2 creat close close_range read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2
    lseek _llseek dup dup2 dup3 fcntl fcntl64 ioctl flock truncate truncate64 ftruncate ftruncate64 fallocate
    fadvise64 fadvise64_64 arm_fadvise64_64 readahead cachestat copy_file_range sendfile sendfile64 splice tee vmsplice
    sync syncfs fsync fdatasync sync_file_range sync_file_range2 arm_sync_file_range
    stat stat64 lstat lstat64 fstat fstat64 fstatat64 newfstatat statx statfs statfs64 fstatfs fstatfs64 statmount
    listmount access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir getdents getdents64 umask
    mkdir mkdirat mknod mknodat rmdir link linkat symlink symlinkat unlink unlinkat rename renameat renameat2
    chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 fchownat lchown lchown32
    utime utimes futimesat utimensat utimensat_time64 name_to_handle_at fanotify_mark
    getxattr lgetxattr fgetxattr getxattrat setxattr lsetxattr fsetxattr setxattrat
    listxattr llistxattr flistxattr listxattrat removexattr lremovexattr fremovexattr removexattrat
    inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
    poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl
    epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 signalfd signalfd4
    io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 ioprio_get ioprio_set
    bind listen accept accept4 connect shutdown socketpair socketcall getsockname getpeername getsockopt setsockopt
    send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg recvmmsg_time64
    brk mmap mmap2 munmap mremap mprotect madvise msync mincore mseal remap_file_pages mlock mlock2 mlockall munlock
    munlockall memfd_create memfd_secret membarrier pkey_alloc pkey_free pkey_mprotect map_shadow_stack
    process_mrelease
    fork vfork execve execveat exit exit_group wait4 waitid waitpid pidfd_open pidfd_send_signal
    kill tkill tgkill rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack sigprocmask sigreturn pause restart_syscall
    futex futex_time64 futex_wait futex_waitv futex_wake futex_requeue set_robust_list get_robust_list
    set_tid_address set_thread_area get_thread_area set_tls arch_prctl modify_ldt rseq uretprobe breakpoint cacheflush
    sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
    sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
    sched_rr_get_interval_time64 getcpu getpriority setpriority
    getpid getppid gettid getpgid getpgrp setpgid getsid setsid capget capset prctl seccomp
    landlock_create_ruleset landlock_add_rule landlock_restrict_self
    getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32
    getgroups getgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 setresuid
    setresuid32 setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32 setgroups setgroups32
    getrlimit ugetrlimit setrlimit prlimit64 getrusage times uname sysinfo getrandom
    time gettimeofday adjtimex clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_adjtime
    clock_adjtime64 clock_nanosleep clock_nanosleep_time64 nanosleep alarm getitimer setitimer
    timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
    timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
    ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget
    mq_open mq_unlink mq_notify mq_getsetattr mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
""".split()
_NEW_NAMESPACES = 0x7E02_0000  # the flags of `clone`; docker's default refuses them too
_PERSONALITIES = (0, 0x8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF)  # Linux, 32-bit addresses, 2.6's version; ask for it
_ENOSYS = 38


def container_profile() -> dict[str, Any]:
    """The profile as docker, podman and a Kubernetes node read it."""
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": [f"SCMP_ARCH_{name}" for name in _ARCHITECTURES],
        "syscalls": [
            _allow(*JAIL_CALLS),
            _allow(*_CALLS),
            # before Linux 4.8 a traced process could change a call that seccomp had allowed
            _allow("ptrace", "process_vm_readv", "process_vm_writev") | {"includes": {"minKernel": "4.8"}},
            # no AF_ALG (38) and no AF_VSOCK (40)
            _allow("socket", op="LT", value=38),
            _allow("socket", op="EQ", value=39),
            _allow("socket", op="GT", value=40),
            *(_allow("personality", op="EQ", value=value) for value in _PERSONALITIES),
            _allow("clone", op="MASKED_EQ", value=_NEW_NAMESPACES),
            # its flags are behind a pointer; libc falls back to clone
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        ],
    }


def _allow(*names: str, op: str = "", value: int = 0) -> dict[str, Any]:
    condition = {"index": 0, "op": f"SCMP_CMP_{op}", "value": value, "valueTwo": 0}
    return {"names": sorted(names), "action": "SCMP_ACT_ALLOW"} | ({"args": [condition]} if op else {})
