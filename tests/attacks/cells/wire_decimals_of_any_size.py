"""Sends decimals with enormous exponents and digits, as values and as keys.

Escape: the host works them out
Control: a decimal crosses
Uses: raw
Expect: ProtocolError
"""

# control
from decimal import Decimal

vault.echo(Decimal("1.50")) == Decimal("1.50")

# attack
texts = ["1E+999999999999999999", "1E-999999999999999999", "9" * 99_000, "NaN", "Infinity"]
found = [ask("call", VAULT, "echo", {"t": [{"d": [{"x": ["decimal", text]}, 1]}]})[0] for text in texts]
found += [ask("call", VAULT, "with_default", {"t": [{"x": ["decimal", text]}]})[0] for text in texts]
print(found)
send(call("call", VAULT, "echo", {"t": [{"s": [{"x": ["decimal", "sNaN"]}]}]}))
wait_for_the_end()
