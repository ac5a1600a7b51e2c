"""Leaves threads that go on calling the host after the cell has ended.

Escape: calls without any limit between cells
Control: a thread calls the host
Limits: host_calls=200, wall_s=10
Idle: 2
"""

# control
import threading

found = []
thread = threading.Thread(target=lambda: found.append(vault.read("number")))
thread.start()
thread.join()
found == [7]


# attack
def flood():
    while True:
        try:
            books.add("again")
        except Exception:
            pass


for _ in range(4):
    threading.Thread(target=flood, daemon=True).start()
len(books)
