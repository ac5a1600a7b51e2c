"""Has the host send a hundred answers of eight megabytes, and reads none of them.

Escape: the host keeps them all for it
Control: an answer of eight megabytes is read
Uses: raw
Limits: wall_s=8
"""

# control
len(vault.echo(b"x" * 8_000_000)) == 8_000_000

# attack
data = b"x" * 8_000_000
for _ in range(200):
    send(call("call", VAULT, "echo", {"t": [{"b": 0}]}), data)
wait_for_the_end(1)
