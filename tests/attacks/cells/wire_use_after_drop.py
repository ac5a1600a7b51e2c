"""Lets go of an object and goes on using its number, for itself and as an argument.

Escape: the number still leads to the object, or to another that took its place
Control: an object that is held can be used
Uses: raw
Expect: none
"""

# control
held = vault.client
number = held._grip.handle
ask("call", number, "get", {"t": ["/x"]})[0]

# attack
message = call("get", VAULT, "name")
message[6] = [[number, 10]]
send(message)
found = [ask("call", number, "get", {"t": ["/x"]})[0], ask("call", VAULT, "echo", {"t": [{"h": number}]})[0]]
vault.items(1), vault.items(2)
found += [ask("get", number, "is_closed")[0], ask("op", number, "__eq__", {"t": [1]})[0]]
"ESCAPED: a dropped object was used" if any(found) else found
