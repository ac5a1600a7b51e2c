"""Changes modules, builtins and zygote state in memory, so that a later session is affected.

Layer: files
Escape: a session opened afterwards gets the changed function, or a name that was left behind
Control: the change is seen in this very session
Expect: any
"""

# control
import json

json.dumps = lambda x: "poisoned"
json.dumps([1]) == "poisoned"

# attack
import builtins
import ctypes
import gc
import sys

loot = "left behind"
builtins.loot = loot
builtins.sorted = lambda *a: ["ESCAPED"]
for name, module in list(sys.modules.items()):
    if name.startswith("cellwright_guest"):
        for attribute in list(vars(module)):
            if not attribute.startswith("__"):
                try:
                    vars(module)["kept_" + attribute] = vars(module)[attribute]
                except Exception:
                    pass
# The zygote's objects are here too, as copies: shake all of them.
for found in gc.get_objects():
    if type(found).__name__ in ("Zygote", "Forks", "Confinement", "Layers"):
        for attribute in list(vars(found)):
            vars(found)[attribute] = None
small = id(2)
ctypes.memmove(small + 24, (ctypes.c_uint32 * 1)(3), 4)
"changed what could be changed"
