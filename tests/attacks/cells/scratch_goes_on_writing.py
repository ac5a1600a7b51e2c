"""Goes on making directories in the scratch, from many threads, while the host takes it away and removes it.

Escape: a host that waits for ever, or disk that is not given back
Control: threads can make directories
Limits: wall_s=20, cpu_s=60, threads=16
Expect: WorkspaceLimit | none
Scratch: yes
"""

# control
import os
import threading

top = os.open(".", os.O_RDONLY)
one = threading.Thread(target=os.mkdir, args=("one",))
one.start()
one.join()
os.path.isdir("one")

# attack
stop = threading.Event()


def go_on(number):
    """Until the host is done with us: what it removes is there again at once."""
    while not stop.is_set():
        for name in (f"{number}", f"{number}/{number}"):
            try:
                os.mkdir(name, dir_fd=top)
            except OSError:
                pass


for number in range(8):
    threading.Thread(target=go_on, args=(number,), daemon=True).start()
await reveal()
stop.set()
try:
    os.mkdir("after", dir_fd=top)
    told = "ESCAPED: the scratch is still there"
except OSError as error:
    told = error.errno
told
