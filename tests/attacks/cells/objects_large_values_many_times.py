"""Sends the largest values that its memory allows, over and over.

Escape: the host keeps them after the call
Control: a value of a megabyte crosses
Limits: wall_s=10, memory_mb=256
"""

# control
len(vault.echo("x" * 1_000_000)) == 1_000_000

# attack
data = b"x" * 60_000_000
rounds = [len(vault.echo(data)) for _ in range(8)]
len(rounds)
