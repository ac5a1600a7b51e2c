"""Makes files, directories and links without end, each of them empty.

Escape: more entries than the host counts with, or a host that cannot remove them
Control: a few files can be made
Limits: wall_s=8, workspace_mb=32
Expect: none | WorkspaceLimit
"""

# control
import os

for i in range(10):
    open(f"few{i}", "w").close()
len(os.listdir(".")) >= 10

# attack
import time

end = time.monotonic() + 0.4
i = 0
while time.monotonic() < end:
    os.makedirs(f"d{i}/e/f", exist_ok=True)
    os.symlink("x", f"d{i}/l")
    os.link("few0", f"d{i}/h") if i < 30_000 else None
    i += 1
i
