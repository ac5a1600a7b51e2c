"""Searches the interpreter's directories for what belongs to the host and not to the guest.

Escape: a package, a key, or a configuration file of the host's user below the interpreter's prefix
Control: the standard library can be read
"""

# control
import os

os.path.exists(os.path.join(os.path.dirname(os.__file__), "json/__init__.py"))

# attack
import sys

loot = []
for root in {sys.prefix, sys.base_prefix, os.path.dirname(sys.executable), "/usr/lib/python3", "/usr/local"}:
    for where, directories, files in os.walk(root):
        if where.endswith(("site-packages", "dist-packages")) and (directories or files):
            loot.append(f"ESCAPED: {where} holds {(directories + files)[:5]}")
        for name in files:
            if (
                name.endswith((".pem", ".key", ".env", ".netrc", ".pypirc", "pip.conf", "id_rsa"))
                and "/test" not in where
            ):
                loot.append(f"ESCAPED: {where}/{name}")
for where in ("/root", "/home", os.path.dirname(sys.prefix), "/usr/local/etc", "/opt", "/srv", "/work", "/var"):
    try:
        loot.append((where, os.listdir(where)))
    except OSError as error:
        loot.append((where, error.errno))
try:
    import cellwright

    loot.append(f"ESCAPED: the host's own package: {cellwright}")
except ImportError:
    pass
try:
    import pip

    loot.append(f"ESCAPED: a package of the host: {pip}")
except ImportError:
    pass
loot
