"""Refers to parts of the tree that are not made yet, that do not exist, and to itself.

Escape: half-made objects of another value
Control: data that holds itself crosses
Uses: raw
Expect: ProtocolError
"""

# control
ring = [1]
ring.append(ring)
back = vault.echo(ring)
back[1] is back

# attack
send(call("call", VAULT, "echo", {"t": [{"t": [{"r": 0}]}, {"r": -1}]}))
wait_for_the_end()
