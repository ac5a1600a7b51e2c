"""Reports its own cell while it still runs, twice, and goes on calling.

Escape: the second report is taken for that of the next cell, or calls after the end are served without limit
Control: calls before the report are served
Uses: raw
Idle: 1
"""

# control
vault.read("number") == 7

# attack
send(["d", door.cell, "value", [], "first"])
send(["d", door.cell, "value", [], "second"])
for _ in range(50_000):
    vault.read("greeting")
