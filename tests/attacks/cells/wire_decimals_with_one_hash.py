"""Sends decimals of very different sizes that all have one hash.

Escape: quadratic time in the host
Control: a few decimals as keys cross
Uses: raw
Expect: ProtocolError
"""

# control
from decimal import Decimal

vault.echo({Decimal(1): 1, Decimal("1e50"): 2}) == {Decimal(1): 1, Decimal("1e50"): 2}

# attack
period = (2**61 - 2) // 2
keys = [{"x": ["decimal", f"1E+{7 + i * (2**61 - 2)}"]} for i in range(0, 3)]
keys += [{"x": ["decimal", str(2**61 - 1 + 5) + "0" * 0 + f"E+{i * (2**61 - 2)}"]} for i in range(2)]
tuples = [{"t": [{"i": hex((2**61 - 1) * i)}]} for i in range(1, 40_000)]
send(call("call", VAULT, "echo", {"t": [{"d": [part for key in tuples for part in (key, 1)]}, {"s": keys}]}))
wait_for_the_end()
