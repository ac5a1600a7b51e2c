"""Lets go of objects a negative number of times, to keep them for ever, and with parts of other kinds.

Escape: the count of an object grows without it being sent
Control: an honest drop is heard
Uses: raw
Expect: ProtocolError
"""

# control
numbers_of_the_vault = vault.items(3)
del numbers_of_the_vault
vault.echo(1) == 1

# attack
message = call("get", VAULT, "name")
message[6] = [[VAULT, -(10**6)]]
send(message)
wait_for_the_end()
