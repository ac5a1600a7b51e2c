"""Answers calls of the host that were never made.

Escape: a host function takes the forged answer for that of another guest function
Control: a real call of the host is answered
Uses: raw
Expect: ProtocolError
"""

# control
vault.call(lambda x: x + 1, 1) == 2

# attack
for number in range(1, 10_000):
    send(["v", number, 1, "forged"])
wait_for_the_end()
