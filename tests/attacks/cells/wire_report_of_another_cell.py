"""Reports the outcome of a cell that does not run.

Escape: the host takes it for the outcome of another cell
Control: the cell's own report is taken
Uses: raw
Expect: ProtocolError
"""

# control
True

# attack
send(["d", door.cell + 1, "value", [], "forged"])
wait_for_the_end()
