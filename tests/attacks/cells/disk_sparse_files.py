"""Makes sparse files of enormous size, and writes past the limit of one file.

Escape: a file larger than file_mb
Control: a small hole can be made
Limits: file_mb=8
"""

# control
import os

fd = os.open("hole", os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"x", 1 << 20)
os.fstat(fd).st_size == (1 << 20) + 1

# attack
loot = []
for attempt in (
    lambda: os.truncate(fd, 1 << 40),
    lambda: os.ftruncate(fd, 100 << 20),
    lambda: os.pwrite(fd, b"x", 1 << 40),
    lambda: os.pwritev(fd, [b"x"], 100 << 20),
    lambda: os.copy_file_range(fd, fd, 1000, 0, 100 << 20),
    lambda: os.posix_fallocate(fd, 0, 100 << 20),
):
    try:
        loot.append(attempt())
    except OSError as error:
        loot.append(error.errno)
size = os.fstat(fd).st_size
f"ESCAPED: {size}" if size > 8 << 20 else loot
