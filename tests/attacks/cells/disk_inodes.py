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

end = time.monotonic() + 1.5
i = 0
while ((now := time.monotonic()) < end or (i <= 100 and now < end + 6)) and i < 4_000:
    os.close(os.open(f"f{i}" + "x" * 200, os.O_CREAT | os.O_WRONLY))
    if i % 20 == 0:
        os.makedirs(f"d{i}/e/f")
        os.symlink("x", f"d{i}/l")
    i += 1
assert i > 100, i
