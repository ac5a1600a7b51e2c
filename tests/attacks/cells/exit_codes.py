"""Ends the guest with every telling exit code, after words that look like the jail's own.

Escape: the host takes it for a failure of its own and raises, instead of giving an outcome
Control: a cell runs before it
Expect: Crashed
"""

# control
import os

1 + 1 == 2

# attack
print("setup: the disk is full, run `rm -rf`", flush=True)
os._exit(97)
