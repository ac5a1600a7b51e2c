"""Takes leases, locks and notifications on files that the host opens, to make it wait.

Layer: files
Escape: the host hangs when it reads or writes the workspace
Control: an advisory lock can be taken
"""

# control
import fcntl
import os

os.makedirs("inbox", exist_ok=True)
file = open("inbox/report.txt", "w+")
file.write("held")
file.flush()
fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) is None

# attack
import time

loot = []
order = open("inbox/order.txt", "w+")
for held in (file, order):
    fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for command, value in (
        (fcntl.F_SETLEASE, fcntl.F_WRLCK),
        (fcntl.F_SETLEASE, fcntl.F_RDLCK),
        (fcntl.F_NOTIFY, 0x1F),
        (1036, 0),
        (1024, 1),
    ):
        try:
            loot.append((command, fcntl.fcntl(held, command, value)))
        except OSError as error:
            loot.append(error.errno)
time.sleep(1)
loot
