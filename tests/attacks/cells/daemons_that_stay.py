"""Leaves daemons behind: double forks, new sessions, ignored signals, programs that sleep.

Layer: limits
Escape: a process of the guest lives on after the session
Control: a program can be run and waited for
Limits: processes=12, threads=8
"""

# control
import subprocess

subprocess.run(["/bin/true"]).returncode == 0

# attack
import os
import signal
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        for number in range(1, 64):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        if os.fork() == 0:
            os.closerange(0, 256)
            while True:
                time.sleep(1000)
        os._exit(0)
subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
subprocess.Popen("trap '' TERM HUP INT; while true; do sleep 1000; done", shell=True)
"left behind"
