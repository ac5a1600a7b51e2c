"""Asks how the machine is called.

Layer: kernel
Escape: the answer is a name that the host has
Control: the machine's processor is told
"""

# control
import os
import socket

os.uname().machine == os.uname()[4]

# attack
names = {socket.gethostname(), os.uname().nodename}
"guest" if names == {"guest"} else f"ESCAPED: the host is called {names}"
