"""Starts processes by every way that Python has.

Escape: a process is started though the session may have none
Control: a thread can be started
"""

# control
import threading

done = []
worker = threading.Thread(target=lambda: done.append(1))
worker.start()
worker.join()
done == [1]

# attack
import asyncio
import concurrent.futures
import multiprocessing
import os
import pty
import subprocess
import sys

loot = []


def forked(fork):
    made = fork()
    pid = made[0] if isinstance(made, tuple) else made
    if pid == 0:
        os._exit(0)
    return pid


python = sys.executable
for attempt in (
    lambda: subprocess.run([python, "-c", "print(1)"], check=True),
    lambda: subprocess.check_output("id", shell=True),
    lambda: os.system("true") == 0 or 1 / 0,
    lambda: os.popen("id").read() or 1 / 0,
    lambda: forked(os.fork),
    lambda: forked(os.forkpty),
    lambda: pty.spawn(["/bin/true"]) == 0 or 1 / 0,
    lambda: os.posix_spawn(python, [python, "-c", ""], {}),
    lambda: os.spawnv(os.P_WAIT, python, [python, "-c", ""]) == 0 or 1 / 0,
    lambda: multiprocessing.get_context("fork").Process(target=print).start(),
    lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    lambda: concurrent.futures.ProcessPoolExecutor().submit(print).result(5),
    lambda: os.execv(python, [python, "-c", "print('ESCAPED: exec')"]),
    lambda: os.execv("/lib64/ld-linux-x86-64.so.2", ["ld", python]),
):
    try:
        loot.append(f"ESCAPED: {attempt()}")
    except BaseException as error:
        loot.append(type(error).__name__)
try:
    await asyncio.create_subprocess_exec(python, "-c", "")
    loot.append("ESCAPED: asyncio started one")
except BaseException as error:
    loot.append(type(error).__name__)
loot
