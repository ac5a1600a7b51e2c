"""Acts on the host's processes by their numbers: affinity, priority, limits, what /proc says of them.

Layer: kernel
Escape: the host runs on other processors, or a file or a link of its /proc can be read
Control: its own can be read
"""

# control
import os
import resource

len(os.sched_getaffinity(0)) > 0 and resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)

# attack
loot = []
host = places["host_pid"]
for name, act in {
    "affinity": lambda: os.sched_setaffinity(host, {0}),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, host, 19),
    "read priority": lambda: os.getpriority(os.PRIO_PROCESS, host),
    "limits": lambda: resource.prlimit(host, resource.RLIMIT_NOFILE, (10, 10)),
    "read limits": lambda: resource.prlimit(host, resource.RLIMIT_NOFILE),
    "scheduler": lambda: os.sched_setscheduler(host, os.SCHED_IDLE, os.sched_param(0)),
    "a descriptor": lambda: os.pidfd_open(host),
    "executable": lambda: os.readlink(f"/proc/{host}/exe"),
    "directory": lambda: os.readlink(f"/proc/{host}/cwd"),
    "root": lambda: os.stat(f"/proc/{host}/root/."),
    "descriptors": lambda: [os.readlink(f"/proc/{host}/fd/{fd}") for fd in range(3)],
    "its cwd": lambda: os.chdir(f"/proc/{host}/cwd"),
    "environment": lambda: open(f"/proc/{host}/environ", "rb").read(),
    "oom": lambda: open(f"/proc/{host}/oom_score_adj", "w"),
    "memory": lambda: open(f"/proc/{host}/mem", "r+b"),
}.items():
    try:
        loot.append(f"ESCAPED: {name}: {act()}")
    except OSError as error:
        loot.append((name, error.errno))
loot
