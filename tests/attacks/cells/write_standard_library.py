"""Writes into the standard library, its caches and site-packages, to run in later sessions.

Layer: files
Escape: a file with the marker in a directory that sessions share, or a change of an existing one
Control: the same writes work in the workspace
"""

# control
import os

open("sitecustomize.py", "w").write("x = 1") == 5

# attack
import importlib.util

loot = []
stdlib = os.path.dirname(os.__file__)
names = [
    f"{stdlib}/{places['marker']}.py",
    f"{stdlib}/__pycache__/{places['marker']}.pyc",
    f"{stdlib}/json/{places['marker']}.py",
    f"{stdlib}/site-packages/{places['marker']}.pth",
    f"{stdlib}/lib-dynload/{places['marker']}.so",
    f"/{places['marker']}",
    f"/dev/{places['marker']}",
    f"/etc/{places['marker']}",
    f"/usr/lib/{places['marker']}",
    f"/.host/{places['marker']}",
]
for name in names:
    for make in (
        lambda: open(name, "x"),
        lambda: os.mkdir(name),
        lambda: os.symlink("/etc", name),
        lambda: os.link("sitecustomize.py", name),
        lambda: os.rename("sitecustomize.py", name),
    ):
        try:
            make()
            loot.append(f"ESCAPED: made {name}")
        except OSError as error:
            loot.append(error.errno)
import json.decoder

for module in (os, json.decoder):
    for path in (module.__file__, importlib.util.cache_from_source(module.__file__)):
        for change in (
            lambda: open(path, "r+b"),
            lambda: os.truncate(path, 0),
            lambda: os.unlink(path),
            lambda: os.rename(path, path + "x"),
        ):
            try:
                change()
                loot.append(f"ESCAPED: changed {path}")
            except OSError as error:
                loot.append(error.errno)
        before = os.stat(path)
        for change in (lambda: os.chmod(path, 0o666), lambda: os.utime(path)):  # may be answered, and not done
            try:
                change()
            except OSError as error:
                loot.append(error.errno)
        if (os.stat(path).st_mode, os.stat(path).st_mtime_ns) != (before.st_mode, before.st_mtime_ns):
            loot.append(f"ESCAPED: changed {path}")
sorted(set(loot), key=str)
