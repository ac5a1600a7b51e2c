"""Fills memory with a hundred million small objects.

Escape: more than memory_mb in use, or a host that waits
Control: a list of many objects can be made
Limits: memory_mb=64, wall_s=8
Expect: MemoryLimit
"""

# control
len([object() for _ in range(10_000)]) == 10_000

# attack
kept = []
while True:
    kept.append([(i, str(i)) for i in range(10_000)])
    if len(kept) > 2_000:
        raise SystemExit("ESCAPED")
