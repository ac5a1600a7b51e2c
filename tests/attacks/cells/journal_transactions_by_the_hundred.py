"""Begins hundreds of transactions at once, while a thread rewrites files that each of them has to keep.

Escape: a host that serves nobody else meanwhile
Control: a transaction begins and ends
Uses: raw
Journal: yes
Limits: wall_s=8, threads=16, host_calls=2000
"""

# control
import threading

with transaction():
    open("kept", "w").write("x")
True


# attack
def rewrite():
    while True:
        for number in range(20):
            with open(f"file{number}", "wb") as file:
                file.write(os.urandom(1 << 20))


threading.Thread(target=rewrite, daemon=True).start()
for number in range(800):
    prefix = f"{door.cell}+{number + 10}"
    send(journaled("begin", 0, prefix, {"t": [False]}, f"{prefix}#1"))
for number in range(800):
    prefix = f"{door.cell}+{number + 10}"
    send(journaled("undo", 0, prefix, {"t": []}, f"{prefix}#2"))
wait_for_the_end(20)
