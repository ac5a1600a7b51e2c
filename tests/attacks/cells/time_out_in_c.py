"""Spends its time inside C code that looks at no signal: a regular expression, a power, a sum.

Layer: limits
Escape: the cell outlives its wall time
Control: the same code on little data ends
Limits: wall_s=2
Expect: TimeLimit | CpuLimit | MemoryLimit
"""

# control
import re

re.match(r"(a+)+$", "aaa") is not None

# attack
import threading

threading.Thread(target=lambda: pow(7, 10**9), daemon=True).start()
re.match(r"(a+)+$", "a" * 64 + "b")
