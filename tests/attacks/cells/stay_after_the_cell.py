"""Leaves a thread that fills the workspace after the cell has ended.

Layer: limits
Escape: the workspace grows without bound while no cell runs
Control: a thread can outlive a cell
Limits: workspace_mb=32, file_mb=8
Expect: none
Idle: 3
"""

# control
import threading

threading.Thread(target=threading.Event().wait, args=(0.01,)).start()
True

# attack
import time


def fill():
    time.sleep(0.1)
    for i in range(1000):
        with open(f"later{i}", "wb") as file:
            file.write(bytes(4 << 20))
        time.sleep(0.02)


threading.Thread(target=fill).start()
"ended"
