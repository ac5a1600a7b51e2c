"""Reports a value that stays in the guest, with a type and a text of the wrong kinds, and larger than any.

Escape: an exception in the host, or a text of any size in the outcome
Control: a value that stays is told by its text
Uses: raw
Expect: none
"""

# control
vault.echo(type("Loot", (), {})().__class__.__name__) == "Loot"

# attack
send(["d", door.cell, "value", [], {"stays": [["x"] * 1000, {"a": ["y" * 100] * 100_000}]}])
time.sleep(5)
