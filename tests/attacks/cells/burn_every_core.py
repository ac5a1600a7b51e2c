"""Computes on every core that it may have, in processes of its own.

Escape: more processor time than cpu_s
Control: one process computes
Limits: processes=4, threads=4, cpu_s=1, wall_s=8
Expect: CpuLimit | TimeLimit
"""

# control
import os

sum(range(1000)) == 499500

# attack
for _ in range(3):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
