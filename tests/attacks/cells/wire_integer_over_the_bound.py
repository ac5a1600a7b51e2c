"""Sends an integer of two million bits.

Escape: the host builds it
Control: one within the bound crosses
Uses: raw
Expect: ProtocolError
"""

# control
vault.echo(-(1 << 500_000)) == -(1 << 500_000)

# attack
send(call("call", VAULT, "echo", {"t": [{"i": 0}]}), b"\x7f" * 250_000)
wait_for_the_end()
