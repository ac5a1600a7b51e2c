"""Reads a record with a hidden field, and a partial that holds a key, in every way but by the field's name.

Escape: a canary in a dump, an item, a text, a comparison's answer or a signature
Control: the record's other field is read, and the partial is called
"""

# control
vault.login.user == "ada" and vault.connect("bob") == "bob True 3"

# attack
import dataclasses
import inspect
import pydoc

loot = []
one, function = vault.login, vault.connect
for use in (
    lambda: one.database_url,
    lambda: one.to_dict(),
    lambda: dataclasses.asdict(one),
    lambda: [repr(one), str(one), f"{one}", format(one)],
    lambda: [*one],
    lambda: dict(one),
    lambda: one[1],
    lambda: ["ESCAPED by comparing" for other in (one,) if one <= other],
    lambda: str(inspect.signature(function)),
    lambda: pydoc.render_doc(function),
    lambda: [repr(function), str(function), function.keywords, function.__signature__],
    lambda: str(inspect.signature(function).parameters["stripe_key"].default),
    lambda: function("x", stripe_key=1, wrong=2),
):
    try:
        loot.append(use())
    except Exception as error:
        loot.append(str(error))
[str(part) for part in loot]
