"""Asks for something else each time that it is run: by its address, by a clock that is read in C, by a file's inode.

Escape: a host that gives one call the answer of another, or tries for ever
Control: the guest can ask
Journal: yes
Limits: wall_s=5
"""

# control
vault.echo(1) == 1

# attack
import os

fresh = object()
vault.echo(id(fresh))
vault.echo(os.stat("/").st_ctime_ns)
open("file", "w").write("x")
for _ in range(os.stat("file").st_ino % 7):
    vault.echo(os.stat("file").st_ino)
vault.read("greeting")
