"""Changes modes, times, owners, attributes and lengths of the host's files, by path and by descriptors for reading.

Layer: files
Escape: a file of the host, or of those that all sessions share, is another afterwards
Control: a file of the workspace can be made and cut
"""

# control
import os

open("own.txt", "w").write("xx")
os.truncate("own.txt", 1)
os.stat("own.txt").st_size == 1

# attack
loot = []
stdlib = os.path.dirname(os.__file__) + "/json/__init__.py"
hosts = [places["open_file"], places["closed_file"], places["canary_dir"], places["neighbour_workspace"]]
targets = [*hosts, stdlib, "/"]
for path in list(targets):
    for flags in (os.O_PATH, os.O_RDONLY):
        try:
            targets.append(os.open(path, flags))
            targets.append(f"/proc/self/fd/{targets[-1]}")
        except OSError as error:
            loot.append(error.errno)


def facts(target):
    try:
        found = os.stat(target)
        return found.st_mode, found.st_uid, found.st_gid, found.st_size, found.st_atime_ns, found.st_mtime_ns
    except OSError:
        return None


for target in targets:
    before = facts(target)
    for change in (
        lambda: os.chmod(target, 0o777),
        lambda: os.utime(target, (1, 1)),
        lambda: os.utime(target),
        lambda: os.chown(target, os.getuid(), os.getgid()),
        lambda: os.setxattr(target, "user.x", b"x"),
        lambda: os.truncate(target, 0),
        lambda: os.rename(target, "stolen"),
        lambda: os.link(target, "linked"),
        lambda: os.symlink("x", os.path.join(target, places["marker"])),
        lambda: os.unlink(target),
        lambda: os.rmdir(target),
        lambda: os.mkdir(os.path.join(target, places["marker"])),
        lambda: loot.append(f"ESCAPED: {os.listxattr(target)} of {target}" if target in hosts else 0),
    ):
        try:
            change()
        except (OSError, TypeError) as error:
            loot.append(getattr(error, "errno", None))
    if facts(target) != before:
        loot.append(f"ESCAPED: changed {target}: {before} {facts(target)}")
loot
