"""Gives a host function that makes lists of its argument iterators without end: many small items, and large ones.

Escape: the host fills its memory, or its thread goes on when the cell is over
Control: an iterator that ends is collected
Limits: wall_s=4, cpu_s=10, memory_mb=128
Expect: TimeLimit
"""

# control
vault.collect(iter("abc")) == 3

# attack
import itertools

try:
    print(vault.collect(itertools.repeat("x" * 20_000_000)))
except Exception as error:
    print(type(error).__name__)
vault.collect(itertools.count())
