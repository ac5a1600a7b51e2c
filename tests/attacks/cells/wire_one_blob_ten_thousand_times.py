"""Sends ten megabytes once and refers to them ten thousand times, each time for a copy.

Escape: the host makes the copies: a hundred gigabytes
Control: the same bytes twice in a value cross
Uses: raw
Expect: ProtocolError
"""

# control
data = bytearray(b"x" * 1000)
vault.echo([data, data, bytes(data)]) == [data, data, bytes(data)]

# attack
send(call("call", VAULT, "echo", {"t": [{"B": 0}] * 10_000}), b"x" * 10_000_000)
wait_for_the_end()
