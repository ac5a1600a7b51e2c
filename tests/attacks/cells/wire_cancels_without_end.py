"""Sends a hundred thousand cancellations of calls that it never made, and of others' numbers.

Escape: calls of the neighbour are cancelled, or the loop has time for nothing else
Control: cancelling its own call is fine
Uses: raw
Expect: ProtocolError
"""

# control
import asyncio

try:
    await asyncio.wait_for(vault.wait(30), 0.05)
except TimeoutError:
    cancelled = True
cancelled

# attack
one = json.dumps([["k", 1], []]).encode()
piece = (struct.pack("<II", len(one), 0) + one) * 1000
for _ in range(1000):
    door.conn.sendall(piece)
wait_for_the_end()
