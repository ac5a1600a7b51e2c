"""Says that it has moved to the live workspace when nobody asked, and when it was asked and has not.

Escape: a host that takes it for true and fails, or leaves the scratch behind
Control: an ordinary call works beside frames of one's own
Expect: ProtocolError | none
Uses: raw
Scratch: yes
"""

# control
vault.echo(1) == 1

# attack
import asyncio

asking = asyncio.ensure_future(reveal())
await asyncio.sleep(0)
for _ in range(100):
    send(["w"])
await asking
open("mine", "w").write("x")
