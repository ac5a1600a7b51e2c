"""Fills /tmp, which is memory, with data, with inodes, with long links and sparse files.

Escape: more than the 64 MB of /tmp
Control: a file in /tmp can be written and read
Limits: memory_mb=64, wall_s=8
"""

# control
open("/tmp/x", "w").write("x")
open("/tmp/x").read() == "x"

# attack
import os

written = 0
try:
    for i in range(10_000):
        with open(f"/tmp/f{i}", "wb") as file:
            for _ in range(16):
                written += file.write(bytes(1 << 20))
        if written > 1 << 30:
            break
except OSError as error:
    print(error.strerror)
made = 0
for i in range(10_000):
    os.unlink(f"/tmp/f{i}") if os.path.exists(f"/tmp/f{i}") else None
try:
    for made in range(100_000):
        os.symlink("x" * 4000, f"/tmp/l{made}")
except OSError as error:
    print(error.strerror)
f"ESCAPED: {written} bytes, {made} links" if written > 80 << 20 or made > 10_000 else [written >> 20, made]
