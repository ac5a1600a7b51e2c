"""Nests a million brackets in one header.

Escape: a stack overflow in the host's JSON reader
Control: a hundred levels cross
Uses: raw
Expect: ProtocolError
"""

# control
deep = []
for _ in range(90):
    deep = [deep]
vault.echo(deep) == deep

# attack
send_text(b"[" * 1_000_000 + b"]" * 1_000_000)
wait_for_the_end()
