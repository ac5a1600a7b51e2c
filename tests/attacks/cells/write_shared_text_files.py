"""Changes the guest's own /etc/passwd, /etc/group and ld.so.cache, which siblings may share.

Escape: any of them changes
Control: they can be read
"""

# control
open("/etc/passwd").read().startswith("guest:")

# attack
import os

loot = []
for path in ("/etc/passwd", "/etc/group", "/etc/ld.so.cache"):
    for change in (
        lambda: open(path, "a"),
        lambda: os.unlink(path),
        lambda: os.rename("/tmp/x", path),
        lambda: os.chmod(path, 0o666),
    ):
        try:
            open("/tmp/x", "w").close()
            change()
            loot.append(f"ESCAPED: changed {path}")
        except OSError as error:
            loot.append(error.errno)
loot
