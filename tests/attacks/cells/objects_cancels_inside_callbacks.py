"""Cancels its calls from inside the callbacks that they made, again and again.

Escape: the host's worker is stuck, or runs a call that was cancelled before it began
Control: a cancelled call leaves the session usable
Limits: wall_s=10
Expect: none
"""

# control
import asyncio

task = asyncio.ensure_future(vault.wait(30))
await asyncio.sleep(0.01)
task.cancel()
vault.read("number") == 7

# attack
for i in range(50):
    tasks = [asyncio.ensure_future(vault.wait(30)) for _ in range(20)]

    def leave():
        for task in tasks:
            task.cancel()
        return vault.read("number")

    await asyncio.sleep(0)
    vault.call(leave)
    await asyncio.gather(*tasks, return_exceptions=True)
[vault.read("number"), len(books)]
