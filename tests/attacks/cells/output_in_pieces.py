"""Prints broken text: half characters, lone surrogates, control codes, nul, a line without end.

Escape: the host fails to read it
Control: unicode is printed
"""

# control
print("gr\u00fc\u00dfe")
True

# attack
import os
import sys

for piece in (
    b"\xf0\x9f",
    b"\x98",
    b"\xff\xfe",
    b"\0\0",
    b"\x1b]0;title\x07",
    b"\r\n\r",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
):
    os.write(1, piece)
sys.stdout.write("\ud800\udfff" * 1000)
sys.stdout = None
sys.stderr = 5
os.write(1, b"\xe2\x82")
"\ud83d lone"
