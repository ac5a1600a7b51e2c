"""Asks for operators that the type does not have: for its address, for a text with its address, for an endless search.

Escape: an address of the host's memory, or a host that searches for ever
Control: an operator that the type has is run
Uses: raw
Expect: none
"""

# control
ask("op", BOOKS, "__getitem__", {"t": [0]}) == (True, "Emma")

# attack
loot = []
endless = handle(vault.items(10**9))
greet = ask("get", VAULT, "greet")[1]["f"][0]
for target in (VAULT, BOOKS, endless, greet):
    for (
        name
    ) in "__hash__ __str__ __format__ __rmod__ __contains__ __reversed__ __bytes__ __index__ __bool__ __radd__".split():
        fine, tree = ask("op", target, name, {"t": [-1] if name == "__contains__" else ["%r"] if "r" in name else []})
        loot += [[name, tree]] if fine else []
loot += [
    [0, tree]
    for fine, tree in [
        ask("op", endless, "__contains__", {"t": [-1]}),
        ask("op", VAULT, "__rmod__", {"t": ["%900000000d"]}),
    ]
    if fine
]
["ESCAPED: " + repr(loot) if any("0x" in repr(x) or type(x[1]) is int and x[1] > 10**6 for x in loot) else "held", loot]
