"""Tries every small number as a handle, and calls everything that answers.

Escape: an object that this session was never given; the neighbour's vault
Control: its own handles are answered
Uses: raw
Expect: none
"""

# control
ask("call", VAULT, "read", {"t": ["mine"]}) == (True, "your own")

# attack
loot = []
for handle in [*range(500), *range(10**6, 10**6 + 50), 2**31, 2**32, 2**63, 10**100]:
    fine, tree = ask("call", handle, "read", {"t": ["mine"]})
    if fine and handle != VAULT:
        loot.append([handle, tree])
    loot += [
        tree
        for fine, tree in [ask("get", handle, "blueprint"), ask("call", VAULT, "echo", {"t": [{"h": handle}]})]
        if fine
    ]
loot
