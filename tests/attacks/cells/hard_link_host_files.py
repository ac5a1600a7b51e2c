"""Hard-links and renames files of other mounts into the workspace.

Layer: files
Escape: a host file has another name, which the guest may change
Control: a rename between own files works
"""

# control
import os

open("one", "w").write("1")
os.rename("one", "two")
os.path.exists("two")

# attack
loot = []
stdlib = os.path.dirname(os.__file__)
for source in (
    places["open_file"],
    places["closed_file"],
    stdlib + "/os.py",
    "/etc/passwd",
    "/dev/null",
    "/lib64/ld-linux-x86-64.so.2",
):
    for move in (os.link, os.rename, lambda a, b: os.link(a, b, follow_symlinks=False)):
        try:
            move(source, "taken")
            loot.append(f"ESCAPED: {source} by {move}")
        except OSError as error:
            loot.append(error.errno)
root = os.open("/", os.O_PATH)
for flags in (0, 0x1000, 0x400):
    try:
        os.link("etc/passwd", "taken", src_dir_fd=root)
        loot.append("ESCAPED: linked by descriptor")
    except OSError as error:
        loot.append(error.errno)
loot
