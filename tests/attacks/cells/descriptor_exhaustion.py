"""Opens files without end.

Escape: more than open_files, or a host without descriptors
Control: some files can be open at once
Limits: open_files=64
"""

# control
import os

held = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
len(held) == 20

# attack
try:
    while len(held) < 100_000:
        held.append(os.dup(0))
except OSError as error:
    print(error.strerror)
for pair in range(2):
    try:
        os.dup2(0, 100_000 + pair)
        held += [0] * 100_000
    except OSError as error:
        print(error.strerror)
f"ESCAPED: {len(held)}" if len(held) > 64 else len(held)
