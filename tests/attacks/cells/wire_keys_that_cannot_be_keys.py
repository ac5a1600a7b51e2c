"""Sends lists, dictionaries and host objects as keys.

Escape: an exception in the host that is not told
Control: a host object that can be a key is one
Uses: raw
Expect: ProtocolError
"""

# control
len(vault.echo({1: 2, "a": 3})) == 2

# attack
print(ask("call", VAULT, "echo", {"t": [{"d": [{"h": VAULT}, 1]}]})[0])
send(call("call", VAULT, "echo", {"t": [{"d": [[1], 2]}]}))
wait_for_the_end()
