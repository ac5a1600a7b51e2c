"""Reads the globals, closures, defaults and code of host functions.

Escape: the closure of `vault.greet`, a module's globals
Control: a host function has a name, a signature and docs
"""

# control
import inspect

list(inspect.signature(vault.read).parameters) == ["key"] and toolbox.double.__doc__ == "Twice x."

# attack
loot = []
for f in (vault.greet, vault.read, toolbox.double, vault.with_default, vault.call, vault.items, vault.wait, vault.fail):
    for name in (
        "__globals__",
        "__closure__",
        "__code__",
        "__defaults__",
        "__kwdefaults__",
        "__wrapped__",
        "__self__",
        "__dict__",
        "__signature__",
    ):
        found = getattr(f, name, None)
        loot.append(repr(found)[:2000])
        if name == "__closure__" and found:
            loot += [repr(cell.cell_contents)[:500] for cell in found]
        if name == "__code__" and found:
            loot.append(repr(found.co_consts))
[text for text in loot if "CANARY" in text or "toolbox" in text and "SECRET" in text]
