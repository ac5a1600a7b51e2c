"""Searches its own memory, which began as a copy of the zygote's, for anything of the host or a neighbour.

Escape: a canary, or the path of a neighbour's workspace
Control: a text of its own is found in memory
Expect: none | Crashed
"""

# control
import ctypes
import gc

needle = b"find-" + b"me-1234"
block = ctypes.create_string_buffer(needle)
needle in ctypes.string_at(ctypes.addressof(block), len(block))

# attack
loot = []
for found in gc.get_objects():
    kind = type(found).__name__
    if kind in ("socket", "Zygote", "Forks", "Confinement", "Plan", "dict") and kind != "dict":
        loot.append(repr(found)[:300])
# The heap, page by page: from an object's address as far as it goes, without a fault in sight.
mine = id(needle) & ~0xFFF
words = [b"CANARY" + b"-", places["neighbour_workspace"].encode()]
text = ctypes.string_at(mine - (64 << 10), 128 << 10)
for word in words:
    at = text.find(word)
    if at >= 0 and word.startswith(b"CANARY"):
        loot.append(text[at : at + 100])
loot
