"""Builds records with fields of wrong types, too many, too few, of host objects, of functions.

Escape: the host builds one, and host code works with a field that is not what it says
Control: a right one is built and taken
Uses: raw
Expect: none
"""

# control
vault.note(Note("title", "text", 2)) == "title: text"

# attack
number = Note._cellwright_class
wrong = [
    ["t", "x", "3"],
    ["t", "x", True],
    [1, "x", 0],
    ["t"],
    ["t", "x", 1, 2],
    [{"h": VAULT}, "x", 0],
    ["t", {"g": [1, "function", "f"]}, 0],
]
wrong += [
    ["t", ["x"], 0],
    [None, None, None],
    [{"b": 0}, "x", 0],
    ["t", "x", 1.5],
    ["t", "x", {"x": ["decimal", "1"]}],
    [],
    [["t", "x", 1]],
]
loot = [fields for fields in wrong if ask("call", VAULT, "note", {"t": [{"o": [number, fields]}]}, b"blob")[0]]
loot += [fields for fields in wrong if ask("new", number, "", {"t": fields}, b"blob")[0] and fields != ["t"]]
loot += [
    keys
    for keys in ({"title": 1}, {"title": "t", "_secret": 1}, {"__class__": 1})
    if ask("new", number, "", {"t": [{"t": []}, {"m": keys}]})[0]
]
note = Note("t")
note.__dict__["stars"] = {"not": "a number"}
try:
    loot.append(vault.note(note))
except TypeError as error:
    print(error)
["ESCAPED: " + repr(loot) if loot else "held"]
