"""Asks for more memory than the limit, in one piece and in many.

Escape: more than memory_mb in use
Control: half of the limit can be used
Limits: memory_mb=64, wall_s=8
Expect: MemoryLimit
"""

# control
held = bytearray(32 << 20)
len(held) == 32 << 20

# attack
del held
pieces = []
try:
    bytearray(1 << 40)
except MemoryError:
    pieces.append(b"refused")
while len(pieces) < 4000:
    pieces.append(bytearray(b"x") * (1 << 20))
f"ESCAPED: {len(pieces)} MB"
