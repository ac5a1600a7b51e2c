"""Waits for ever, in the event loop, on a lock, in the kernel.

Layer: limits
Escape: the cell outlives its wall time
Control: a short sleep ends
Limits: wall_s=1
Expect: TimeLimit
"""

# control
import asyncio

await asyncio.sleep(0) is None

# attack
import threading

lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire).start()
await asyncio.gather(asyncio.sleep(10_000), asyncio.to_thread(lock.acquire), vault.wait(10_000))
