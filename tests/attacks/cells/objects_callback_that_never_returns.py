"""Lends the host a function that never returns.

Escape: the host waits beyond the cell's time, or its thread is lost for other sessions
Control: a function that returns is called
Limits: wall_s=2
Expect: TimeLimit
"""

# control
vault.call(lambda: 1) == 1

# attack
import time


def never():
    while True:
        time.sleep(1)


vault.call(never)
