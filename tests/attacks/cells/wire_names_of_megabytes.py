"""Asks a thousand times for names of megabytes, each another one, so that whatever keeps names keeps them all.

Escape: the host keeps them: gigabytes
Control: a name that does not exist is refused
Uses: raw
Expect: ProtocolError
"""

# control
not ask("get", VAULT, "no_such_name")[0]

# attack
for i in range(1000):
    send(call("get", VAULT, f"{i}" + "n" * 4_000_000))
wait_for_the_end()
