"""Undoes transactions again and again, so that the host reads thousands of rows each time.

Escape: a host that serves nobody else meanwhile
Control: a transaction is undone
Uses: raw
Journal: yes
Limits: wall_s=10, host_calls=5000
"""

# control
try:
    with transaction():
        raise ValueError
except ValueError:
    undone = True
undone

# attack
for number in range(3000):
    send(journaled("get", VAULT, "name", None, f"{door.cell}.9#{number + 1}"))
for number in range(900):
    prefix = f"{door.cell}+{number + 10}"
    send(journaled("begin", 0, prefix, {"t": [False]}, f"{prefix}#1"))
    send(journaled("undo", 0, prefix, {"t": []}, f"{prefix}#2"))
wait_for_the_end(20)
