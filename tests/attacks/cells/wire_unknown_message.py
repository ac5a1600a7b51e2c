"""Sends messages that only the host sends: code to run, names to bind, a call of a guest function.

Escape: the host takes one of them for its own
Control: a message of a guest is heard
Uses: raw
Expect: ProtocolError
"""

# control
ask("get", VAULT, "name")[0]

# attack
send(["x", 1, "import os; os.system('id')"])
wait_for_the_end()
