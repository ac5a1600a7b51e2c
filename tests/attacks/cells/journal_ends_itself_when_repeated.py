"""Reports its cell done, and breaks the protocol right after: each time that the cell is run again it ends its guest.

Escape: a session that no process can resume any more, or a host that tries for ever
Control: a cell that is done stays done
Uses: raw
Journal: yes
"""

# control
True

# attack
send(["d", door.cell, "value", [], 5])
time.sleep(0.2)
send(["nonsense"])
time.sleep(5)
