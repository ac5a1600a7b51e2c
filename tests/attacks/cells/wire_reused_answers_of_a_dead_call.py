"""Cancels a call of the host's loop in the middle and answers what it had asked.

Escape: the answer breaks the host's reader, and later messages are lost
Control: a cancelled call leaves the session usable
Uses: raw
Expect: none
"""

# control
import asyncio

try:
    await asyncio.wait_for(vault.wait(30), 0.05)
except TimeoutError:
    pass
vault.read("number") == 7

# attack
boxes = []


def slow():
    for box in boxes:
        send(["k", box])
    return "late"


number = next(door._ids)
mailbox = Mailbox()
boxes.append(number)
door._waiting[number] = mailbox
send(["c", number, door.cell, "call", VAULT, "call", [], {"t": [{"g": world.lend(slow)}]}])
vault.call(lambda: 1)
[vault.read("number"), vault.call(lambda: 2)]
