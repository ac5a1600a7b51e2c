"""Sends a set of sixty thousand integers that all have one hash.

Escape: quadratic time in the host
Control: thirty such keys cross
Uses: raw
Expect: ProtocolError
"""

# control
prime = 2**61 - 1
few = {prime * i: i for i in range(1, 30)}
vault.echo(few) == few

# attack
keys = [prime * i for i in range(1, 60_000)]
send(call("call", VAULT, "echo", {"t": [{"s": keys}]}))
wait_for_the_end()
