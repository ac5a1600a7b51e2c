"""Lends functions under numbers that it never gave, with kinds and names of its own making.

Escape: an exception in the host beyond the call's own
Control: a real function is lent
Uses: raw
Expect: ProtocolError
"""

# control
vault.call(lambda x: x * 2, 4) == 8

# attack
found = [ask("call", VAULT, "call", {"t": [{"g": [number, "function", "f"]}]})[0] for number in (-5, 0, 10**50)]
print(found)
send(call("call", VAULT, "call", {"t": [{"g": [1, "class", "x" * 500]}]}))
wait_for_the_end()
