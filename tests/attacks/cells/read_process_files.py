"""Mounts, opens and lists `/proc` and `/sys`, of itself and of the host.

Escape: any file of /proc or /sys but the two that the sandbox writes itself, or more in those
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
if open("/proc/self/maps").read().count("\n") != 1 or set(glob.glob("/proc/**", recursive=True)) - {
    "/proc/",
    "/proc/self",
    "/proc/self/maps",
    "/proc/meminfo",
}:
    loot.append("ESCAPED: more of /proc than was put there")
loot + glob.glob("/proc/*") + glob.glob("/sys/*")
