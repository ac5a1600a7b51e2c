"""Ignores and blocks every signal, catches every exception, and goes on.

Layer: limits
Escape: the cell outlives its wall time
Control: a signal handler can be set
Limits: wall_s=2
Expect: TimeLimit
"""

# control
import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN) is not None

# attack
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
