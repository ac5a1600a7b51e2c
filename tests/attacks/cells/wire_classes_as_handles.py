"""Uses class numbers where handles stand, and handles where classes stand.

Escape: a class is called, read or changed as if it were an object; an object is built from
Control: class and handle each in their place
Uses: raw
Expect: none
"""

# control
ask("new", Note._cellwright_class, "", {"t": ["title"]})[0]

# attack
loot = []
for number in range(-60, 0):
    for verb, name in (("set", "read"), ("del", "read"), ("dir", ""), ("items", ""), ("op", "__eq__"), ("await", "")):
        fine, tree = ask(verb, number, name, {"t": [1]} if verb in ("set", "op") else None)
        loot += [[number, verb, tree]] if fine else []
for handle in (VAULT, BOOKS, 3, 4):
    loot += [[handle, verb] for verb in ("new", "about") if ask(verb, handle)[0]]
    loot += [[handle, tag] for tag in ("c", "e", "o") if ask("call", VAULT, "echo", {"t": [{"c": handle}]})[0]]
["ESCAPED: a class taken for an object" if loot else "held", loot]
