"""Starts five thousand calls that take a minute each.

Escape: the host holds them all
Control: ten at once are served
Uses: raw
Limits: wall_s=10
Expect: none
"""

# control
import asyncio

await asyncio.gather(*(vault.wait(0.01) for _ in range(10))) == [0.01] * 10

# attack
boxes = []
for _ in range(5000):
    boxes.append(Mailbox())
    door.start(boxes[-1], "call", VAULT, "wait", {"t": [60]}, [])
refused = 0
while refused < 4000:
    message, _ = door.receive(boxes[1000 + refused])
    refused += 1
["refused", refused]
