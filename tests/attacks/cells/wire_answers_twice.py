"""Answers one call of the host twice, the second time with something else.

Escape: the second answer reaches another call
Control: a call answered once
Uses: raw
Expect: ProtocolError
"""

# control
vault.call(lambda: 5) == 5

# attack
serve = world._reply


def twice(number, value):
    send(["v", number, 1, value])
    send(["v", number, 1, "second"])


world._reply = twice
vault.call(lambda: "first")
wait_for_the_end()
