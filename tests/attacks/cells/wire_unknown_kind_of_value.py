"""Sends values under tags that no guest uses, among them those that only the host sends.

Escape: the host builds something of them
Control: a tag that both sides use is read
Uses: raw
Expect: ProtocolError
"""

# control
ask("call", VAULT, "echo", {"t": [{"F": [1]}]})[0]

# attack
send(call("call", VAULT, "echo", {"t": [{"f": [VAULT, {"name": "x"}]}]}))
wait_for_the_end()
