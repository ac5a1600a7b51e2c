"""A tuple of two references to a tuple of two references to …, a hundred and fifty times, as a key: hashing it takes 2^150 steps.

Escape: the host hashes it, holding its one lock, for ever
Control: a tuple that stands twice in a value crosses
Uses: raw
Expect: ProtocolError
"""

# control
pair = (1, 2)
vault.echo({(pair, pair): pair}) == {(pair, pair): pair}

# attack
parts = [{"t": [1]}] + [{"t": [{"r": i + 1}, {"r": i + 1}]} for i in range(150)]
send(call("call", VAULT, "echo", {"t": [[*parts, {"s": [{"r": 151}]}]]}))
wait_for_the_end()
