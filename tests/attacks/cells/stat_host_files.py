"""Looks at the host's files without opening them: sizes, times, names that exist, where links lead.

Layer: files
Escape: anything about a file that belongs to the host or to a neighbour
Control: a file of the workspace can be looked at
"""

# control
import os

open("own.txt", "w").write("x")
os.stat("own.txt").st_size == 1

# attack
loot = []
for path in (places["open_file"], places["neighbour_workspace"], f"/proc/{places['host_pid']}", "/etc/hostname"):
    for look in (os.stat, os.lstat, lambda p: os.open(p, os.O_PATH), os.statvfs, os.readlink, os.chdir):
        try:
            loot.append(f"ESCAPED: {path} {look(path)}")
        except OSError as error:
            loot.append(error.errno)
loot
