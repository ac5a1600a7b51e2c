"""Aborts, with all memory of the interpreter spoilt first.

Escape: the host sees more than an outcome
Control: C code that behaves can be called
Expect: Crashed | ProtocolError | TimeLimit
"""

# control
import ctypes

ctypes.pythonapi.Py_IsInitialized() == 1

# attack
for address in range(id(int), id(int) + 4096, 8):
    ctypes.memset(address, 0x41, 8)
int("1")
