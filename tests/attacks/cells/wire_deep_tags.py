"""Nests tags of every kind a little deeper than the bound.

Escape: a RecursionError that kills more than this session
Control: fifty levels cross
Uses: raw
Expect: ProtocolError
"""

# control
deep = ()
for _ in range(50):
    deep = (deep, frozenset([1]))
vault.echo(deep) == deep

# attack
tree = 1
for i in range(400):
    tree = ({"t": [tree]}, {"F": [tree]}, {"E": ["ValueError", [tree], "ValueError", "x"]}, [tree])[i % 4]
send(call("call", VAULT, "echo", {"t": [tree]}))
wait_for_the_end()
