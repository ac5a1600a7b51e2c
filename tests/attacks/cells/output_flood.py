"""Prints without end, also past Python, to descriptors 1 and 2.

Escape: the host keeps more than output_kb, or waits
Control: a line is printed
Limits: output_kb=64, wall_s=5
Expect: OutputLimit
"""

# control
print("a line")
True

# attack
import os

while True:
    os.write(1, b"x" * 65536)
    os.write(2, b"\xff\x1b[2J" * 10_000)
