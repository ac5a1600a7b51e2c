"""Opens names with O_PATH and O_NOFOLLOW and opens the descriptors again for more.

Layer: files
Escape: write access to a file that the guest may only read, or access to a file outside
Control: an O_PATH descriptor of an own file can be looked at
"""

# control
import os

open("own.txt", "w").write("x")
os.fstat(os.open("own.txt", os.O_PATH)).st_size == 1

# attack
loot = []
stdlib = os.path.dirname(os.__file__)
for path in (stdlib + "/os.py", "/etc/passwd", "/"):
    fd = os.open(path, os.O_PATH)
    mode = os.fstat(fd).st_mode
    for again in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
        for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
            try:
                loot.append(f"ESCAPED: {path} again as {os.open(again, flags)}")
            except OSError as error:
                loot.append(error.errno)
    for change in (
        lambda: os.chmod(fd, 0o777),
        lambda: os.chmod(f"/proc/self/fd/{fd}", 0o777),
    ):
        try:
            change()
            loot.append(f"ESCAPED: changed {path}" if os.fstat(fd).st_mode != mode else "nothing happened")
        except OSError as error:
            loot.append(error.errno)
    for change in (lambda: os.truncate(fd, 0), lambda: os.link(f"/proc/self/fd/{fd}", "linked")):
        try:
            change()
            loot.append(f"ESCAPED: changed {path}")
        except OSError as error:
            loot.append(error.errno)
loot
