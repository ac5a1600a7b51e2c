"""Uses every descriptor that the guest may have inherited, as a file and as a directory.

Escape: a descriptor that leads to a host file, a directory, or a socket other than the guest's own
Control: the guest's output is descriptor 1
"""

# control
import os

os.write(1, b"") == 0

# attack
import stat

loot = []
kinds = {}
for fd in range(1024):
    try:
        found = os.fstat(fd)
    except OSError:
        continue
    names = (".", "..", "etc/shadow", "/etc/shadow")
    if fd in (4, 5) and os.path.samestat(found, os.stat(os.environ["HOME"])):
        names = names[1:]  # its own workspace, where it has no root of its own
    else:
        kinds[fd] = stat.S_IFMT(found.st_mode)
    if fd > 3 and fd in kinds:
        loot.append(f"ESCAPED: descriptor {fd} {found}")
    for name in names:
        try:
            opened = os.open(name, os.O_RDONLY, dir_fd=fd)
        except OSError:
            continue
        loot.append(f"ESCAPED: {name} opens from {fd}")
    if fd == 0:
        loot.append(os.read(fd, 10_000))
if kinds != {0: stat.S_IFCHR, 1: stat.S_IFIFO, 2: stat.S_IFIFO, 3: stat.S_IFSOCK}:
    loot.append(f"ESCAPED: {kinds}")
loot
