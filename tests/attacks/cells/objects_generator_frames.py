"""Reads the frame and the locals of a host generator and of a host coroutine.

Escape: the local variable `secret` of the generator
Control: the generator is lazy and gives its items
"""

# control
numbers_of_the_vault = vault.items(10**6)
next(numbers_of_the_vault) == 0

# attack
loot = []
coroutine = vault.wait(0)
for one in (vault.items(5), iter(vault.items(5)), coroutine):
    for name in dir(one):
        if name[:3] in ("gi_", "cr_", "ag_"):
            found = getattr(one, name, None)
            loot.append([name, repr(getattr(found, "f_locals", found))[:1000]])
    for name in ("gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_await"):
        try:
            loot.append(repr(getattr(getattr(one, name), "f_locals", None))[:1000])
        except Exception as error:
            loot.append(type(error).__name__)
await coroutine
loot
