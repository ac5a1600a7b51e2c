"""Asks for members that the scope hides, by every verb, on the object and on its class.

Escape: a hidden value, or a hidden method that ran
Control: a member that is not hidden is given
Uses: raw
Expect: none
"""

# control
ask("call", VAULT, "read", {"t": ["number"]}) == (True, 7)

# attack
loot = []
me = {"t": [{"h": VAULT}]}
for number in [VAULT, *range(-60, 0)]:
    for name in ("open_hidden", "blueprint", "_open", "read", "echo"):
        if number == VAULT and name in ("read", "echo"):
            continue
        for verb, tree in (("call", me), ("call", None), ("call", {"t": [me, {"m": {}}]}), ("get", None)):
            fine, found = ask(verb, number, name, tree)
            loot += [[number, verb, name, found]] if fine else []
["ESCAPED: members through a class" if loot else "held", loot]
