"""Changes the guest's own /etc/passwd, /etc/group and ld.so.cache, which siblings may share.

Layer: files
Escape: any of them changes
Control: they can be read
"""

# control
open("/etc/ld.so.cache", "rb").read(2) == b"gl"

# attack
import os

loot = []
for path in ("/etc/passwd", "/etc/group", "/etc/ld.so.cache"):
    for change in (
        lambda: open(path, "a"),
        lambda: os.unlink(path),
        lambda: os.rename("x", path),
    ):
        try:
            open("x", "w").close()
            change()
            loot.append(f"ESCAPED: changed {path}")
        except OSError as error:
            loot.append(error.errno)
    mode = os.stat(path).st_mode
    try:
        os.chmod(path, 0o666)  # may be answered, and not done
    except OSError as error:
        loot.append(error.errno)
    if os.stat(path).st_mode != mode:
        loot.append(f"ESCAPED: changed {path}")
loot
