"""Builds a `Note` from a list of two lists of two lists, sixty deep by references, and rings of lists.

Escape: what checks or prints the field walks all of it
Control: a Note is built
Uses: raw
Limits: wall_s=8
"""

# control
Note("a", "b", 3).title == "a"

# attack
bomb = [1]
for _ in range(60):
    bomb = [bomb, bomb]
ring = []
ring.extend([ring] * 50)
found = []
for value in (ring, [ring, {"ring": ring}], (ring, ring)):
    try:
        found.append(repr(Note(value))[:100])
    except Exception as error:
        found.append(type(error).__name__)
    try:
        found.append(repr(Note("t", "x", value))[:100])
    except Exception as error:
        found.append(type(error).__name__)
print(found, vault.read("greeting"))
try:
    vault.echo([bomb])
finally:
    Note(bomb)
