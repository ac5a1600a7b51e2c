"""Calls the host, which calls the guest, which calls the host, ten thousand levels down.

Escape: the host's stack overflows
Control: ten levels are fine
Limits: wall_s=20, cpu_s=20
"""


# control
def down(n):
    return n if n == 0 else vault.call(down, n - 1)


down(10) == 0

# attack
import sys

sys.setrecursionlimit(1_000_000)
try:
    found = down(10_000)
except BaseException as error:
    found = type(error).__name__
[found, vault.read("number"), vault.call(lambda: "still served")]
