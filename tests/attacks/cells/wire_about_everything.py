"""Asks for the description of every class number.

Escape: a description that names what is private or hidden, or holds a value
Control: the description of the vault's class is given
Uses: raw
Expect: none
"""

# control
ask("about", VAULT_CLASS)[0]

# attack
try:
    vault.fail()
except Exception:
    pass
vault.client, vault.items(1)
loot = [tree for number in range(-80, 1) for fine, tree in [ask("about", number)] if fine]
told = [
    part[0]
    for tree in loot
    for part in (tree["about"][1] or {}).get("methods", []) + (tree["about"][1] or {}).get("properties", [])
]
private = [name for name in told if name.startswith("_") or name in ("open_hidden", "blueprint", "api_key", "headers")]
["ESCAPED: " + repr(private) if private else "held", loot]
