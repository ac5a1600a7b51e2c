"""Sends decimals that all have one hash, and tuples that do.

Escape: quadratic time in the host
Control: a few decimals as keys cross
Uses: raw
Expect: ProtocolError
"""

# control
from decimal import Decimal

vault.echo({Decimal(1): 1, Decimal("1e50"): 2}) == {Decimal(1): 1, Decimal("1e50"): 2}

# attack
keys = [{"x": ["decimal", str(5 + i * (2**61 - 1))]} for i in range(40_000)]
tuples = [{"t": [(2**61 - 1) * i]} for i in range(1, 40_000)]
pairs = [part for key in tuples for part in (key, 1)]
send(call("call", VAULT, "echo", {"t": [{"s": keys}, {"d": pairs}]}))
wait_for_the_end()
