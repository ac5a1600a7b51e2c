"""A tuple in a tuple in a tuple, two hundred thousand deep by references: C code hashes it without counting its depth.

Escape: the host's stack overflows: every session ends
Control: a tuple in a tuple is a key
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo({((((1,),),),): 2}) == {((((1,),),),): 2}

# attack
parts = [{"t": [1]}] + [{"t": [{"r": i + 1}]} for i in range(200_000)]
send(call("call", VAULT, "echo", {"t": [[*parts, {"s": [{"r": 200_000}]}]]}))
wait_for_the_end()
