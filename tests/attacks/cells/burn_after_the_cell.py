"""Leaves threads that compute for ever after the cell has ended.

Escape: a session in which no cell runs takes processor time without bound
Control: a thread can outlive a cell
Limits: cpu_s=1
Expect: none
Idle: 4
"""

# control
import threading

threading.Thread(target=threading.Event().wait, args=(0.01,)).start()
True


# attack
def burn():
    while True:
        pass


for _ in range(4):
    threading.Thread(target=burn).start()
"ended"
