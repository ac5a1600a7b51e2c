"""Writes to, reads from, shuts and replaces its line from many threads while a call is under way.

Layer: wire
Escape: the host fails, waits, or answers another session wrongly
Control: a call is answered
Limits: wall_s=3
"""

# control
books.add("Emma") > 0

# attack
import os
import random
import threading
import time


def disturb(seed):
    dice = random.Random(seed)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            match dice.randrange(3):
                case 0:
                    os.write(3, dice.randbytes(dice.randrange(1, 200)))
                case 1:
                    os.read(3, 1) if dice.random() < 0.01 else vault.echo(seed)
                case 2:
                    os.dup2(3, dice.randrange(60, 80))
        except BaseException:
            time.sleep(0.001)


for seed in range(8):
    threading.Thread(target=disturb, args=(seed,), daemon=True).start()
for i in range(100):
    vault.call(lambda: i)
