"""Leaves functions with the host, lets them go there, and leaves the session with calls under way.

Escape: the host keeps calling into a session that is gone, or keeps what it lent
Control: a function left with the host comes back as itself
Idle: 1
"""


# control
def mine():
    return 1


books.add(mine)
books[2] is mine

# attack
import gc
import threading

for i in range(2000):
    books.add(lambda i=i: i)
books.titles = []
gc.collect()
threading.Thread(target=lambda: [vault.call(lambda: vault.read("number")) for _ in range(10_000)], daemon=True).start()
vault.read("greeting")
