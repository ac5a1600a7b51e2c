"""Makes two calls under one number while the first is under way.

Escape: the answer of one call goes to another, or the first can no longer be cancelled
Control: numbers used one after the other are fine
Uses: raw
Expect: ProtocolError
"""

# control
send(call("get", VAULT, "name", number=77))
vault.echo(1)
send(call("get", VAULT, "name", number=77))
vault.echo(1) == 1

# attack
send(call("call", VAULT, "wait", {"t": [60]}, number=88))
send(call("call", VAULT, "wait", {"t": [60]}, number=88))
wait_for_the_end()
