"""Dies of a fault in C code.

Escape: the host sees more than an outcome
Control: C code that behaves can be called
Expect: Crashed
"""

# control
import ctypes

ctypes.string_at(b"abc") == b"abc"

# attack
ctypes.string_at(0)
