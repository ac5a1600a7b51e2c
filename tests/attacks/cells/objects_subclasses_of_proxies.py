"""Derives classes from proxies and records, and overrides what they send.

Escape: an instance that the host takes for one of its own
Control: an instance of a bound class is known as one
"""

# control
isinstance(Note("t"), Note) and not isinstance(5, Note)

# attack
loot = []
for base in (type(vault), Note, Colour, Refused, type(toolbox)):
    try:
        made = type("Mine", (base,), {"__init__": lambda self, *a: None, "title": "t", "_cellwright_class": -1})
        loot.append(repr(vault.note(made.__new__(made)))[:200])
    except BaseException as error:
        loot.append(type(error).__name__)
fake = type("Note", (), {"_cellwright_class": Note._cellwright_class, "__match_args__": ("title", "text", "stars")})
one = fake()
one.title, one.text, one.stars = vault, vault.read, object()
for use in (lambda: vault.note(one), lambda: vault.echo(one), lambda: vault.echo(fake)):
    try:
        loot.append(repr(use())[:200])
    except BaseException as error:
        loot.append(type(error).__name__)
loot
