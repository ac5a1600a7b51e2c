"""Uses and builds classes that the scope never named: that of the vault, of its client, of its exceptions' bases.

Escape: an instance, or a class method of theirs
Control: a class that is bound is built
Uses: raw
Expect: none
"""

# control
Note("t").text == "" and Colour("red") is Colour.RED

# attack
client_class = type(vault.client)._cellwright_class
loot = []
for number in {VAULT_CLASS, client_class, BOOKS_CLASS, *range(-60, 0)} - {
    Note._cellwright_class,
    Colour._cellwright_class,
    Refused._cellwright_class,
}:
    for tree in ({"t": []}, {"t": ["x"]}, {"t": ["x", "y"]}, {"t": [{"h": VAULT}]}):
        fine, found = ask("new", number, "", tree)
        loot += [[number, found]] if fine else []
        fine, found = ask("call", VAULT, "echo", {"t": [{"o": [number, ["x"]]}]})
        loot += [[number, found]] if fine else []
    fine, found = ask("call", VAULT, "echo", {"t": [{"c": number}]})
    loot += [[number, found]] if fine else []
    loot += [
        [number, found]
        for name in ("mro", "__subclasses__", "__init__")
        for fine, found in [ask("call", number, name)]
        if fine
    ]
for cls in (type(vault), type(vault.client)):
    try:
        loot.append(repr(cls("x")))
    except Exception as error:
        print(type(error).__name__)
["ESCAPED: a class of the host" if loot else "held", loot]
