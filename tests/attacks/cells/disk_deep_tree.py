"""Nests directories more than a thousand deep, with long names, for a host that walks and removes them.

Escape: the host runs out of stack, path or descriptors, or leaves the tree behind
Control: a tree of ten levels can be made
Limits: wall_s=8
"""

# control
import os

os.makedirs("/".join("d" * 10))
os.path.isdir("d/d/d/d/d/d/d/d/d/d")

# attack
depth = 0
here = os.open(".", os.O_RDONLY)
name = "n" * 250
for depth in range(1_500):
    os.mkdir(name, dir_fd=here)
    below = os.open(name, os.O_RDONLY, dir_fd=here)
    os.close(here)
    here = below
depth
