"""Asks for private and special names by frames, where no proxy refuses first.

Escape: the value of any of them
Control: a public name is given
Uses: raw
Expect: none
"""

# control
ask("get", VAULT, "name") == (True, "the vault")

# attack
names = """_secret _canaries _opened _public _open _Vault__very_secret __dict__ __class__ __init__ __getattribute__ __reduce__
__reduce_ex__ __getstate__ __dir__ __doc__ __module__ __weakref__ __subclasshook__ __init_subclass__ __sizeof__ __slots__
__globals__ __closure__ __code__ __func__ __self__ __wrapped__ __mro__ __bases__ __annotations__""".split()
loot = []
for target in (VAULT, BOOKS, handle(vault.client), VAULT_CLASS, handle(vault.items(2))):
    for name in names:
        for verb in ("get", "call", "set", "del"):
            fine, tree = ask(verb, target, name, {"t": [1]} if verb == "set" else None)
            loot += [[target, verb, name, tree]] if fine else []
["ESCAPED: private names" if loot else "held", loot]
