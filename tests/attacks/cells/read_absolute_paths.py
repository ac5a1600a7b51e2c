"""Reads the host's files by their absolute paths.

Escape: the text of a canary file, of any mode, or of a host file such as /etc/shadow
Control: a file of the workspace is written and read back
"""

# control
import os

own = os.environ["HOME"] + "/own.txt"
open(own, "w").write("mine")
open(own).read() == "mine"

# attack
loot = []
for path in (
    places["open_file"],
    places["closed_file"],
    "/etc/shadow",
    "/etc/hostname",
    "/etc/machine-id",
    "/proc/version",
):
    try:
        loot.append("ESCAPED: " + path + open(path).read())
    except OSError as error:
        loot.append(type(error).__name__)
loot
