"""Sends twenty megabytes beside each of many calls that take a minute.

Escape: the host keeps them all: gigabytes
Control: one such call is answered
Uses: raw
Limits: wall_s=8
"""

# control
ask("call", VAULT, "wait", {"t": [0]}, b"x" * 1000)[0]

# attack
data = b"x" * 20_000_000
for _ in range(400):
    send(call("call", VAULT, "wait", {"t": [60]}), data)
wait_for_the_end(1)
