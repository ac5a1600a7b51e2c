"""Starts threads without end.

Layer: limits
Escape: more threads than the limit, or a host that waits
Control: a few threads can be started
Limits: threads=32, memory_mb=128
"""

# control
import threading

some = [threading.Thread(target=int) for _ in range(8)]
[one.start() for one in some]
[one.join() for one in some]
True

# attack

count = 0
stop = threading.Event()
try:
    for count in range(100_000):
        threading.Thread(target=stop.wait, daemon=True).start()
except (RuntimeError, MemoryError):
    pass
stop.set()
f"ESCAPED: {count} threads" if count > 100 else count
