"""Walks from every object in scope through its special attributes, as far as they lead.

Escape: a value of the host that is private
Control: special attributes of the proxies themselves are there
"""

# control
type(vault).__name__ == "Vault" and vault.read.__name__ == "read"

# attack
names = """__class__ __dict__ __globals__ __closure__ __code__ __self__ __func__ __wrapped__ __defaults__ __kwdefaults__ __mro__
__bases__ __base__ __init__ __new__ __reduce__ __reduce_ex__ __getstate__ __subclasshook__ __init_subclass__ __doc__
__module__ __getattribute__ __weakref__ __annotations__ __builtins__ __loader__ __spec__ _grip _cellwright_world""".split()
pending = [vault, books, toolbox, Note, Colour, Refused, vault.read, vault.items, vault.greet, vault.client, vault.wait]
seen, loot = set(), []
while pending and len(seen) < 3000:
    one = pending.pop()
    if id(one) in seen:
        continue
    seen.add(id(one))
    for name in names:
        try:
            found = getattr(one, name)
        except Exception:
            continue
        loot.append(repr(found)[:200])
        if not isinstance(found, (str, int)):
            pending.append(found)
        if isinstance(found, dict):
            pending.extend(value for key, value in list(found.items())[:300] if key not in ("names", "loot"))
[len(loot), [text for text in loot if "CANARY" in text][:5]]
