"""Puts links to host directories where the host deletes a tree.

Escape: a canary file or directory is deleted
Control: a directory of the guest's can be deleted
Expect: none
"""

# control
import os

os.makedirs("inbox/old/deep", exist_ok=True)
os.rmdir("inbox/old/deep")
os.path.isdir("inbox/old")

# attack
import time

end = time.monotonic() + 1.5
done = tries = 0
while (now := time.monotonic()) < end or (done <= 5 and now < end + 6):
    try:
        os.makedirs("inbox/old/deep/deeper", exist_ok=True)
        tries += 1
        os.rename("inbox/old/deep", f"kept{tries}")
        os.symlink(places["canary_dir"], "inbox/old/deep")
        os.symlink(places["neighbour_workspace"], "inbox/old/next")
        done += 1
        os.unlink("inbox/old/next")
        os.unlink("inbox/old/deep")
    except OSError:
        for name in ("inbox/old/next", "inbox/old/deep"):
            try:
                os.unlink(name)
            except OSError:
                continue
assert done > 5, done
