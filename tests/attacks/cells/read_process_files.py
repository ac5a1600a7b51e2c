"""Mounts, opens and lists `/proc` and `/sys`, of itself and of the host.

Escape: any file of /proc or /sys
Control: os.getpid answers without /proc
"""

# control
import os

os.getpid() > 0

# attack
import glob

loot = []
for path in (
    "/proc/self/status",
    "/proc/self/mem",
    "/proc/self/maps",
    "/proc/self/fd",
    f"/proc/{places['host_pid']}/cmdline",
    "/proc/1/cmdline",
    "/proc/kallsyms",
    "/proc/sys/kernel/core_pattern",
    "/sys/kernel",
    "/sys/fs/cgroup",
    "/proc/sysrq-trigger",
):
    try:
        fd = os.open(path, os.O_RDONLY)
        loot.append(f"ESCAPED: {path} opens")
    except OSError as error:
        loot.append(error.errno)
loot + glob.glob("/proc/*") + glob.glob("/sys/*")
