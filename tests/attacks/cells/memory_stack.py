"""Overflows the stack: in Python, in C, and with threads that have large ones.

Escape: the host notices more than an outcome
Control: a deep but bounded recursion works
Limits: memory_mb=64, wall_s=8
Expect: Crashed | MemoryLimit | CodeError
"""


# control
def down(n):
    return n and down(n - 1)


down(500) == 0

# attack
import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr(self)


repr(Deep())
