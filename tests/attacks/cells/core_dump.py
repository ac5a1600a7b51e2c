"""Dies with a core file wanted, in the workspace and where the kernel's pattern puts them.

Layer: kernel
Escape: a core file of the guest, with the zygote's memory, on the host's disk
Control: the limit of core files is zero
Expect: Crashed
"""

# control
import resource

resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)

# attack
import ctypes
import os

os.chdir(os.environ["HOME"])
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
ctypes.memset(16, 0, 1)
